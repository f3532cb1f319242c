"""Memories that are no plain KV cache: what their caches say they hold, they go on from.

Models with random weights, whose rows depend on all they have read, so that a row that is equal
to a fresh context's was computed from the right memory. One thread and batches of 32 rows: there
the logits are bit-identical however the work is cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.llama_cache import LlamaCache
from nextok.backends.llama_library import library
from nextok.backends.llama_model import LlamaModel
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.generation.abort import Abort, Aborted
from nextok.generation.events import Prefill, Step
from nextok.generation.loop import Job, plain_steps
from nextok.generation.model import Cache, Chunk, Logits
from nextok.generation.sampling import Sampling

OPTIONS = ContextOptions(context_size=1024, sequences=4, threads=1, batch_size=96, ubatch_size=32)
WINDOW = 16
"""Of the sliding model, in tokens."""
TEXT = "The quick brown fox jumps over the lazy dog; then it sleeps until noon. "


@pytest.fixture(scope="module")
def loaded(
    request: pytest.FixtureRequest, recurrent_gguf: Path, hybrid_gguf: Path, sliding_gguf: Path
) -> Iterator[LlamaWeights]:
    paths = {"recurrent": recurrent_gguf, "hybrid": hybrid_gguf, "sliding": sliding_gguf}
    weights = LlamaWeights.load(paths[request.param], LoadOptions(), Abort())
    yield weights
    weights.close()


@pytest.fixture
def model(loaded: LlamaWeights) -> Iterator[LlamaModel]:
    model = loaded.open(OPTIONS, Abort())
    yield model
    model.close()


@pytest.fixture
def ids(loaded: LlamaWeights) -> list[int]:
    """More than 140 tokens: many windows, several batches."""
    return loaded.tokenizer.encode(TEXT * 2)


def models(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("loaded", names, indirect=True)


every_kind = models("recurrent", "hybrid", "sliding")
with_states = models("recurrent", "hybrid")
with_a_window = models("sliding")


def row(logits: Logits) -> list[float]:
    return [logits[token] for token in range(len(logits))]


def read(model: LlamaModel, tokens: Sequence[int], cache: Cache) -> list[float]:
    for start in range(0, len(tokens), model.batch_size):
        logits = model.prefill(tokens[start : start + model.batch_size], cache)
    return row(logits)


def anew(model: LlamaModel, tokens: Sequence[int]) -> list[float]:
    """The row after `tokens` from a memory in which there was nothing."""
    cache = model.new_cache()
    result = read(model, tokens, cache)
    cache.close()
    return result


def reply(
    loaded: LlamaWeights, model: LlamaModel, cache: Cache, prompt: Sequence[int]
) -> tuple[int, list[int]]:
    """What the loop does with a prompt: the tokens it did not read, and a greedy answer."""
    sampler = loaded.sampler(
        Sampling(seed=1, temperature=0.0), context_size=model.context_size, history=prompt
    )
    job = Job(
        model=model,
        cache=cache,
        sampler=sampler,
        prompt=prompt,
        is_end=lambda token: False,
        clock=lambda: 0.0,
        max_tokens=12,
    )
    steps = list(plain_steps(job))
    sampler.close()
    cached = [step.cached for step in steps if isinstance(step, Prefill)]
    return cached[-1], [step.id for step in steps if isinstance(step, Step)]


def near(here: Sequence[float], there: Sequence[float]) -> bool:
    """Equal but for the order of sums, which tokens in other cells give attention: up to 0.2.

    A memory that lacks something, or has too much, gives logits that are some 5 off.
    """
    return max(abs(a - b) for a, b in zip(here, there, strict=True)) < 1


@pytest.fixture
def fresh_reply(loaded: LlamaWeights) -> Any:
    """`fresh_reply(prompt)`: the greedy answer of a context of its own."""

    def answer(prompt: Sequence[int]) -> list[int]:
        model = loaded.open(OPTIONS, Abort())
        cached, tokens = reply(loaded, model, model.new_cache(), prompt)
        model.close()
        assert cached == 0
        return tokens

    return answer


class CutShort:
    """Aborts passes after so many nodes of their graphs, as the abort flag would.

    The model asks it for as long as it lives, so it must live as long.
    """

    def __init__(self, model: LlamaModel) -> None:
        self._asked, self._most = 0, 1 << 30
        self._callback = library().ggml_abort_callback(self._is_enough)
        library().llama_set_abort_callback(model.context, self._callback, None)

    def _is_enough(self, _data: object) -> bool:
        self._asked += 1
        return self._asked > self._most

    def nodes(self, model: LlamaModel, batch: Sequence[Chunk]) -> int:
        """How often a whole pass asks."""
        self._asked = 0
        model.extend(batch)
        return self._asked

    def extend(self, model: LlamaModel, batch: Sequence[Chunk], most: int) -> None:
        """A pass that gets no further."""
        self._asked, self._most = 0, most
        with pytest.raises(Aborted):
            model.extend(batch)
        self._most = 1 << 30


@every_kind
def test_a_row_depends_on_the_first_token(model: LlamaModel, ids: list[int]) -> None:
    here, there = anew(model, ids), anew(model, [ids[1], *ids[1:]])
    assert max(abs(a - b) for a, b in zip(here, there, strict=True)) > 0.01


@every_kind
def test_an_answer_depends_on_the_question(fresh_reply: Any, ids: list[int]) -> None:
    answers = {tuple(fresh_reply(ids[:length])) for length in (20, 21, 60, 100, len(ids))}
    assert len(answers) == 5


@every_kind
def test_a_longer_prompt_is_read_from_where_it_goes_on(
    loaded: LlamaWeights, model: LlamaModel, fresh_reply: Any, ids: list[int]
) -> None:
    cache = model.new_cache()
    _, first = reply(loaded, model, cache, ids[:50])
    assert first == fresh_reply(ids[:50])
    held = list(cache.tokens)
    assert held == [*ids[:50], *first[:-1]]
    prompt = [*held, *ids[50:]]
    assert reply(loaded, model, cache, prompt) == (len(held), fresh_reply(prompt))


@with_states
def test_a_cut_state_is_given_up(model: LlamaModel, ids: list[int]) -> None:
    expected = anew(model, ids)
    cache = model.new_cache()
    for length in (len(ids) - 1, len(ids) - 2, 70, 1, 0):
        assert read(model, ids, cache) == expected
        assert cache.trim(length) == 0
        assert list(cache.tokens) == []
    read(model, ids[:-1], cache)
    for length in (len(ids) - 1, len(ids), 10**6):
        assert cache.trim(length) == len(ids) - 1
    assert row(model.decode(ids[-1], cache)) == expected


@with_states
def test_what_a_state_cannot_go_back_to_is_read_again(
    loaded: LlamaWeights, model: LlamaModel, fresh_reply: Any, ids: list[int]
) -> None:
    """The same prompt, one that parts in the middle, one that is a part of what was read."""
    cache = model.new_cache()
    parting = [*ids[:60], *ids[:30]]
    for prompt in (ids, ids, parting, ids, ids[:60], ids):
        assert reply(loaded, model, cache, prompt) == (0, fresh_reply(prompt))


@with_states
def test_a_state_that_ends_with_the_prompt_is_read_again(
    loaded: LlamaWeights, model: LlamaModel, fresh_reply: Any, ids: list[int]
) -> None:
    """Logits come only from a pass, and the last token cannot be taken back for one."""
    cache, other = model.new_cache(), model.new_cache()
    read(model, ids, cache)
    assert other.restore(cache.export(), ids)
    expected = fresh_reply(ids)
    assert reply(loaded, model, cache, ids) == (0, expected)
    assert reply(loaded, model, other, ids) == (0, expected)


@every_kind
def test_an_exported_state_goes_on_elsewhere(
    loaded: LlamaWeights, model: LlamaModel, fresh_reply: Any, ids: list[int]
) -> None:
    cache = model.new_cache()
    read(model, ids[:100], cache)
    elsewhere = loaded.open(OPTIONS, Abort())
    for _ in range(2):
        other = elsewhere.new_cache()
        assert other.restore(cache.export(), ids[:100])
        assert reply(loaded, elsewhere, other, ids) == (100, fresh_reply(ids))
    elsewhere.close()
    assert read(model, ids[100:], cache) == anew(model, ids)


@every_kind
def test_a_restored_state_leaves_its_neighbours_alone(model: LlamaModel, ids: list[int]) -> None:
    one, two, three = (model.new_cache() for _ in range(3))
    read(model, ids[:70], one)
    read(model, ids[30:90], three)
    assert two.restore(one.export(), ids[:70])
    assert near(row(model.decode(ids[90], three)), anew(model, ids[30:91]))
    expected = anew(model, ids[:71])
    assert near(row(model.decode(ids[70], two)), expected)
    assert near(row(model.decode(ids[70], one)), expected)
    assert not two.restore(one.export()[:-1], ids[:71])
    assert list(two.tokens) == []
    assert near(row(model.decode(ids[71], one)), anew(model, ids[:72]))


@every_kind
def test_forks_go_their_own_ways_in_one_pass(model: LlamaModel, ids: list[int]) -> None:
    parent = model.new_cache()
    read(model, ids[:70], parent)
    children = [parent.fork(), parent.fork()]
    ways = [ids[70:80], ids[10:13], ids[20:30]]
    caches = [parent, *children]
    rows = model.extend([Chunk(cache, way) for cache, way in zip(caches, ways, strict=True)])
    found = [row(logits) for logits in rows]
    children[0].close()
    for cache in (parent, children[1]):
        cache.trim(0)
    assert found == [anew(model, [*ids[:70], *way]) for way in ways]


@every_kind
def test_an_abort_in_the_middle_leaves_a_true_ledger(
    loaded: LlamaWeights, model: LlamaModel, ids: list[int]
) -> None:
    expected = anew(model, ids)
    cut_short, cache = CutShort(model), model.new_cache()
    read(model, ids[:20], cache)
    nodes = cut_short.nodes(model, [Chunk(cache, ids[20:116])])
    lengths = set()
    for most in range(0, nodes, nodes // 11):
        cache.trim(0)
        read(model, ids[:20], cache)
        cut_short.extend(model, [Chunk(cache, ids[20:116])], most)
        held = len(cache.tokens)
        assert list(cache.tokens) == ids[:held]
        assert read(model, ids[held:], cache) == expected
        lengths.add(held)
    assert lengths == ({20, 52, 84} if loaded.name == "sliding" else {0})


@every_kind
def test_an_aborted_pass_over_two_spares_or_forgets_a_third(
    loaded: LlamaWeights, model: LlamaModel, ids: list[int]
) -> None:
    """The state between them has to make way, and may be on its way when the pass is aborted."""
    expected = anew(model, ids[5:76])
    for most in range(0, 60, 5):
        model = loaded.open(OPTIONS, Abort())
        caches = [model.new_cache() for _ in range(3)]
        for start, cache in zip((0, 5, 9), caches, strict=True):
            read(model, ids[start:75], cache)
        batch = [Chunk(caches[0], ids[75:85]), Chunk(caches[2], ids[80:90])]
        cut_short = CutShort(model)
        cut_short.extend(model, batch, most)
        held = len(caches[1].tokens)
        assert list(caches[1].tokens) == ids[5 : 5 + held]
        assert near(read(model, ids[5 + held : 76], caches[1]), expected)
        model.close()


@with_states
def test_states_never_shift(model: LlamaModel, ids: list[int]) -> None:
    cache = model.new_cache()
    read(model, ids[:100], cache)
    fork = cache.fork()
    for held in (cache, fork):
        assert not held.shift(0, 0)
        assert not held.shift(4, 50)
        assert not held.shift(50, 50)
        assert list(held.tokens) == ids[:100]
        assert read(model, ids[100:], held) == anew(model, ids)


@with_a_window
def test_a_window_can_be_cut_far_behind_itself(model: LlamaModel, ids: list[int]) -> None:
    cache, single = model.new_cache(), model.new_cache()
    expected = [row(model.decode(token, single)) for token in ids]
    single.close()
    read(model, ids, cache)
    for length in reversed(range(1, len(ids))):
        assert cache.trim(length) == length
        assert list(cache.tokens) == ids[:length]
        assert row(model.decode(ids[length], cache)) == expected[length]
    read(model, ids[2:], cache)
    assert cache.trim(40) == 40
    assert read(model, ids[40:], cache) == expected[-1]


@with_a_window
def test_the_same_prompt_costs_its_last_token(
    loaded: LlamaWeights, model: LlamaModel, fresh_reply: Any, ids: list[int]
) -> None:
    cache, expected = model.new_cache(), fresh_reply(ids)
    for cached in (0, len(ids) - 1):
        assert reply(loaded, model, cache, ids) == (cached, expected)
    parting = [*ids[:60], *ids[:30]]
    assert reply(loaded, model, cache, parting) == (60, fresh_reply(parting))


@with_a_window
def test_an_exported_window_can_be_cut_by_one(
    loaded: LlamaWeights, model: LlamaModel, fresh_reply: Any, ids: list[int]
) -> None:
    """The engine exports no more of the layers with a window than the window."""
    cache, other = model.new_cache(), model.new_cache()
    read(model, ids, cache)
    state = cache.export()
    cache.close()
    for length, held in ((len(ids) - 1, len(ids) - 1), (len(ids) - 2, 0), (100, 0), (5, 0)):
        assert other.restore(state, ids)
        assert other.trim(length) == held
        assert list(other.tokens) == ids[:held]
        assert read(model, ids[held:], other) == anew(model, ids)
    assert other.restore(state, ids)
    assert reply(loaded, model, other, ids) == (len(ids) - 1, fresh_reply(ids))


@with_a_window
def test_a_window_that_others_have_filled_is_read_again(model: LlamaModel, ids: list[int]) -> None:
    """The engine gives cells that no token can see any more to whoever comes next."""
    one, two = model.new_cache(), model.new_cache()
    read(model, ids[:60], one)
    read(model, ids[:100], two)
    one.trim(10)
    read(model, ids[10:100], one)
    held = two.trim(40)
    assert list(two.tokens) == ids[:held]
    assert read(model, ids[held:60], two) == anew(model, ids[:60])


@with_a_window
def test_a_shifted_window_is_not_cut_to_what_is_gone(model: LlamaModel, ids: list[int]) -> None:
    cache, before = model.new_cache(), model.new_cache()
    for held in (cache, before):
        read(model, ids, held)
    assert cache.shift(4, 60)
    rest = [*ids[:4], *ids[64:]]
    assert list(cache.tokens) == rest
    read(model, ids[:90], cache)
    for length in (len(rest) + 80, len(rest), 20, 4):
        held = cache.trim(length)
        assert list(cache.tokens) == [*rest, *ids[:90]][:held]
        if held == 0:
            break
        assert first_held(model, cache) <= max(0, length + 1 - WINDOW)
    assert held == 0
    assert read(model, ids, cache) == anew(model, ids)


@with_a_window
def test_a_window_does_not_shift_onto_what_is_gone(model: LlamaModel, ids: list[int]) -> None:
    cache, other = model.new_cache(), model.new_cache()
    read(model, ids[:100], cache)
    assert other.restore(cache.export(), ids[:100])
    for keep, discard in ((50, 45), (80, 10), (30, 70)):
        assert not other.shift(keep, discard)
        assert list(other.tokens) == ids[:100]
    assert row(model.decode(ids[100], other)) == anew(model, ids[:101])
    # Here the whole window moves.
    assert other.shift(4, 101 - 4 - WINDOW)
    assert list(other.tokens) == [*ids[:4], *ids[101 - WINDOW : 101]]


def first_held(model: LlamaModel, cache: LlamaCache) -> int:
    """The first position whose keys all layers have."""
    memory = library().llama_get_memory(model.context)
    return int(library().llama_memory_seq_pos_min(memory, cache.sequence))
