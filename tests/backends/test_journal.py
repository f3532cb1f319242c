"""The journal keeps what it is given, from any number of processes, and is in nobody's way."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, JournalError, LoggedText, Row
from nextok.backends.journal_row import LoggedModel
from nextok.backends.journal_schema import APPLICATION_ID, MIGRATIONS, migrate, version_of

WRITER = """
import sys
from pathlib import Path
from nextok.backends.journal import Journal, LoggedText, Row
journal = Journal(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    text = LoggedText(prompt="p" * 5000, answer=f"{number}")
    row = Row(ended_at=float(number), command="chat", model="m", finish="eos", version="1",
              completion_tokens=number, text=text)
    print(number if journal.add(row) else "lost", flush=True)
"""
"""Adds so many rows as soon as a line comes, and says each number when its row is there."""


def row(**figures: Any) -> Row:
    """A generation with one token, but for what is said."""
    usual: dict[str, Any] = {
        "ended_at": 1000.0, "command": "generate", "model": "small", "finish": "eos",
        "completion_tokens": 1, "version": "0.1.0",
    }  # fmt: skip
    return Row(**{**usual, **figures})


FULL = Row(
    ended_at=1764450000.25,
    command="chat",
    model="Small-Q4_K_M",
    quantization="Q4_K_M",
    threads=2,
    prompt_tokens=31,
    cached_tokens=7,
    completion_tokens=12,
    finish="stop",
    stop="\nUser:",
    load_seconds=0.5,
    ttft_seconds=0.25,
    prefill_seconds=0.125,
    decode_seconds=1.5,
    total_seconds=2.0,
    itl_p50_seconds=0.0625,
    itl_p95_seconds=0.125,
    itl_p99_seconds=0.25,
    itl_max_seconds=0.375,
    seed=2**32 - 2,
    version="0.1.0",
    text=LoggedText(prompt="häß?", answer="😀", reasoning="hm"),
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "nextok" / "journal.sqlite")


def rows(journal: Journal) -> list[Row]:
    """All of them, the oldest first."""
    with journal.reading() as queries:
        return queries.last(10_000, queries.models())[::-1]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody writes, and takes a long time over it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def writer(journal: Journal, count: int) -> subprocess.Popen[str]:
    """A process that adds rows once it is sent a line."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(journal.path), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


# What is kept.


def test_a_row_comes_out_as_it_went_in(journal: Journal) -> None:
    assert journal.add(FULL) is True
    assert rows(journal) == [FULL]


def test_a_figure_that_does_not_exist_stays_none(journal: Journal) -> None:
    bare = row(completion_tokens=0, finish="interrupted")
    assert journal.add(bare)
    assert rows(journal) == [bare]


def test_rows_come_in_the_order_they_were_added(journal: Journal) -> None:
    added = [row(ended_at=moment) for moment in (30.0, 10.0, 20.0)]
    assert all(map(journal.add, added))
    assert rows(journal) == added


def test_nobody_else_may_read_it(journal: Journal) -> None:
    previous = os.umask(0)
    try:
        assert journal.add(FULL)
    finally:
        os.umask(previous)
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in journal.path.parent.iterdir()}
    assert modes == {f"journal.sqlite{end}": 0o600 for end in ("", "-wal", "-shm")}
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700


def test_what_others_could_read_is_closed_to_them(journal: Journal) -> None:
    assert journal.add(row())
    with journal.reading():
        pass  # whoever reads puts the log into the file
    journal.path.chmod(0o644)
    assert journal.add(row())
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.with_name("journal.sqlite-wal").stat().st_mode) == 0o600


