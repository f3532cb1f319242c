"""Whatever happens to the process or the disk, what was said before can be read."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nextok.backends.chat_file import ChatFile, ChatInUse, read_records
from nextok.backends.draft_file import try_lock
from nextok.generation.errors import OutputError, UsageError

Python = Callable[..., "subprocess.Popen[str]"]
HEADER = b'{"type":"chat","version":1,"created":"2026-11-29T10:00:00Z"}\n'
CREATED_SECONDS = 1_795_946_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "chats" / "sky.jsonl"


@pytest.fixture
def saved(path: Path) -> Path:
    """A chat of three messages."""
    with ChatFile.create(path, clock=lambda: CREATED_SECONDS) as file:
        for number in range(3):
            file.append(said(number))
    return path


def said(number: int, content: str = "text") -> dict[str, object]:
    return {"type": "message", "id": number, "content": f"{content} {number}"}


def ignore(record: Mapping[str, object]) -> None:
    pass


def contents(path: Path) -> list[object]:
    found: list[object] = []
    read_records(path, lambda record: found.append(record["content"]))
    return found


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


# Writing.


def test_what_is_appended_is_read(saved: Path) -> None:
    assert contents(saved) == ["text 0", "text 1", "text 2"]
    lines = saved.read_bytes().splitlines(keepends=True)
    assert lines[0] == HEADER
    line = b'{"type":"message","id":%d,"content":"text %d"}\n'
    assert lines[1:] == [line % (number, number) for number in range(3)]
    with ChatFile.open(saved) as file:
        reading = file.read(ignore)
        assert (reading.records, reading.bad_lines, reading.backup) == (3, (), None)
        file.append(said(3))
    assert contents(saved)[2:] == ["text 2", "text 3"]
    assert names(saved) == ["sky.jsonl"]


def test_there_is_no_file_before_the_first_record(path: Path) -> None:
    with ChatFile.create(path) as file:
        assert file.read(ignore).records == 0
        assert not path.parent.exists()
    assert not path.parent.exists()


def test_nobody_else_can_read_it(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert stat.S_IMODE(saved.parent.stat().st_mode) == 0o700


def test_a_chat_never_takes_the_place_of_another(saved: Path) -> None:
    with pytest.raises(UsageError, match="there is a chat sky already: take another name"):
        ChatFile.create(saved)
    other = saved.with_name("other.jsonl")
    one, two = ChatFile.create(other), ChatFile.create(other)
    with one, two:
        one.append(said(1))
        with pytest.raises(OutputError, match="there is a chat other already"):
            two.append(said(2))
    assert contents(other) == ["text 1"]


def test_any_text_can_be_said(path: Path) -> None:
    texts = ["", "two\nlines\r\n", "\0\x1b", "\u2028\x85", "\N{GRINNING FACE}", "\ud83d", '"\\']
    with ChatFile.create(path) as file:
        for text in texts:
            file.append({"content": text, "type": "message"})
    found: list[object] = []
    reading = read_records(path, lambda record: found.append(record["content"]))
    assert found == texts and reading.bad_count == 0
    assert path.read_bytes().count(b"\n") == 1 + len(texts)
    assert path.read_bytes().count(b'\n{"type":"message",') == len(texts)


@pytest.mark.parametrize(
    "record", [{}, {"type": 1}, {"kind": "message"}, {"type": "message", "seconds": float("nan")}]
)
def test_what_is_no_record_is_refused(path: Path, record: dict[str, object]) -> None:
    with ChatFile.create(path) as file, pytest.raises(ValueError):
        file.append(record)
    assert not path.exists()


def test_a_record_that_could_not_be_read_is_not_written(saved: Path) -> None:
    before = sha256(saved)
    with ChatFile.open(saved) as file, pytest.raises(OutputError, match="of 16,777,2.* bytes"):
        file.append(said(3, "x" * (16 << 20)))
    assert sha256(saved) == before
    with ChatFile.open(saved) as file:
        file.append(said(3, "x" * ((16 << 20) - 100)))
    assert len(contents(saved)) == 4


def test_a_file_that_is_removed_meanwhile(saved: Path) -> None:
    with ChatFile.open(saved) as file:
        saved.unlink()
        with pytest.raises(OutputError, match="it was removed meanwhile"):
            file.append(said(3))


FULL = """
import resource, sys
from pathlib import Path
from nextok.backends.chat_file import ChatFile
from nextok.generation.errors import OutputError
path = Path(sys.argv[1])
size = path.stat().st_size if path.exists() else 0
file = ChatFile.open(path) if size else ChatFile.create(path)
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
limit(size + 100)
for attempt in range(2):
    try:
        file.append({"type": "message", "content": "x" * 500})
    except OutputError as error:
        print(error)
