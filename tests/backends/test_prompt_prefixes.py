"""Beginnings of prompts: which are kept, when, which is found, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from nextok.backends.kv_store import KvStore
from nextok.backends.prompt_prefixes import PromptPrefixes
from nextok.backends.token_blocks import chained_hashes, shared_blocks
from nextok.backends.toy import ToyCache

TEXT = [number * 7 % 251 for number in range(400)]
OTHER = [number * 11 % 251 for number in range(400)]
Beginnings = Callable[..., PromptPrefixes]


class WholeCache(ToyCache):
    """A memory that cannot be cut, like a recurrent one."""

    def trim(self, length: int) -> int:
        if length < len(self.tokens):
            self.tokens.clear()
        return len(self.tokens)


@pytest.fixture
def store(tmp_path: Path) -> KvStore:
    return KvStore(tmp_path / "kv", cap_bytes=1 << 20)


@pytest.fixture
def beginnings(store: KvStore) -> Beginnings:
    """`beginnings(prompt, …)`: in blocks of 32 tokens, none shorter than 64."""

    def made(
        prompt: Sequence[int], identity: str = "model", pass_tokens: int = 32, least: int = 64
    ) -> PromptPrefixes:
        return PromptPrefixes(
            store, prompt, identity=identity, pass_tokens=pass_tokens, least_tokens=least
        )

    return made


def run(prefixes: PromptPrefixes, prompt: Sequence[int], *, at_once: bool = False) -> int:
    """Read a prompt as a run would, and keep what is to be kept; how many tokens were cached."""
    cache = ToyCache()
    held = prefixes.restore(cache)
    assert cache.tokens == list(prompt[:held])
    length = prefixes.wanted(held, at_once=at_once)
    if length:
        cache.tokens[:] = prompt[:length]
        assert prefixes.keep(length, cache.export())
    return held


def lengths(store: KvStore) -> list[int]:
    return sorted(entry.token_count for entry in store.entries())


def test_a_hash_is_of_all_before_it() -> None:
    hashes = chained_hashes(TEXT[:100], 32, "model")
    assert len(hashes) == len(set(hashes)) == 3
    assert all(0 <= one < 2**64 for one in hashes)
    assert chained_hashes(TEXT[:96], 32, "model") == hashes
    assert chained_hashes(TEXT[:95], 32, "model") == hashes[:2]
    late, early = [*TEXT[:99], 5], [TEXT[0] + 1, *TEXT[1:100]]
    assert chained_hashes(late, 32, "model") == hashes
    assert chained_hashes([*TEXT[:40], 5, *TEXT[41:100]], 32, "model")[:1] == hashes[:1]
    for others in (
        chained_hashes(early, 32, "model"),
        chained_hashes(TEXT[:100], 32, "another"),
        chained_hashes([*TEXT[:40], 5, *TEXT[41:100]], 32, "model")[1:],
        chained_hashes(TEXT[32:100], 32, "model"),
    ):
        assert not set(others) & set(hashes)
    assert chained_hashes([], 32, "model") == []


def test_hashes_are_the_same_in_every_process() -> None:
    """They are on disk. SHA-256 of the origin's SHA-256 and the tokens as int32; 64 bits of it."""
    assert chained_hashes([1, 2], 2, "model") == [0x7A5CD5CC475E5189]


def test_shared_blocks_are_whole() -> None:
    assert shared_blocks(TEXT, TEXT[:100], 32) == 3
    assert shared_blocks(TEXT[:63], TEXT, 32) == 1
    assert shared_blocks([*TEXT[:64], 5, *TEXT[65:]], TEXT, 32) == 2
    assert shared_blocks(OTHER, TEXT, 32) == 0
    assert shared_blocks([], TEXT, 32) == 0


def test_the_first_run_leaves_hashes_the_second_a_state_that_the_third_finds(
    store: KvStore, beginnings: Beginnings
) -> None:
    prompt = TEXT[:100]
    assert run(beginnings(prompt), prompt) == 0
    assert lengths(store) == [] and store.size_bytes() == store.seen.size_bytes() == 3 * 8
    assert run(beginnings(prompt), prompt) == 0
    assert lengths(store) == [96]
    assert run(beginnings(prompt), prompt) == 96
    assert lengths(store) == [96]