def test_it_is_a_log_that_many_can_write(journal: Journal) -> None:
    assert journal.add(row())
    with closing(sqlite3.connect(journal.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_end_of_a_run_does_not_wait_for_the_disk(journal: Journal) -> None:
    """The row is in the log; that is played into the file by whoever reads."""
    assert journal.add(row())
    before = journal.path.stat()
    assert journal.add(row())
    after = journal.path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert journal.path.with_name("journal.sqlite-wal").stat().st_size > 0
    assert len(rows(journal)) == 2
    assert not journal.path.with_name("journal.sqlite-wal").exists()
    assert len(rows(journal)) == 2


def test_names_may_hold_bytes_that_are_no_text(journal: Journal) -> None:
    assert journal.add(row(model="m\udcff", stop="\ud800"))
    (kept,) = rows(journal)
    assert (kept.model, kept.stop) == ("m?", "?")


@pytest.mark.parametrize("name", ["with space", "per%20cent", "quest?ion=1", "ha#sh", "ümlaut"])
def test_any_folder_will_do(tmp_path: Path, name: str) -> None:
    journal = Journal(tmp_path / name / "journal.sqlite")
    assert journal.add(row())
    assert journal.path.exists()
    assert rows(journal) == [row()]


def test_a_link_leads_to_the_file(journal: Journal, tmp_path: Path) -> None:
    real = Journal(tmp_path / "elsewhere" / "real.sqlite")
    assert real.add(row())
    journal.path.parent.mkdir()
    journal.path.symlink_to(real.path)
    assert journal.add(row())
    assert len(rows(real)) == 2


# Many at once.


def test_eight_processes_at_once_leave_eight_rows(journal: Journal) -> None:
    """None of them finds a file: one makes it."""
    running = [writer(journal, 1) for _ in range(8)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate(timeout=30)[0] for process in running]
    assert told == ["0\n"] * 8
    assert len(rows(journal)) == 8
    assert sorted(one.name for one in journal.path.parent.iterdir()) == ["journal.sqlite"]


def test_a_process_killed_while_it_writes_leaves_whole_rows(journal: Journal) -> None:
    """Killed at ten moments; all that a process had said were there are there, and none in part."""
    said = 0
    for count in range(10):
        process = writer(journal, 100_000)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        for _ in range(1 + 3 * count):
            assert process.stdout.readline() != "lost\n"
        time.sleep(count / 2000)
        process.send_signal(signal.SIGKILL)
        said += 1 + 3 * count + len(process.stdout.read().splitlines())
        process.communicate()  # it would not see what readline has read ahead
    found = rows(journal)
    assert said <= len(found) <= said + 10  # a row may be there that nobody could tell of
    for one in found:
        assert one.text == LoggedText(prompt="p" * 5000, answer=f"{one.completion_tokens}")
    with closing(sqlite3.connect(journal.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# In nobody's way.


def test_a_locked_file_has_the_row_later(journal: Journal) -> None:
    assert journal.add(row(model="before"))
    with locked(journal.path):
        assert journal.add(FULL) is True
        pending = journal.path.with_name("journal.sqlite.pending")
        assert stat.S_IMODE(pending.stat().st_mode) == 0o600
    assert journal.add(row(model="after"))
    assert not pending.exists()
    before, meanwhile, after = rows(journal)
    assert (before.model, meanwhile, after.model) == ("before", FULL, "after")


def test_whoever_reads_locks_nobody_out(journal: Journal) -> None:
    assert journal.add(row())
    with journal.reading() as queries:
        (model,) = queries.models()
        assert journal.add(row())
        assert journal.add(row())
        assert queries.lengths(model)[0].generations == 1, "as it was when it was asked first"
    with journal.reading() as queries:
        assert queries.lengths(model)[0].generations == 3


def test_a_folder_that_cannot_be_made_costs_the_row(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert Journal(tmp_path / "file" / "nextok" / "journal.sqlite").add(row()) is False
    assert Journal(Path("/proc/nextok/journal.sqlite")).add(row()) is False


def test_a_file_that_cannot_be_written_costs_the_row(journal: Journal) -> None:
    assert journal.add(row())
    if os.geteuid() == 0:
        pytest.skip("nothing is read-only to this user")
    journal.path.chmod(0o400)
    journal.path.parent.chmod(0o500)
    try:
        assert journal.add(row()) is False
        assert len(rows(journal)) == 1
    finally:
        journal.path.parent.chmod(0o700)


def test_a_read_only_database_is_read(journal: Journal) -> None:
    """As on a disk that cannot be written to: SQLite finds no log and may make none."""
    from nextok.backends.journal_connection import connect

    assert journal.add(FULL)
    assert rows(journal) == [FULL]
    with closing(connect(journal.path, "ro&immutable=1", 0.0)) as connection:
        assert connection.execute("SELECT finish FROM generation").fetchall() == [("stop",)]


def test_a_full_disk_costs_the_row(journal: Journal) -> None:
    """The process may write no file larger than this one is."""
    assert journal.add(row())
    assert len(rows(journal)) == 1
    size = journal.path.stat().st_size
    script = (
        "import resource, sys; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size // 4}, {size // 4})); "
        f"exec({WRITER!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(journal.path), "1"],
        input="\n", capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("lost\n", "")
    assert len(rows(journal)) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "foreign"])
def test_what_is_no_journal_stays_as_it_is(journal: Journal, kind: str) -> None:
    journal.path.parent.mkdir()
    if kind == "folder":
        journal.path.mkdir()
    elif kind == "pipe":
        os.mkfifo(journal.path)
    else:
        with closing(sqlite3.connect(journal.path)) as other:
            other.execute("CREATE TABLE mine (x)")
            other.commit()
    before = journal.path.stat()
    assert journal.add(row()) is False
    after = journal.path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [one.name for one in journal.path.parent.iterdir()] == ["journal.sqlite"]
    with pytest.raises(JournalError), journal.reading():
        pass


# Broken ones.


def damage(journal: Journal, kind: str) -> bytes:
    """Break a journal with one row in it; what the file is then."""
    assert journal.add(row(model="old"))
    assert len(rows(journal)) == 1
    whole = journal.path.read_bytes()
    broken = {
        "empty": b"",
        "text": b"this is no database at all\n" * 200,
        "pages": whole[:100] + b"\xff" * (len(whole) - 100),
        "cut": whole[: len(whole) // 3],
    }[kind]
    journal.path.write_bytes(broken)
    return broken


def test_of_an_empty_file_nothing_is_kept(journal: Journal) -> None:
    damage(journal, "empty")
    journal.path.with_name("journal.sqlite-wal").write_bytes(b"")
    told: list[Path] = []
    assert journal.add(row(model="new"), told.append) is True
    assert [one.model for one in rows(journal)] == ["new"]
    names = {path.name for path in journal.path.parent.iterdir()}
    assert told == [] and not {one for one in names if ".bad" in one}


def test_the_first_broken_file_stays_and_they_are_few(journal: Journal) -> None:
    told: list[Path] = []
    for number in range(5):
        journal.path.parent.mkdir(exist_ok=True)
        journal.path.write_bytes(b"%d is no database\n" % number * 100)
        assert journal.add(row(), told.append) is True
    bad = ["journal.sqlite.bad", "journal.sqlite.bad2", "journal.sqlite.bad3"]
    assert [path.name for path in told] == [*bad, bad[-1], bad[-1]]
    kept = [journal.path.with_name(name).read_bytes()[:1] for name in bad]
    assert kept == [b"0", b"1", b"4"]
    journal.forget()
    assert list(journal.path.parent.iterdir()) == []


def test_another_programs_file_is_not_forgotten(journal: Journal) -> None:
    journal.path.parent.mkdir()
    with closing(sqlite3.connect(journal.path)) as other:
        other.execute("CREATE TABLE mine (x)")
        other.commit()
    before = journal.path.read_bytes()
    with pytest.raises(JournalError, match="another program's file, and stays"):
        journal.forget()
    assert journal.path.read_bytes() == before


@pytest.mark.parametrize("kind", ["text", "pages", "cut"])
def test_a_broken_file_is_set_aside_and_a_new_one_begun(journal: Journal, kind: str) -> None:
    broken = damage(journal, kind)
    assert journal.add(row(model="new")) is True
    assert [one.model for one in rows(journal)] == ["new"]
    assert journal.path.with_name("journal.sqlite.bad").read_bytes() == broken
    assert journal.add(row(model="newer")) is True
    assert journal.path.with_name("journal.sqlite.bad").read_bytes() == broken


def test_many_that_find_it_broken_set_it_aside_once(journal: Journal) -> None:
    broken = damage(journal, "text")
    running = [writer(journal, 3) for _ in range(4)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = "".join(process.communicate(timeout=30)[0] for process in running)
    kept = len(rows(journal))
    assert kept == 12 - told.count("lost") > 0  # who met one that set it aside may give up
    assert journal.path.with_name("journal.sqlite.bad").read_bytes() == broken


def test_a_broken_file_that_somebody_uses_stays(journal: Journal) -> None:
    broken = damage(journal, "text")
    folder = os.open(journal.path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_SH)
    assert journal.add(row(model="first")) is True
    os.close(folder)
    assert journal.path.read_bytes() == broken
    assert journal.add(row(model="second")) is True
    assert [one.model for one in rows(journal)] == ["first", "second"]


def test_the_log_of_a_broken_file_is_not_played_into_the_next(journal: Journal) -> None:
    assert journal.add(row(model="old"))
    log = journal.path.with_name("journal.sqlite-wal")
    assert log.stat().st_size > 0
    journal.path.write_bytes(b"no database" * 1000)
    assert journal.add(row(model="new"))
    assert [one.model for one in rows(journal)] == ["new"]


def test_the_log_of_a_file_that_is_gone_is_not_played_into_the_next(journal: Journal) -> None:
    assert journal.add(row(model="old"))
    journal.path.unlink()
    assert journal.path.with_name("journal.sqlite-wal").exists()
    assert journal.add(row(model="new"))
    assert [one.model for one in rows(journal)] == ["new"]


def test_a_broken_file_is_told_to_whoever_reads(journal: Journal) -> None:
    damage(journal, "text")
    with pytest.raises(JournalError, match="damaged.*nextok forget"), journal.reading():
        pass


def test_one_that_is_locked_is_told_to_whoever_takes_away(journal: Journal) -> None:
    assert journal.add(row())
    with (
        locked(journal.path),
        pytest.raises(JournalError, match="in use by another process: try again"),
    ):
        journal.prune(5.0)


# Versions.


def test_the_version_and_whose_it_is_are_in_the_file(journal: Journal) -> None:
    assert journal.add(row())
    with closing(sqlite3.connect(journal.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


def test_an_older_file_becomes_a_newer_one_and_keeps_its_rows() -> None:
    steps = ("CREATE TABLE a (x); INSERT INTO a VALUES (1)", "ALTER TABLE a ADD COLUMN y")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, steps[:1])
        assert version_of(connection) == 1
        migrate(connection, steps)
        migrate(connection, steps)
        assert version_of(connection) == 2
        assert connection.execute("SELECT x, y FROM a").fetchall() == [(1, None)]


def test_a_step_that_fails_leaves_the_file_as_it_was() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, ("CREATE TABLE a (x)",))
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, ("CREATE TABLE a (x)", "CREATE TABLE b (x); CREATE TABLE a (x)"))
        assert version_of(connection) == 1
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("a",)]


def newer(journal: Journal, statement: str) -> None:
    """The file of a nextok that is not written yet."""
    assert journal.add(row(model="old"))
    with closing(sqlite3.connect(journal.path, isolation_level=None)) as connection:
        connection.execute(statement)
        connection.execute("PRAGMA user_version = 99")


def test_what_is_known_of_a_newer_file_is_read_and_written(journal: Journal) -> None:
    newer(journal, "ALTER TABLE generation ADD COLUMN energy REAL")
    assert journal.add(row(model="mine"))
    assert [one.model for one in rows(journal)] == ["old", "mine"]
    with closing(sqlite3.connect(journal.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (99,)


def test_a_newer_file_that_cannot_be_read_says_so(journal: Journal) -> None:
    newer(journal, "ALTER TABLE generation RENAME COLUMN finish TO ending")
    before = journal.path.stat().st_ino
    assert journal.add(row()) is False
    with pytest.raises(JournalError, match="written by a newer nextok.*update it"):
        rows(journal)
    assert journal.path.stat().st_ino == before


# Taking away.


def test_nothing_is_there_before_the_first_row(journal: Journal) -> None:
    assert rows(journal) == []
    assert journal.size_bytes() == 0
    journal.forget()
    assert not journal.path.parent.exists()


def test_forgetting_leaves_no_byte(journal: Journal) -> None:
    damage(journal, "text")
    assert journal.add(FULL)
    journal.path.with_name("journal.sqlite.0123456789abcdef.new").write_text("killed")
    journal.path.with_name("history").write_text("not ours")
    assert journal.size_bytes() == sum(
        one.stat().st_size for one in journal.path.parent.iterdir() if one.name != "history"
    )
    journal.forget()
    assert journal.size_bytes() == 0
    assert [one.name for one in journal.path.parent.iterdir()] == ["history"]
    assert journal.add(FULL)
    assert rows(journal) == [FULL]


def test_pruning_takes_the_older_ones_and_their_text(journal: Journal) -> None:
    for moment in (10.0, 20.0, 30.0):
        text = LoggedText(prompt=f"asked at {moment}", answer="told")
        assert journal.add(row(ended_at=moment, text=text))
    journal.prune(20.0)
    assert [one.ended_at for one in rows(journal)] == [20.0, 30.0]
    data = b"".join(one.read_bytes() for one in journal.path.parent.iterdir())
    assert b"asked at 10.0" not in data
    assert b"asked at 20.0" in data


def test_the_places_of_generations_in_time(journal: Journal) -> None:
    for moment in (30.0, 10.0, 20.0):
        assert journal.add(row(ended_at=moment))
    with journal.reading() as queries:
        assert [queries.count_before(moment) for moment in (10.0, 10.5, 99.0)] == [0, 1, 3]
        assert [queries.moment_of(index) for index in (0, 1, 2, 3)] == [10.0, 20.0, 30.0, None]
        assert queries.size_bytes() == journal.path.stat().st_size


def test_models_are_told_apart_by_their_quantization(journal: Journal) -> None:
    for kind in ("Q4_0", "Q8_0", "Q4_0"):
        assert journal.add(row(quantization=kind))
    with journal.reading() as queries:
        assert queries.models() == [
            LoggedModel(id=1, name="small", quantization="Q4_0"),
            LoggedModel(id=2, name="small", quantization="Q8_0"),
        ]


@pytest.mark.parametrize("kinds", [("Q4_0", None), (None, "Q4_0"), (None, "Q4_0", None)])
def test_who_could_not_tell_the_quantization_is_no_other_model(
    journal: Journal, kinds: tuple[str | None, ...]
) -> None:
    for kind in kinds:
        assert journal.add(row(quantization=kind))
    assert journal.add(row(model="other"))
    assert [one.quantization for one in rows(journal)] == [*["Q4_0"] * len(kinds), None]
    with journal.reading() as queries:
        counts = [len(queries.answers([model])) for model in queries.models()]
    assert [count for count in counts if count] == [len(kinds), 1]


def test_pruning_many_leaves_the_indexes_as_they_were(journal: Journal) -> None:
    from nextok.backends import journal_writing

    assert journal.add(row(ended_at=1.0))
    with closing(sqlite3.connect(journal.path)) as other:
        figures = "ended_at, command, model_id, completion_tokens, finish, version"
        other.executemany(
            f"INSERT INTO generation ({figures}) VALUES (?, 'chat', 1, 7, 'eos', '1')",
            [(float(moment),) for moment in range(2, 10_100)],
        )
        other.commit()
        kept = "SELECT name, sql FROM sqlite_master ORDER BY name"
        tables = other.execute(kept).fetchall()
    assert journal_writing._MANY < 10_089
    journal.prune(10_090.0)
    with closing(sqlite3.connect(journal.path)) as other:
        assert other.execute(kept).fetchall() == tables
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert other.execute("PRAGMA freelist_count").fetchone() == (0,)
    assert [one.ended_at for one in rows(journal)] == [float(n) for n in range(10_090, 10_100)]
