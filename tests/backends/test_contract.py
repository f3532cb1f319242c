"""What every backend must keep: one suite, run on each of them.

The real models compute with one thread and batches of at most 32 rows, where their logits are
bit-identical however the work is cut.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.toy import Toy
from nextok.backends.weights import Context, Weights
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import EngineError
from nextok.generation.finish import FinishReason
from nextok.generation.model import Cache, Chunk, Logits
from nextok.generation.sampling import Sampling

OPTIONS = ContextOptions(context_size=2048, sequences=4, threads=1, batch_size=32, ubatch_size=32)
TEXT = "The quick brown fox jumps over the lazy dog; then it sleeps until noon."


@pytest.fixture(scope="module")
def loaded(
    request: pytest.FixtureRequest,
    starter_gguf: Path,
    emoji_gguf: Path,
    sliding_gguf: Path,
    recurrent_gguf: Path,
    hybrid_gguf: Path,
) -> Iterator[Weights]:
    paths = {
        "starter": starter_gguf,
        "scripted": emoji_gguf,
        "sliding": sliding_gguf,
        "recurrent": recurrent_gguf,
        "hybrid": hybrid_gguf,
    }
    weights: Weights
    if request.param == "toy":
        weights = Toy()
    else:
        weights = LlamaWeights.load(paths[request.param], LoadOptions(), Abort())
    yield weights
    weights.close()


@pytest.fixture
def abort() -> Abort:
    return Abort()


@pytest.fixture
def model(loaded: Weights, abort: Abort) -> Iterator[Context]:
    model = loaded.open(OPTIONS, abort)
    yield model
    model.close()


@pytest.fixture
def ids(loaded: Weights) -> list[int]:
    return loaded.tokenizer.encode(TEXT)[:14]


def models(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("loaded", names, indirect=True)


every_backend = models("toy", "scripted", "starter", "sliding", "recurrent", "hybrid")
with_memory_that_can_be_cut = models("toy", "scripted", "starter", "sliding")
every_llama = models("scripted", "starter", "sliding", "recurrent", "hybrid")
llama_that_can_be_cut = models("scripted", "starter", "sliding")


def row(logits: Logits) -> list[float]:
    """A copy that outlives the next pass; some columns are enough to tell rows apart."""
    return [logits[token] for token in range(0, len(logits), max(1, len(logits) // 500))]


@every_backend
def test_a_row_has_one_score_for_each_token(
    loaded: Weights, model: Context, ids: list[int]
) -> None:
    logits = model.prefill(ids, model.new_cache())
    assert len(logits) == len(loaded.tokenizer)
    with pytest.raises(IndexError):
        logits[len(loaded.tokenizer)]


@every_backend
def test_one_pass_equals_one_by_one(model: Context, ids: list[int]) -> None:
    together, single = model.new_cache(), model.new_cache()
    whole = row(model.prefill(ids, together))
    for token in ids:
        last = row(model.decode(token, single))
    assert last == whole
    assert list(together.tokens) == list(single.tokens) == ids


@models("toy", "scripted", "sliding", "recurrent", "hybrid")
def test_the_thread_count_may_change_between_passes(model: Context, ids: list[int]) -> None:
    one, two = model.new_cache(), model.new_cache()
    expected = row(model.prefill(ids[:-1], one)), row(model.decode(ids[-1], one))
    model.set_threads(2)
    first = row(model.prefill(ids[:-1], two))
    model.set_threads(1)
    assert (first, row(model.decode(ids[-1], two))) == expected


@with_memory_that_can_be_cut
def test_trim_to_every_length(model: Context, ids: list[int]) -> None:
    expected = []
    cache = model.new_cache()
    for token in ids:
        expected.append(row(model.decode(token, cache)))
    for length in reversed(range(len(ids))):
        assert cache.trim(length) == length
        assert list(cache.tokens) == ids[:length]
        assert row(model.decode(ids[length], cache)) == expected[length]
    assert cache.trim(0) == 0
    assert cache.trim(5) == 0
    assert row(model.prefill(ids, cache)) == expected[-1]


@every_backend
def test_a_fork_goes_its_own_way(model: Context, ids: list[int]) -> None:
    parent = model.new_cache()
    model.prefill(ids[:-2], parent)
    child = parent.fork()
    ours = row(model.prefill(ids[-2:], parent))
    other = row(model.prefill([ids[0], ids[1]], child))
    assert list(child.tokens) == [*ids[:-2], ids[0], ids[1]]
    fresh = model.new_cache()
    assert row(model.prefill(child.tokens, fresh)) == other
    fresh.trim(0)
    assert row(model.prefill(ids, fresh)) == ours


@pytest.fixture
def question(loaded: Weights) -> list[int]:
    """Asks what its first sentence has no part in."""
    text = (
        "Rain fell all night, and in the morning the streets of the old town were wet. "
        "The capital of France is the city of"
    )
    return loaded.tokenizer.encode(text)


def read(model: Context, tokens: Sequence[int], cache: Cache) -> list[float]:
    for start in range(0, len(tokens), OPTIONS.batch_size):
        logits = model.prefill(tokens[start : start + OPTIONS.batch_size], cache)
    return [logits[token] for token in range(len(logits))]


def best(scores: Sequence[float]) -> int:
    return max(range(len(scores)), key=scores.__getitem__)


@with_memory_that_can_be_cut
def test_a_shift_moves_the_rest_down(loaded: Weights, model: Context, question: list[int]) -> None:
    fresh = model.new_cache()
    rest = question[:4] + question[14:]
    expected = best(read(model, rest, fresh))
    fresh.close()
    cache = model.new_cache()
    read(model, question[:-1], cache)
    assert cache.shift(4, 10)
    assert list(cache.tokens) == rest[:-1]
    assert best(read(model, rest[-1:], cache)) == expected
    # What stands before the gap was not touched: it gives what it gave. Where there is a window,
    # the engine gives what has left it to the tokens that come after a shift.
    held = cache.trim(4)
    assert held == (0 if loaded.name == "sliding" else 4)
    again = model.new_cache()
    assert best(read(model, rest[held:], cache)) == best(read(model, rest, again))


@models("starter")
def test_a_shifted_model_knows_what_stayed(
    loaded: Weights, model: Context, question: list[int]
) -> None:
    cache = model.new_cache()
    read(model, question[:-1], cache)
    assert cache.shift(4, 10)
    assert loaded.tokenizer.text(best(read(model, question[-1:], cache))).strip() == "Paris"


@with_memory_that_can_be_cut
def test_a_shift_at_the_end_is_a_trim(model: Context, ids: list[int]) -> None:
    cache = model.new_cache()
    model.prefill(ids, cache)
    cache.trim(9)
    expected = row(model.decode(ids[0], cache))
    cache.trim(0)
    model.prefill(ids, cache)
    assert cache.shift(9, len(ids) - 9)
    assert list(cache.tokens) == ids[:9]
    assert row(model.decode(ids[0], cache)) == expected
    assert cache.shift(0, 10)
    assert list(cache.tokens) == []
    assert row(model.prefill([*ids[:9], ids[0]], cache)) == expected


@with_memory_that_can_be_cut
def test_to_shift_nothing_only_asks(model: Context, ids: list[int]) -> None:
    cache, other = model.new_cache(), model.new_cache()
    assert cache.shift(0, 0)
    model.prefill(ids[:-1], cache)
    assert cache.shift(0, 0)
    assert list(cache.tokens) == ids[:-1]
    assert row(model.decode(ids[-1], cache)) == row(model.prefill(ids, other))


@with_memory_that_can_be_cut
def test_what_was_shifted_is_exported_as_it_is(model: Context, question: list[int]) -> None:
    cache, other = model.new_cache(), model.new_cache()
    read(model, question[:-1], cache)
    cache.shift(4, 10)
    assert other.restore(cache.export(), cache.tokens)
    here, there = read(model, question[-1:], cache), read(model, question[-1:], other)
    # They lie in other cells and are added up in another order: up to 0.6 here. Keys that were
    # not turned to their new places give logits that are 13 off.
    assert max(abs(a - b) for a, b in zip(here, there, strict=True)) < 2


@with_memory_that_can_be_cut
def test_a_shift_leaves_forks_alone(model: Context, ids: list[int]) -> None:
    parent = model.new_cache()
    expected = row(model.prefill(ids, parent))
    parent.trim(0)
    model.prefill(ids[:-1], parent)
    child = parent.fork()
    done = parent.shift(2, 3)
    assert list(parent.tokens) == (ids[:2] + ids[5:-1] if done else ids[:-1])
    assert list(child.tokens) == ids[:-1]
    assert row(model.decode(ids[-1], child)) == expected


@llama_that_can_be_cut
def test_what_a_fork_shares_stays_where_it_is(model: Context, ids: list[int]) -> None:
    parent = model.new_cache()
    model.prefill(ids[:10], parent)
    child = parent.fork()
    model.prefill(ids[10:], parent)
    assert not parent.shift(2, 3)
    assert not child.shift(2, 3)
    assert list(parent.tokens) == ids
    assert parent.shift(9, 2)  # behind what they share
    assert list(parent.tokens) == ids[:9] + ids[11:]
    child.close()
    assert parent.shift(2, 3)
    assert list(parent.tokens) == ids[:2] + ids[5:9] + ids[11:]


@llama_that_can_be_cut
def test_a_shift_that_is_aborted_leaves_a_true_ledger(
    model: Context, abort: Abort, ids: list[int]
) -> None:
    cache = model.new_cache()
    expected = row(model.prefill(ids, cache))
    abort.trip(FinishReason.INTERRUPTED)
    assert not cache.shift(2, 3)
    assert list(cache.tokens) == []
    abort.rearm()
    assert row(model.prefill(ids, cache)) == expected


@every_llama
def test_a_memory_that_cannot_shift_is_left_as_it_was(loaded: Weights, ids: list[int]) -> None:
    model = loaded.open(OPTIONS._replace(cache_type_k="bf16"), Abort())
    cache = model.new_cache()
    model.prefill(ids, cache)
    assert not cache.shift(0, 0)
    assert not cache.shift(2, 3)
    assert list(cache.tokens) == ids
    model.close()


@models("recurrent", "hybrid")
def test_a_recurrent_memory_never_shifts(model: Context, ids: list[int]) -> None:
    cache, fresh = model.new_cache(), model.new_cache()
    expected = row(model.prefill(ids, fresh))
    model.prefill(ids[:-1], cache)
    for keep, discard in ((0, 0), (2, 3), (0, 4), (9, len(ids) - 10)):
        assert not cache.shift(keep, discard)
        assert list(cache.tokens) == ids[:-1]
    assert row(model.decode(ids[-1], cache)) == expected


@every_backend
def test_sequences_are_given_back(model: Context, ids: list[int]) -> None:
    for _ in range(10):
        cache = model.new_cache()
        model.prefill(ids, cache)
        cache.close()


@every_backend
def test_export_and_restore(model: Context, ids: list[int]) -> None:
    cache = model.new_cache()
    model.prefill(ids[:-1], cache)
    state = cache.export()
    expected = row(model.decode(ids[-1], cache))
    other = model.new_cache()
    assert other.restore(state, ids[:-1])
    assert list(other.tokens) == ids[:-1]
    assert row(model.decode(ids[-1], other)) == expected
    assert not other.restore(state[: len(state) // 2], ids[:-1])
    assert list(other.tokens) == []
    assert not other.restore(state, ids[:-3])
    assert list(other.tokens) == []
    assert row(model.prefill(ids, other)) == expected


@every_backend
def test_extend_gives_the_rows_asked_for(model: Context, ids: list[int]) -> None:
    one, two = model.new_cache(), model.new_cache()
    expected = [row(model.decode(token, one)) for token in ids[:4]]
    one.trim(0)
    model.prefill(ids[:2], two)
    rows = model.extend([Chunk(one, ids[:4], rows=3), Chunk(two, ids[2:4], rows=1)])
    assert [row(logits) for logits in rows] == [*expected[1:], expected[3]]


@with_memory_that_can_be_cut
def test_tokens_that_were_tried_can_be_taken_back(
    loaded: Weights, model: Context, ids: list[int]
) -> None:
    """What speculation does: several tokens in one pass, a row for each, and a cut."""
    assert loaded.memory_can_be_cut
    cache, other = model.new_cache(), model.new_cache()
    expected = [row(model.decode(token, other)) for token in ids]
    model.prefill(ids[:4], cache)
    for wrong in range(6, 11):
        tried = [*ids[4:wrong], *reversed(ids[wrong:])]
        rows = model.extend([Chunk(cache, tried, rows=len(tried))])
        right = [row(logits) for logits in rows[: wrong - 4]]
        assert right == expected[4:wrong]
        assert cache.trim(wrong) == wrong
        assert row(model.decode(ids[wrong], cache)) == expected[wrong]
        assert cache.trim(4) == 4


@models("recurrent", "hybrid")
def test_a_state_says_that_it_cannot_be_cut(
    loaded: Weights, model: Context, ids: list[int]
) -> None:
    assert not loaded.memory_can_be_cut
    cache = model.new_cache()
    model.prefill(ids, cache)
    assert cache.trim(5) == 0


@every_backend
def test_a_cache_that_outlives_its_model_does_no_harm(loaded: Weights, ids: list[int]) -> None:
    """A generation that was dropped in the middle may be closed at any time."""
    model = loaded.open(OPTIONS, Abort())
    cache = model.new_cache()
    model.prefill(ids, cache)
    model.close()
    cache.trim(5)
    cache.trim(0)
    cache.close()


@every_backend
def test_an_abort_leaves_a_true_ledger(model: Context, abort: Abort, ids: list[int]) -> None:
    cache = model.new_cache()
    model.prefill(ids[:5], cache)
    abort.trip(FinishReason.INTERRUPTED)
    with pytest.raises(Aborted):
        model.prefill(ids[5:], cache)
    abort.rearm()
    assert list(cache.tokens) == ids[:5]
    resumed = row(model.prefill(ids[5:], cache))
    fresh = model.new_cache()
    assert row(model.prefill(ids, fresh)) == resumed


@every_llama
def test_a_batch_that_is_too_large_is_refused(model: Context, ids: list[int]) -> None:
    cache = model.new_cache()
    for tokens in ([], ids * 10):
        with pytest.raises(EngineError, match="a batch holds 1 to 32 tokens"):
            model.prefill(tokens, cache)
    with pytest.raises(EngineError):
        model.prefill([10**6], cache)
    assert list(cache.tokens) == []
    with pytest.raises(EngineError, match="no free sequence"):
        [model.new_cache() for _ in range(4)]


@models("starter")
@pytest.mark.parametrize("delay", [0.02, 0.15, 0.4])
def test_an_abort_in_the_middle_of_a_chunk(loaded: Weights, abort: Abort, delay: float) -> None:
    options = ContextOptions(context_size=2048, threads=1, batch_size=1024, ubatch_size=32)
    model = loaded.open(options, abort)
    tokens = loaded.tokenizer.encode(TEXT * 60)[:1000]
    cache = model.new_cache()
    timer = threading.Timer(delay, abort.trip, [FinishReason.TIMEOUT])
    timer.start()
    with pytest.raises(Aborted):
        model.prefill(tokens, cache)
    timer.join()
    abort.rearm()
    held = len(cache.tokens)
    assert 0 <= held < len(tokens)
    assert list(cache.tokens) == tokens[:held]
    model.prefill(tokens[held : held + 40], cache)
    resumed = row(model.decode(tokens[held + 40], cache))
    cache.trim(0)
    assert row(model.prefill(tokens[: held + 41], cache)) == resumed
    model.close()


def penalised(
    logits: Logits, seen: Sequence[int], *, repeat: float, frequency: float, presence: float
) -> int:
    """llama.cpp's penalties, written out; the best token after them, the lowest id first."""
    scores = [logits[token] for token in range(len(logits))]
    for token in set(seen):
        score = scores[token]
        score = score * repeat if score <= 0 else score / repeat
        scores[token] = score - seen.count(token) * frequency - presence
    return max(range(len(scores)), key=scores.__getitem__)


