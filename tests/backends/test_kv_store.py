"""States come back as they were put, or not at all; the cap holds; nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from nextok.backends.kv_store import KvState, KvStore
from nextok.generation.errors import OutputError

TOKENS = [1, 5, 0, 2**31 - 1, 7]
STATE = bytes(range(256)) * 40
PREAMBLE_BYTES = 48


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "kv"


@pytest.fixture
def store(folder: Path) -> KvStore:
    return KvStore(folder, cap_bytes=1 << 20)


@pytest.fixture
def file(store: KvStore, folder: Path) -> Path:
    """The only file of a store that holds one state, called "chat"."""
    assert store.put("chat", "model", TOKENS, STATE)
    (path,) = folder.iterdir()
    return path


def age(store: KvStore, folder: Path, key: str, seconds: float) -> None:
    """Set when an entry was used last."""
    before = {entry.key: entry.used_seconds for entry in store.entries()}
    (path,) = [path for path in folder.iterdir() if path.stat().st_mtime == before[key]]
    os.utime(path, (seconds, seconds))


def keys(store: KvStore) -> list[str]:
    return [entry.key for entry in store.entries()]


def test_what_was_put_comes_out(store: KvStore, file: Path) -> None:
    assert store.get("chat", "model") == KvState(tokens=TOKENS, state=STATE)
    assert store.get("other", "model") is None
    assert store.get("chat", "another model") is None
    assert store.get("chat", "model") is not None, "a state of another model is left alone"
    assert store.put("chat", "another model", [], b"")
    assert store.get("chat", "another model") == KvState(tokens=[], state=b"")
    assert store.get("chat", "model") is None


def test_a_header_is_read_without_the_state(store: KvStore, file: Path) -> None:
    os.utime(file, (1000.0, 1000.0))
    entry = store.peek("chat")
    assert entry is not None
    assert (entry.key, entry.identity, entry.token_count) == ("chat", "model", 5)
    assert (entry.state_bytes, entry.size_bytes) == (len(STATE), file.stat().st_size)
    assert entry.used_seconds == 1000.0
    assert store.peek("other") is None
    assert store.entries() == [entry]
    assert store.size_bytes() == entry.size_bytes


@pytest.mark.parametrize("prefix", [[], [1], [1, 5, 0], TOKENS])
def test_a_state_that_begins_with_the_prefix(store: KvStore, file: Path, prefix: list[int]) -> None:
    assert store.get("chat", "model", prefix=prefix) == KvState(tokens=TOKENS, state=STATE)


@pytest.mark.parametrize("prefix", [[2], [1, 5, 1], [*TOKENS, 8]])
def test_a_state_that_begins_otherwise(store: KvStore, file: Path, prefix: list[int]) -> None:
    os.utime(file, (1000.0, 1000.0))
    assert store.get("chat", "model", prefix=prefix) is None
    entry = store.peek("chat")
    assert entry is not None and entry.used_seconds == 1000.0


def test_a_group_is_what_stands_before_the_slash(store: KvStore, folder: Path) -> None:
    for number, key in enumerate(["group/a", "group/b", "group", "groups/a", "group/a/b"]):
        assert store.put(key, "model", [number, 7], b"x" * number)
    assert store.get("group/b", "model") == KvState(tokens=[1, 7], state=b"x")
    age(store, folder, "group/a", 2e9)
    found = [(entry.key, list(tokens)) for entry, tokens in store.group("group")]
    assert found == [("group/a", [0, 7]), ("group/b", [1, 7])]
    assert [entry.key for entry, _ in store.group("group/a")] == ["group/a/b"]
    assert store.group("other") == []


def test_what_is_damaged_in_a_group_is_dropped_and_told(folder: Path) -> None:
    told: list[str] = []
    store = KvStore(folder, cap_bytes=1 << 20, listener=told.append)
    store.put("group/a", "model", [1], b"x")
    store.put("group/b", "model", [2], b"y")
    (file,) = (path for path in folder.iterdir() if path.read_bytes().endswith(b"x"))
    file.write_bytes(b"garbage")
    assert [entry.key for entry, _ in store.group("group")] == ["group/b"]
    assert not file.exists()
    assert told == ["dropped a KV state on disk: cut short"]


def test_what_was_seen_is_counted_and_cleared(store: KvStore, folder: Path) -> None:
    store.seen.add([1, 2, 3])
    assert KvStore(folder, cap_bytes=0).seen.leading([1, 2, 3]) == 3
    assert store.entries() == [] and store.size_bytes() == 24
    store.clear()
    assert list(folder.iterdir()) == []


def test_nobody_else_can_read_it(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "chat" not in file.name


def test_a_file_cut_at_any_place(store: KvStore, file: Path) -> None:
    whole = file.read_bytes()
    for length in [*range(300), *range(300, len(whole), 997), len(whole) - 1]:
        file.write_bytes(whole[:length])
        assert store.get("chat", "model") is None, length
        assert not file.exists(), length
    file.write_bytes(whole)
    assert store.get("chat", "model") is not None
    file.write_bytes(whole + b"\0")
    assert store.get("chat", "model") is None


def test_a_flipped_bit_at_any_place(store: KvStore, file: Path) -> None:
    whole = file.read_bytes()
    for place in [*range(300), *range(300, len(whole), 997), len(whole) - 1]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        file.write_bytes(damaged)
        assert store.get("chat", "model") is None, place
        store.entries()
        store.peek("chat")
    file.write_bytes(whole)
    assert store.get("chat", "model") == KvState(tokens=TOKENS, state=STATE)


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 5000, b"garbage" * 999, b"nextokKV", b"nextokKV" + b"\xff" * 999]
)
def test_garbage_is_removed(store: KvStore, file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert store.entries() == []
    assert store.get("chat", "model") is None
    assert not file.exists()
    file.write_bytes(content)
    assert store.peek("chat") is None
    assert not file.exists()


def with_header(file: Path, header: bytes, version: int = 1) -> None:
    """The same file, its header replaced."""
    content = file.read_bytes()
    length = int.from_bytes(content[12:16], "little")
    start = b"nextokKV" + version.to_bytes(4, "little") + len(header).to_bytes(4, "little")
    file.write_bytes(start + content[16:48] + header + content[PREAMBLE_BYTES + length :])


@pytest.mark.parametrize(
    "change",
    [
        {"state_bytes": 1 << 60},
        {"token_count": 1 << 60},
        {"token_count": -5},
        {"state_bytes": len(STATE) + 4 * 6, "token_count": -1},
        {"state_bytes": 1.5},
        {"token_count": True},
        {"key": None},
        {"key": "another"},
        {"identity": ["model"]},
        {"more": 1},
    ],
)
def test_a_header_that_lies(store: KvStore, file: Path, change: dict[str, object]) -> None:
    fields = {"key": "chat", "identity": "model", "token_count": 5, "state_bytes": len(STATE)}
    with_header(file, json.dumps(fields | change).encode())
    assert store.get("chat", "model") is None
    assert not file.exists()


@pytest.mark.parametrize("header", [b"[" * 60_000, b"[]", b"1", b"\xff\xfe", b"9" * 9000])
def test_a_header_that_is_none(store: KvStore, file: Path, header: bytes) -> None:
    with_header(file, header)
    assert store.get("chat", "model") is None
    assert not file.exists()


def test_a_file_under_another_name_is_not_that_key(store: KvStore, file: Path) -> None:
    content = file.read_bytes()
    store.put("other", "model", [], b"")
    (other,) = set(file.parent.iterdir()) - {file}
    other.write_bytes(content)
    assert store.peek("other") is None
    assert not other.exists() and store.peek("chat") is not None


def test_another_version(store: KvStore, file: Path) -> None:
    fields = {"key": "chat", "identity": "model", "token_count": 5, "state_bytes": len(STATE)}
    with_header(file, json.dumps(fields).encode(), version=2)
    assert store.peek("chat") is None
    assert not file.exists()


def test_what_is_larger_than_the_cap_is_not_read(store: KvStore, file: Path) -> None:
    """A hole of a terabyte, with a header that says so."""
    fields = {"key": "chat", "identity": "model", "token_count": 0, "state_bytes": 1 << 40}
    header = json.dumps(fields).encode()
    with_header(file, header)
    os.truncate(file, PREAMBLE_BYTES + len(header) + (1 << 40))
    assert store.get("chat", "model") is None
    assert not file.exists()


def test_what_is_no_file_is_not_waited_for(store: KvStore, file: Path) -> None:
    for make in (os.mkfifo, os.mkdir):
        file.unlink(missing_ok=True)
        make(file)
        assert store.get("chat", "model") is None
        assert store.entries() == []
    assert not store.put("chat", "model", TOKENS, STATE)
    assert sorted(file.parent.iterdir()) == [file]
    file.rmdir()
    file.symlink_to(file.parent / "elsewhere")
    (file.parent / "elsewhere").write_bytes(b"mine")
    assert store.get("chat", "model") is None
    assert store.put("chat", "model", TOKENS, STATE)
    assert (file.parent / "elsewhere").read_bytes() == b"mine"


def test_the_cap_holds_over_all_entries(folder: Path) -> None:
    store = KvStore(folder, cap_bytes=35_000)
    for number, key in enumerate("abc"):
        assert store.put(key, "model", TOKENS, STATE)
        age(store, folder, key, 1000.0 + number)
    assert keys(store) == ["c", "b", "a"]
    assert store.get("a", "model") is not None
    assert keys(store) == ["a", "c", "b"], "to get is to use"
    assert store.get("b", "another model") is None
    assert store.put("d", "model", TOKENS, STATE)
    assert keys(store) == ["d", "a", "c"], "the one used longest ago made room"
    assert store.put("d", "model", TOKENS, STATE * 2)
    assert keys(store) == ["d", "a"], "what is replaced does not count"
    assert store.size_bytes() <= 35_000


def test_what_the_cap_does_not_hold_is_not_kept(folder: Path) -> None:
    store = KvStore(folder, cap_bytes=len(STATE))
    assert store.put("small", "model", TOKENS, STATE[:5000])
    assert not store.put("large", "model", TOKENS, STATE)
    assert not store.put("small", "model", TOKENS, STATE[:-22])
    assert keys(store) == ["small"]
    assert not KvStore(folder, cap_bytes=0).put("none", "model", [], b"")


def test_what_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"")
    store = KvStore(tmp_path / "taken" / "kv", cap_bytes=1 << 20)
    assert not store.put("chat", "model", TOKENS, STATE)
    assert store.get("chat", "model") is None
    assert store.entries() == [] and store.size_bytes() == 0
    assert not store.remove("chat")
    store.clear()


FULL = """
import resource, sys
from pathlib import Path
from nextok.backends.kv_store import KvStore
store = KvStore(Path(sys.argv[1]), cap_bytes=1 << 20)
assert store.put("small", "model", [1], b"x" * 1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
print(store.put("small", "model", [1], b"y" * 9000))
"""


def test_a_full_disk_leaves_what_was_there(
    python: Callable[..., subprocess.Popen[str]], folder: Path, store: KvStore
) -> None:
    child = python(FULL, str(folder))
    assert child.communicate() == ("False\n", "")
    assert store.get("small", "model") == KvState(tokens=[1], state=b"x" * 1000)
    assert len(list(folder.iterdir())) == 1


def test_keys_are_any_texts(store: KvStore) -> None:
    odd = ["", "../../etc/passwd", "a/b\0c", "\udcff", "\N{SNOWMAN}" * 300]
    for number, key in enumerate(odd):
        assert store.put(key, "model", [number], b"x")
    for number, key in enumerate(odd):
        state = store.get(key, "model")
        assert state is not None and state.tokens == [number]
    assert sorted(keys(store)) == sorted(odd)


def test_remove_and_clear(store: KvStore, folder: Path, file: Path) -> None:
    store.put("other", "model", TOKENS, STATE)
    assert store.remove("chat") and not store.remove("chat")
    assert keys(store) == ["other"]
    (folder / ".0123456789abcdef.draft").write_bytes(b"half")
    (folder / "mine.txt").write_bytes(b"of somebody else")
    assert store.size_bytes() > len(STATE) + 4
    store.clear()
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_what_must_stay_is_said(store: KvStore, file: Path) -> None:
    file.unlink()
    file.mkdir()
    with pytest.raises(OutputError, match="cannot be removed"):
        store.remove("chat")
    with pytest.raises(OutputError, match="cannot be removed"):
        store.clear()


KILLED = """
import os, signal, sys
from pathlib import Path
from nextok.backends import draft_file
from nextok.backends.kv_store import KvStore
def killed(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)
draft_file.sync = killed
KvStore(Path(sys.argv[1]), cap_bytes=1 << 20).put("killed", "model", [1], b"x" * 1000)
"""


def test_what_a_killed_process_left_is_cleaned_up(
    python: Callable[..., subprocess.Popen[str]], store: KvStore, folder: Path, file: Path
) -> None:
    child = python(KILLED, str(folder))
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert len(list(folder.iterdir())) == 2
    assert keys(store) == ["chat"]
    assert store.put("other", "model", TOKENS, STATE)
    assert sorted(keys(store)) == ["chat", "other"]
    assert len(list(folder.iterdir())) == 2


def _put_and_get(folder: Path, worker: int) -> int:
    store, sound = KvStore(folder, cap_bytes=60_000), 0
    for number in range(40):
        key = str((worker + number) % 7)
        assert store.put(key, "model", [worker], bytes([worker]) * 12_000)
        state = store.get(str(number % 7), "model")
        if state is not None:
            assert state.state == bytes([state.tokens[0]]) * 12_000
            sound += 1
    return sound


def test_many_processes_at_once(folder: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        assert sum(pool.map(_put_and_get, [folder] * 4, range(4))) > 0
    store = KvStore(folder, cap_bytes=60_000)
    store.put("last", "model", [], b"")
    assert store.size_bytes() <= 60_000
    assert not list(folder.glob(".*"))


def test_a_state_is_in_memory_once(folder: Path) -> None:
    """Neither writing nor reading makes a copy."""
    store, state = KvStore(folder, cap_bytes=1 << 30), bytes(20_000_000)
    tracemalloc.start()
    try:
        assert store.put("chat", "model", TOKENS, state)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
        kept = store.get("chat", "model")
        assert kept is not None and len(kept.state) == len(state)
        assert tracemalloc.get_traced_memory()[1] < len(state) + 1_000_000
    finally:
        tracemalloc.stop()