limit(resource.RLIM_INFINITY)
if size:
    file.append({"type": "message", "content": "there is room again"})
"""


def test_a_full_disk_leaves_the_file_as_it_was(python: Python, saved: Path) -> None:
    child = python(FULL, str(saved))
    output, error = child.communicate()
    line = f"the chat {saved} cannot be written (File too large): make room, or see whose"
    assert [one.startswith(line) for one in output.splitlines()] == [True, True] and error == ""
    reading = read_records(saved, ignore)
    assert reading.bad_count == 0
    assert contents(saved) == ["text 0", "text 1", "text 2", "there is room again"]


def test_a_disk_that_is_full_from_the_start_leaves_no_file(python: Python, path: Path) -> None:
    child = python(FULL, str(path))
    output, error = child.communicate()
    assert output.count("(File too large)") == 2 and error == ""
    assert names(path) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"")
    with (
        ChatFile.create(tmp_path / "taken" / "sky.jsonl") as file,
        pytest.raises(OutputError, match="cannot be written .its folder is a file.:"),
    ):
        file.append(said(0))


READ_ONLY = """
import os, sys
from pathlib import Path
from nextok.backends.chat_file import ChatFile, read_records
from nextok.generation.errors import NextokError
folder = Path(sys.argv[1])
os.chmod(folder / "sky.jsonl", 0o400)
os.chmod(folder, 0o500)
if os.getuid() == 0:
    os.chown(folder, 65534, 65534)
    os.chown(folder / "sky.jsonl", 65534, 65534)
    os.chdir(folder)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    folder = Path(".")
for attempt in (ChatFile.open, lambda path: ChatFile.create(path.with_name("new.jsonl")).append(
    {"type": "message"}
)):
    try:
        attempt(folder / "sky.jsonl")
    except NextokError as error:
        print(type(error).__name__, "Permission denied" in str(error))