def test_at_once(store: KvStore, beginnings: Beginnings) -> None:
    assert run(beginnings(TEXT[:100]), TEXT[:100], at_once=True) == 0
    assert lengths(store) == [96]
    assert run(beginnings(TEXT[:100]), TEXT[:100], at_once=True) == 96
    assert run(beginnings(TEXT), TEXT, at_once=True) == 96
    assert lengths(store) == [96, 384]


@pytest.mark.parametrize(("tokens", "cached"), [(96, 64), (97, 96), (128, 96), (129, 128)])
def test_at_least_one_token_is_left_to_read(
    beginnings: Beginnings, tokens: int, cached: int
) -> None:
    for _ in range(2):
        run(beginnings(TEXT[:tokens]), TEXT[:tokens])
    assert run(beginnings(TEXT[:tokens]), TEXT[:tokens]) == cached


def test_what_two_prompts_share_is_kept(store: KvStore, beginnings: Beginnings) -> None:
    """A document and three questions: the second question shows where the document ends."""
    prompts = [TEXT[:200] + OTHER[start : start + 60] for start in (0, 100, 200)]
    assert [run(beginnings(prompt), prompt) for prompt in prompts] == [0, 0, 192]
    assert lengths(store) == [192]


def test_the_beginning_of_what_is_kept_is_found(beginnings: Beginnings) -> None:
    """A prompt that was kept whole, and then another question to the same document."""
    first, second = TEXT[:200] + OTHER[:60], TEXT[:200] + OTHER[60:120]
    run(beginnings(first), first, at_once=True)
    assert run(beginnings(second), second) == 192


def test_the_longest_is_found(store: KvStore, beginnings: Beginnings) -> None:
    for tokens in (100, 300, 200):
        run(beginnings(TEXT[:tokens]), TEXT[:tokens], at_once=True)
    assert run(beginnings(TEXT), TEXT) == 288
    assert run(beginnings(TEXT[:280]), TEXT[:280]) == 256
    between = TEXT[:150] + OTHER
    assert run(beginnings(between), between) == 128


@pytest.mark.parametrize("place", [0, 31, 40, 63])
def test_another_token_early_on(store: KvStore, beginnings: Beginnings, place: int) -> None:
    run(beginnings(TEXT), TEXT, at_once=True)
    changed = [*TEXT[:place], 255, *TEXT[place + 1 :]]
    assert run(beginnings(changed), changed) == 0
    assert lengths(store) == [384]


def test_another_model_or_other_passes(store: KvStore, beginnings: Beginnings) -> None:
    run(beginnings(TEXT), TEXT, at_once=True)
    for prefixes in (beginnings(TEXT, "another"), beginnings(TEXT, "model", 64)):
        assert run(prefixes, TEXT) == 0
    assert run(beginnings(TEXT), TEXT) == 384


@pytest.mark.parametrize(
    ("pass_tokens", "cached"), [(1, 192), (32, 192), (20, 160), (48, 192), (128, 128), (256, 0)]
)
def test_states_are_cut_where_passes_end(
    beginnings: Beginnings, pass_tokens: int, cached: int
) -> None:
    prompt = TEXT[:200]
    run(beginnings(prompt, pass_tokens=pass_tokens), prompt, at_once=True)
    assert run(beginnings(prompt, pass_tokens=pass_tokens), prompt) == cached


def test_short_beginnings_leave_nothing(store: KvStore, beginnings: Beginnings) -> None:
    for prompt in ([], TEXT[:1], TEXT[:64], TEXT[:63]):
        for at_once in (True, False):
            assert run(beginnings(prompt), prompt, at_once=at_once) == 0
    assert store.size_bytes() == 0
    for prompt in (TEXT[:65], TEXT[:60] + OTHER):
        run(beginnings(prompt), prompt)
    assert lengths(store) == []


def test_a_text_that_grows_a_little_is_not_kept_again(
    store: KvStore, beginnings: Beginnings
) -> None:
    """From 320 tokens on, 32 more are less than an eighth."""
    run(beginnings(TEXT[:321]), TEXT[:321], at_once=True)
    for _ in range(3):
        assert run(beginnings(TEXT[:353]), TEXT[:353]) == 320
    assert lengths(store) == [320]
    run(beginnings(TEXT[:353]), TEXT[:353], at_once=True)
    assert lengths(store) == [320, 352]
    for _ in range(2):
        run(beginnings(TEXT[:100]), TEXT[:100])
    assert lengths(store) == [320, 352], "there is one that begins so"