@every_llama
@pytest.mark.parametrize(
    ("repeat", "frequency", "presence", "last_n"),
    [(1.3, 0.0, 0.0, 64), (1.0, 0.4, 0.3, 64), (1.8, 0.1, 0.0, 5), (2.0, 0.0, 0.0, -1)],
)
def test_penalties_equal_a_written_out_reference(
    loaded: Weights,
    model: Context,
    ids: list[int],
    repeat: float,
    frequency: float,
    presence: float,
    last_n: int,
) -> None:
    """Prompt tokens count, and every sampled one counts once."""
    sampling = Sampling(
        seed=1,
        temperature=0.0,
        repeat_penalty=repeat,
        frequency_penalty=frequency,
        presence_penalty=presence,
        repeat_last_n=last_n,
    )
    sampler = loaded.sampler(sampling, context_size=2048, history=ids)
    cache = model.new_cache()
    logits = model.prefill(ids, cache)
    seen = list(ids)
    for _ in range(12):
        window = seen[-last_n:] if last_n > 0 else seen
        expected = penalised(logits, window, repeat=repeat, frequency=frequency, presence=presence)
        token = sampler.sample(logits)
        assert token == expected
        seen.append(token)
        logits = model.decode(token, cache)
    sampler.close()


@every_backend
def test_the_seed_decides_what_is_drawn(loaded: Weights, model: Context, ids: list[int]) -> None:
    def draw(seed: int) -> list[int]:
        sampler = loaded.sampler(
            Sampling(seed=seed, temperature=99.0, top_k=0, top_p=1.0, min_p=0.0),
            context_size=2048,
            history=ids,
        )
        cache = model.new_cache()
        logits = model.prefill(ids, cache)
        drawn = [sampler.sample(logits) for _ in range(30)]
        sampler.reset()
        assert drawn == [sampler.sample(logits) for _ in range(30)]
        sampler.close()
        cache.close()
        return drawn

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
