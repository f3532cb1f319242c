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
from nextok.generation.model import Chunk, Logits
from nextok.generation.sampling import Sampling

OPTIONS = ContextOptions(context_size=2048, sequences=4, threads=1, batch_size=32, ubatch_size=32)
TEXT = "The quick brown fox jumps over the lazy dog; then it sleeps until noon."


@pytest.fixture(scope="module")
def loaded(
    request: pytest.FixtureRequest, starter_gguf: Path, emoji_gguf: Path
) -> Iterator[Weights]:
    weights: Weights
    if request.param == "toy":
        weights = Toy()
    else:
        path = {"starter": starter_gguf, "scripted": emoji_gguf}[request.param]
        weights = LlamaWeights.load(path, LoadOptions(), Abort())
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


every_backend = pytest.mark.parametrize("loaded", ["toy", "scripted", "starter"], indirect=True)
only_llama = pytest.mark.parametrize("loaded", ["scripted", "starter"], indirect=True)


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


@every_backend
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


@only_llama
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


@pytest.mark.parametrize("loaded", ["starter"], indirect=True)
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


@only_llama
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