def test_a_memory_that_cannot_be_cut_takes_whole_states(beginnings: Beginnings) -> None:
    run(beginnings(TEXT), TEXT, at_once=True)
    cache = WholeCache()
    assert beginnings(TEXT[:200]).restore(cache) == 0
    assert cache.tokens == []
    short = ToyCache()
    short.tokens[:] = TEXT[:96]
    beginnings(TEXT[:100]).keep(96, short.export())
    assert beginnings(TEXT[:100] + OTHER).restore(cache) == 96
    cache.tokens.clear()
    assert beginnings(TEXT).restore(cache) == 384


def test_the_one_that_makes_room_was_used_longest_ago(tmp_path: Path) -> None:
    """Three states of 384 tokens fit: 768 bytes each, their tokens and a header."""
    store = KvStore(tmp_path, cap_bytes=9000)
    texts = [[number, *TEXT[1:]] for number in range(4)]
    made = [
        PromptPrefixes(store, text, identity="model", pass_tokens=32, least_tokens=64)
        for text in texts
    ]
    for prefixes, text in zip(made[:3], texts, strict=False):
        run(prefixes, text, at_once=True)
    assert run(made[0], texts[0]) == 384
    run(made[3], texts[3], at_once=True)
    cached = [prefixes.restore(ToyCache()) for prefixes in made]
    assert cached == [384, 0, 384, 384]
    assert store.size_bytes() - store.seen.size_bytes() <= 9000


def test_what_is_too_large_is_not_kept(tmp_path: Path) -> None:
    store = KvStore(tmp_path, cap_bytes=1000)
    prefixes = PromptPrefixes(store, TEXT, identity="model", pass_tokens=32, least_tokens=64)
    assert not prefixes.keep(384, bytes(768))
    assert store.entries() == []


def test_a_damaged_state_is_dropped_and_said(tmp_path: Path) -> None:
    told: list[str] = []
    store = KvStore(tmp_path, cap_bytes=1 << 20, listener=told.append)
    prefixes = PromptPrefixes(store, TEXT, identity="model", pass_tokens=32, least_tokens=64)
    for tail in (b"", b"x" + bytes(8)):
        run(prefixes, TEXT, at_once=True)
        (file,) = tmp_path.glob("*.kv")
        file.write_bytes(file.read_bytes()[:-9] + tail)
        assert prefixes.restore(ToyCache()) == 0
        assert not file.exists()
    assert told == [
        "dropped a KV state on disk: another size than the header says",
        "dropped a KV state on disk: another checksum",
    ]


def test_a_shorter_one_serves_where_the_longest_is_damaged(
    store: KvStore, beginnings: Beginnings, tmp_path: Path
) -> None:
    run(beginnings(TEXT[:100]), TEXT[:100], at_once=True)
    (short,) = (tmp_path / "kv").glob("*.kv")
    run(beginnings(TEXT), TEXT, at_once=True)
    (long,) = set((tmp_path / "kv").glob("*.kv")) - {short}
    data = bytearray(long.read_bytes())
    data[-1] ^= 1
    long.write_bytes(data)
    assert run(beginnings(TEXT), TEXT) == 96


def test_a_state_of_a_chat_is_none_of_a_prompt(store: KvStore, beginnings: Beginnings) -> None:
    store.put("chat-1", "model", TEXT, ToyCache().export())
    run(beginnings(TEXT), TEXT)
    assert run(beginnings(TEXT), TEXT) == 0


def _run_often(folder: Path, worker: int) -> int:
    """How often something was taken up; whatever was is what it should be."""
    store, hits = KvStore(folder, cap_bytes=12_000), 0
    for number in range(60):
        prompt = [*TEXT[: 300 + number % 3], *OTHER[worker : worker + 50]]
        prompt[0] = number % 4
        made = PromptPrefixes(store, prompt, identity="model", pass_tokens=32, least_tokens=64)
        hits += run(made, prompt) > 0
    return hits


def test_many_processes_at_once(tmp_path: Path) -> None:
    """They keep the same beginnings, and the cap makes each take others' away while they read."""
    with ProcessPoolExecutor(3) as pool:
        hits = list(pool.map(_run_often, [tmp_path] * 3, range(3)))
    assert all(hits), hits
    assert sum(file.stat().st_size for file in tmp_path.glob("*.kv")) <= 3 * 12_000
    assert list(tmp_path.glob(".*.draft")) == []