print(read_records(folder / "sky.jsonl", lambda record: None).records)
"""


def test_a_read_only_folder(python: Python, saved: Path) -> None:
    child = python(READ_ONLY, str(saved.parent))
    output, error = child.communicate()
    assert output.splitlines() == ["UsageError True", "OutputError True", "3"], error


# Two at once.


def test_a_second_opener_is_told_of_the_first(saved: Path) -> None:
    with ChatFile.open(saved), pytest.raises(ChatInUse) as caught:
        ChatFile.open(saved)
    holder = f"process {os.getpid()}" if Path("/proc/locks").exists() else "another process"
    assert str(caught.value) == (
        f"the chat sky is open in {holder}: close it there, take another name, or /branch it there"
    )
    ChatFile.open(saved).close()


def test_a_chat_is_its_writers_from_the_first_record_on(path: Path) -> None:
    with ChatFile.create(path) as file:
        file.append(said(0))
        with pytest.raises(ChatInUse):
            ChatFile.open(path)
        assert contents(path) == ["text 0"], "everybody may read"


def test_the_lock_survives_mending(saved: Path) -> None:
    with saved.open("ab") as stream:
        stream.write(b"garbage\n")
    with ChatFile.open(saved) as file:
        assert file.read(ignore).backup is not None
        with pytest.raises(ChatInUse):
            ChatFile.open(saved)
        file.append(said(3))
    assert contents(saved) == ["text 0", "text 1", "text 2", "text 3"]


HOLDER = """
import sys, time
from pathlib import Path
from nextok.backends.chat_file import ChatFile
file = ChatFile.open(Path(sys.argv[1]))
print("open", flush=True)
time.sleep(60)
"""


def test_a_killed_process_holds_no_lock(python: Python, saved: Path) -> None:
    child = python(HOLDER, str(saved))
    assert child.stdout is not None and child.stdout.readline() == "open\n"
    with pytest.raises(ChatInUse, match=f"process {child.pid}|another process"):
        ChatFile.open(saved)
    child.kill()
    child.wait()
    ChatFile.open(saved).close()


# Damage.

GARBAGE = {
    "text": b"garbage\n",
    "NULs": b"\0" * 100 + b"\n",
    "no UTF-8": b'{"type":"message","content":"\xff"}\n',
    "UTF-16": '{"type":"message"}\n'.encode("utf-16-le") + b"\n",
    "no object": b'["type","message"]\n',
    "no type": b'{"content":"text"}\n',
    "a type that is none": b'{"type":7}\n',
    "refused": b'{"type":"message","content":"refused"}\n',
    "cut": b'{"type":"message","content":"te\n',
    "two in one line": b'{"type":"message","content":"a"}{"type":"message","content":"b"}\n',
    "deep": b"[" * 100_000 + b"\n",
    "endless": b'{"type":"message","content":"' + b"x" * (17 << 20) + b'"}\n',
    "a large number": b'{"type":"message","content":' + b"9" * 5000 + b"}\n",
    "another header": b'{"type":"chat","version":"1"}\n',
}


def picky(found: list[object]) -> Callable[[Mapping[str, object]], None]:
    def accept(record: Mapping[str, object]) -> None:
        if record["content"] == "refused":
            raise ValueError("refused")
        found.append(record["content"])

    return accept


@pytest.mark.parametrize("kind", list(GARBAGE))
def test_a_bad_line_is_left_out_and_kept_elsewhere(saved: Path, kind: str) -> None:
    lines = saved.read_bytes().splitlines(keepends=True)
    saved.write_bytes(b"".join([*lines[:2], GARBAGE[kind], lines[2], GARBAGE[kind], lines[3]]))
    original, found = sha256(saved), list[object]()
    # A newline of UTF-16 is followed by a NUL, which then begins a line.
    bad = (3, 4, 6, 7) if kind == "UTF-16" else (3, 5)
    reading = read_records(saved, picky([]))
    assert (reading.records, reading.bad_lines, reading.bad_count) == (3, bad, len(bad))
    assert reading.backup is None and sha256(saved) == original and names(saved) == ["sky.jsonl"]
    with ChatFile.open(saved) as file:
        reading = file.read(picky(found))
        assert (reading.records, reading.bad_lines) == (3, bad)
        assert reading.backup == saved.with_name("sky.jsonl.bak")
        assert sha256(reading.backup) == original
        assert stat.S_IMODE(reading.backup.stat().st_mode) == 0o600
        file.append(said(3))
    assert found == ["text 0", "text 1", "text 2"]
    assert saved.read_bytes() == b"".join(
        [*lines, b'{"type":"message","id":3,"content":"text 3"}\n']
    )
    assert names(saved) == ["sky.jsonl", "sky.jsonl.bak"]


def test_a_file_cut_at_any_place(saved: Path) -> None:
    whole = saved.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    near = {end + step for end in ends for step in (-2, -1, 0, 1)}
    for length in sorted({*range(0, len(whole), 9), *near} - {len(whole) + 1}):
        saved.write_bytes(whole[:length])
        complete = sum(end - 1 <= length for end in ends)
        cut = length > 0 and length not in ends and length + 1 not in ends
        with ChatFile.open(saved) as file:
            reading = file.read(ignore)
            assert reading.records == max(0, complete - 1), length
            assert reading.bad_lines == ((complete + 1,) if cut else ()), length
            file.append(said(9))
        assert contents(saved) == [*["text 0", "text 1", "text 2"][: reading.records], "text 9"]
        again = read_records(saved, ignore)
        assert again.bad_count == 0 and again.has_header
        assert (reading.backup is not None) == cut
        if reading.backup is not None:
            assert reading.backup.read_bytes() == whole[:length]
            reading.backup.unlink()


def test_a_cut_line_is_ended_before_the_next_one(saved: Path) -> None:
    """Also when nobody has read the file before."""
    with saved.open("ab") as stream:
        stream.write(b'{"type":"mess')
    with ChatFile.open(saved) as file:
        file.append(said(3))
    assert contents(saved) == ["text 0", "text 1", "text 2", "text 3"]
    assert read_records(saved, ignore).bad_lines == (5,)


def test_no_backup_takes_the_place_of_another(saved: Path) -> None:
    for number in range(3):
        with saved.open("ab") as stream:
            stream.write(b"garbage %d\n" % number)
        with ChatFile.open(saved) as file:
            file.read(ignore)
    backups = ["sky.jsonl.bak", "sky.jsonl.bak1", "sky.jsonl.bak2"]
    assert names(saved) == ["sky.jsonl", *backups]
    for number, backup in enumerate(backups):
        assert saved.with_name(backup).read_bytes().endswith(b"garbage %d\n" % number)


def test_a_file_with_nothing_good_in_it(saved: Path) -> None:
    saved.write_bytes(os.urandom(20_000))
    original = sha256(saved)
    with ChatFile.open(saved) as file:
        reading = file.read(ignore)
        assert reading.records == 0 and reading.bad_count > 0
        file.append(said(0))
    assert contents(saved) == ["text 0"]
    assert read_records(saved, ignore).has_header
    assert sha256(saved.with_name("sky.jsonl.bak")) == original


def test_a_damaged_header_is_replaced(saved: Path) -> None:
    """By one that says when the file was last written."""
    lines = saved.read_bytes().splitlines(keepends=True)
    saved.write_bytes(b"".join([HEADER[5:], *lines[1:]]))
    os.utime(saved, (CREATED_SECONDS, CREATED_SECONDS))
    with ChatFile.open(saved) as file:
        reading = file.read(ignore)
        assert (reading.records, reading.bad_lines, reading.has_header) == (3, (1,), False)
    assert saved.read_bytes() == b"".join([HEADER, *lines[1:]])


def test_an_empty_file_is_an_empty_chat(saved: Path) -> None:
    saved.write_bytes(b"")
    with ChatFile.open(saved) as file:
        reading = file.read(ignore)
        assert (reading.records, reading.bad_count, reading.backup) == (0, 0, None)
        file.append(said(0))
    assert contents(saved) == ["text 0"] and read_records(saved, ignore).has_header


def test_blank_lines_and_other_ends_of_lines_are_no_damage(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes().replace(b"\n", b"\r\n") + b"\n  \n")
    with ChatFile.open(saved) as file:
        reading = file.read(ignore)
        file.append(said(3))
    assert (reading.records, reading.bad_count) == (3, 0)
    assert len(contents(saved)) == 4


def test_a_backup_that_cannot_be_written_leaves_the_file_alone(
    saved: Path,
) -> None:
    """Its name would be too long for the file system."""
    long = saved.rename(saved.with_name("x" * 248 + ".jsonl"))
    with long.open("ab") as stream:
        stream.write(b"garbage\n")
    original = sha256(long)
    with ChatFile.open(long) as file:
        reading = file.read(ignore)
        assert (reading.records, reading.bad_lines, reading.backup) == (3, (5,), None)
        assert sha256(long) == original
        file.append(said(3))
    assert len(contents(long)) == 4
    assert names(long) == [long.name]


@pytest.mark.parametrize("version", [2, 10**30])
def test_a_newer_version_is_left_alone(saved: Path, version: int) -> None:
    saved.write_bytes(b'{"type":"chat","version":%d}\n' % version + b"who knows what\n")
    original = sha256(saved)
    for attempt in (ChatFile.open, lambda path: read_records(path, ignore)):
        with pytest.raises(UsageError, match="the chat sky was made by a newer nextok .format"):
            attempt(saved)
    assert sha256(saved) == original and names(saved) == ["sky.jsonl"]
    with saved.open("rb") as stream:
        assert try_lock(stream.fileno()), "whoever was told so has closed it"


def test_what_is_not_there_or_no_file(path: Path) -> None:
    for attempt in (ChatFile.open, lambda path: read_records(path, ignore)):
        with pytest.raises(UsageError, match="there is no chat sky: see the list"):
            attempt(path)
    path.parent.mkdir(parents=True)
    for make in (os.mkfifo, os.mkdir):
        make(path)
        for attempt in (ChatFile.open, lambda path: read_records(path, ignore)):
            with pytest.raises(UsageError, match="sky.jsonl"):
                attempt(path)
        path.unlink() if make is os.mkfifo else path.rmdir()


def test_a_large_file_is_read_line_by_line(saved: Path) -> None:
    """20 MB of long lines, then 5,000 bad ones."""
    line = b'{"type":"message","content":"' + b"x" * 500_000 + b'"}\n'
    with saved.open("ab") as stream:
        stream.writelines([line] * 40)
        stream.write(b"x\n" * 5000)
    tracemalloc.start()
    try:
        reading = read_records(saved, ignore)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    assert (reading.records, reading.bad_count) == (43, 5000)
    assert reading.bad_lines == tuple(range(45, 1045))


# Killed.

KILLS = """
import json, os, signal, sys, time
from pathlib import Path
from nextok.backends.chat_file import ChatFile, read_records

def append_until_killed(path):
    with ChatFile.open(path) as file:
        file.read(lambda record: None)
        for number in range(10**9):
            file.append({"type": "message", "content": "x" * (number * 7919 % 3000)})

path = Path(sys.argv[1])
for attempt in range(50):
    child = os.fork()
    if child == 0:
        append_until_killed(path)
    time.sleep(0.002 + 0.0002 * attempt)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    *whole, last = path.read_bytes().split(b"\\n")
    for line in whole:
        json.loads(line)
    reading = read_records(path, lambda record: None)
    print(json.dumps([len(whole), len(last), reading.records, reading.bad_lines]))
"""


def test_fifty_kills(python: Python, saved: Path) -> None:
    """Each at another moment; the next process goes on in the same file."""
    output, error = python(KILLS, str(saved)).communicate()
    rows = [json.loads(line) for line in output.splitlines()]
    assert len(rows) == 50, error
    for whole, cut, records, bad_lines in rows:
        assert records == whole - 1
        assert bad_lines == ([whole + 1] if cut else [])
    assert rows == sorted(rows, key=lambda row: int(row[2])), "nothing that was kept is lost"
    assert rows[-1][2] > 100


# Another name.


def test_a_chat_can_be_renamed_while_it_goes_on(saved: Path) -> None:
    other = saved.with_name("other.jsonl")
    with ChatFile.open(saved) as file:
        file.rename(other)
        file.append(said(3))
        assert file.path == other
        with pytest.raises(ChatInUse):
            ChatFile.open(other)
    assert names(saved) == ["other.jsonl"]
    assert len(contents(other)) == 4


def test_a_chat_without_a_file_can_be_renamed(path: Path) -> None:
    with ChatFile.create(path) as file:
        file.rename(path.with_name("other.jsonl"))
        file.append(said(0))
    assert names(path) == ["other.jsonl"]


def test_no_chat_is_renamed_over_another(saved: Path) -> None:
    other = saved.with_name("other.jsonl")
    with ChatFile.create(other) as begun:
        other.write_bytes(b"taken")
        with ChatFile.open(saved) as file:
            file.rename(saved)
            for chat in (file, begun):
                with pytest.raises(UsageError, match="there is a chat other already"):
                    chat.rename(other)
            file.append(said(3))
    assert len(contents(saved)) == 4 and other.read_bytes() == b"taken"
