"""Every generation leaves a row, however it ends, and no word of it unless that was asked for."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.journal import Journal, LoggedText, Row
from nextok.cli.arguments import parse
from nextok.cli.config_file import read_config
from nextok.cli.journaling import Begun, Notes
from nextok.cli.resolution import resolve
from nextok.cli.settings import JournalSettings
from nextok.cli.version import version
from nextok.generation.events import Prefill, Threads
from nextok.generation.finish import FinishReason

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60
QUESTION = "which-is-the-question"

CUT_WHILE_MAPPING = f"""
import os, sys
from pathlib import Path
from nextok.cli.arguments import parse
from nextok.cli.config_file import read_config
from nextok.cli.console import console_for
from nextok.cli.invocation import Invocation
from nextok.cli.remembrance import Remembrance
from nextok.cli.resolution import resolve
from nextok.cli.start import Start
from nextok.generation.finish import FinishReason
given = parse(["--log-text"], "generate").values
resolved = resolve("generate", given, {{}}, read_config(os.devnull))
one = Remembrance(Invocation(
    command="generate", words=(), resolved=resolved,
    start=Start(at=0.0), console=console_for(None, "never", {{}}), environ={{}},
))
one.asked = "{QUESTION}"
one.found(Path("large.gguf"))
os.write(2, b"the engine maps")
one.write_at_once(FinishReason.INTERRUPTED)
"""

Ask = Callable[..., Any]


@pytest.fixture
def journal(state_folder: Path) -> Journal:
    return Journal(state_folder / "journal.sqlite")


@pytest.fixture
def row(journal: Journal) -> Callable[[], Row]:
    """`row()`: the only one there is."""

    def read() -> Row:
        (found,) = rows(journal)
        return found

    return read


def rows(journal: Journal) -> list[Row]:
    """All of them, the oldest first."""
    with journal.reading() as queries:
        return queries.last(1000, queries.models())[::-1]


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """nextok with a small pipe for its answer."""
    process = subprocess.Popen(
        [NEXTOK, "-t", "1", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    if sys.platform == "linux":
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    return process


def ended(process: subprocess.Popen[bytes]) -> int:
    code = process.wait(timeout=HANG)
    process.communicate()
    return code


# What a row says.


def test_the_row_says_what_json_says(
    ask_alone: Ask, row: Callable[[], Row], scripted: Callable[..., Path]
) -> None:
    model = scripted(["one ", "two ", "three"], stem="said", meta={"general.file_type": 7})
    before = time.time()
    told = ask_alone("-m", model, "--json", "--seed", "77", QUESTION).object
    found, timings = row(), told["timings"]
    assert before - 1 <= found.ended_at <= time.time()
    assert (found.command, found.model, found.quantization) == ("generate", "said", "Q8_0")
    assert (found.threads, found.seed, found.version) == (1, 77, "0.1.0")
    assert (found.finish, found.stop, found.text) == ("eos", None, None)
    counts = (found.prompt_tokens, found.cached_tokens, found.completion_tokens)
    assert counts == (told["prompt_tokens"], 0, 3)
    for name in ("load", "ttft", "prefill", "total"):
        assert getattr(found, f"{name}_seconds") == pytest.approx(timings[f"{name}_s"], abs=1e-4)
    for name in ("p50", "p95", "p99", "max"):
        seconds = getattr(found, f"itl_{name}_seconds")
        assert seconds * 1000 == pytest.approx(timings["itl_ms"][name], abs=1e-3)
    assert found.decode_seconds == pytest.approx(2 * timings["itl_ms"]["mean"] / 1000, abs=1e-5)


@pytest.mark.parametrize(("tokens", "finish"), [(0, "length"), (1, "length")])
def test_without_a_gap_there_are_no_latencies(
    ask_alone: Ask, row: Callable[[], Row], loop_gguf: Path, tokens: int, finish: str
) -> None:
    assert ask_alone("-m", loop_gguf, "-n", str(tokens), "hi").code == 0
    found = row()
    assert (found.completion_tokens, found.finish) == (tokens, finish)
    assert (found.itl_p50_seconds, found.itl_max_seconds, found.decode_seconds) == (None,) * 3
    assert (found.ttft_seconds is None) == (tokens == 0)
    assert ask_alone("stats", "--json").object["generations"] == 1


def test_the_stop_string_is_in_the_row(
    ask_alone: Ask, row: Callable[[], Row], emoji_gguf: Path
) -> None:
    assert ask_alone("-m", emoji_gguf, "-r", "nope", "-r", "bye", "hi").out == "Hi 😀 \n".encode()
    assert (row().finish, row().stop) == ("stop", "bye")


def test_a_full_context(ask_alone: Ask, row: Callable[[], Row], loop_gguf: Path) -> None:
    assert ask_alone("-m", loop_gguf, "-c", "32", "hi").code == 3
    found = row()
    assert found.finish == "context"
    assert found.prompt_tokens is not None
    assert found.prompt_tokens + found.completion_tokens == 32


def test_a_prompt_that_does_not_fit(
    ask_alone: Ask, row: Callable[[], Row], loop_gguf: Path
) -> None:
    assert ask_alone("-m", loop_gguf, "-c", "8", "many words " * 20).code == 3
    assert (row().finish, row().completion_tokens, row().model) == ("context", 0, "loop")


def test_an_engine_that_fails(ask_alone: Ask, row: Callable[[], Row], nan_gguf: Path) -> None:
    assert ask_alone("-m", nan_gguf, "hi").code == 1
    assert (row().finish, row().completion_tokens) == ("error", 2)


def test_a_disk_that_is_full(ask_alone: Ask, row: Callable[[], Row], loop_gguf: Path) -> None:
    with open("/dev/full", "wb") as full:
        assert ask_alone("-m", loop_gguf, "-n", "5", "hi", stdout=full).code == 1
    assert (row().finish, row().completion_tokens) == ("error", 1)


# Endings from outside.


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal(row: Callable[[], Row], endless_gguf: Path, number: int) -> None:
    process = start("-m", endless_gguf, "-c", "0", "hi")
    assert process.stdout is not None
    said = b""
    while len(said) < 30:
        said += os.read(process.stdout.fileno(), 100)
    process.send_signal(number)
    rest, errors = process.communicate(timeout=HANG)
    assert (process.returncode, errors) == (-number, b"")
    found = row()
    assert found.finish == "interrupted"
    assert found.completion_tokens == len((said + rest).split())
    assert found.itl_p50_seconds is not None


def test_a_reader_that_goes_away(row: Callable[[], Row], endless_gguf: Path) -> None:
    script = f"{NEXTOK} -t 1 -m {endless_gguf} -c 0 hi | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (141, b"l", b"")
    found = row()
    assert (found.finish, found.seed is None) == ("disconnected", False)
    assert found.completion_tokens >= 1
    assert found.ttft_seconds is not None


def test_a_timeout(ask_alone: Ask, row: Callable[[], Row], endless_gguf: Path) -> None:
    answered = ask_alone("-m", endless_gguf, "-c", "0", "--timeout", "4", "--json", "hi")
    assert answered.code == 124
    assert (row().finish, row().completion_tokens) == (
        "timeout", answered.object["completion_tokens"],
    )  # fmt: skip


def test_an_interrupt_while_nobody_reads(row: Callable[[], Row], endless_gguf: Path) -> None:
    """The process is stuck in a write, so the watcher ends it."""
    process = start("-m", endless_gguf, "-c", "0", "hi")
    assert process.stdout is not None
    waiting = bytearray(4)
    while int.from_bytes(waiting, sys.byteorder) < 4000:  # of 4,096 in the pipe
        fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert ended(process) == -signal.SIGINT
    found = row()
    assert found.finish == "interrupted"
    assert found.completion_tokens >= 1300
    assert found.itl_p50_seconds is not None and found.prompt_tokens is not None


# What leaves none.


@pytest.mark.parametrize(
    "arguments", [("--temp", "hot", "hi"), ("-m", "/nowhere.gguf", "hi"), ("--version",)]
)
def test_what_never_began_leaves_nothing(
    ask_alone: Ask, journal: Journal, arguments: tuple[str, ...]
) -> None:
    ask_alone(*arguments)
    assert not journal.path.exists()


@pytest.mark.parametrize("flag", ["--no-log", "--private"])
def test_a_row_that_is_not_wanted(
    ask_alone: Ask, journal: Journal, loop_gguf: Path, flag: str
) -> None:
    assert ask_alone("-m", loop_gguf, "-n", "2", flag, "hi").code == 0
    assert ask_alone("chat", "-m", loop_gguf, "-n", "2", flag, input=b"hi\n").code == 0
    assert not journal.path.exists()


def test_a_model_of_which_nothing_is_remembered(
    ask_alone: Ask, journal: Journal, loop_gguf: Path, config_file: Callable[[str], Path]
) -> None:
    config_file('[models."loop"]\nlog = false\n')
    assert ask_alone("-m", loop_gguf, "-n", "2", "hi").code == 0
    assert not journal.path.exists()


@pytest.mark.parametrize(
    ("arguments", "environ", "config", "remembers"),
    [
        ("", {}, "", True),
        ("--no-log", {}, "", False),
        ("--log --private", {}, "", False),
        ("", {"NEXTOK_LOG": "0"}, "", False),
        ("", {"NEXTOK_NO_LOG": "1"}, "", False),
        ("", {"NEXTOK_PRIVATE": "1"}, "", False),
        ("", {}, "log = false", False),
        ("", {}, "private = true", False),
        ("--log", {}, "private = true", False),
        ("--no-private --log", {}, "private = true\nlog = false", True),
        ("--log-text", {"NEXTOK_LOG": "0"}, "", False),
    ],
)
def test_who_says_that_generations_are_remembered(
    tmp_path: Path, arguments: str, environ: dict[str, str], config: str, remembers: bool
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[defaults]\n{config}\n")
    given = parse(arguments.split(), "chat").values
    resolved = resolve("chat", given, environ, read_config(str(path)))
    assert resolved.journal.remembers is remembers


# Text.


def kept_bytes(journal: Journal) -> bytes:
    return b"".join(one.read_bytes() for one in journal.path.parent.glob("journal*"))


def test_no_word_is_kept_unasked(ask_alone: Ask, journal: Journal, emoji_gguf: Path) -> None:
    said = ("-sys", "system-words", QUESTION)
    assert ask_alone("-m", emoji_gguf, *said).code == 0
    assert ask_alone("chat", "-m", emoji_gguf, input=f"{QUESTION}\n".encode()).code == 0
    data = kept_bytes(journal)
    assert b"emoji" in data  # the model's name: this is where rows are
    for word in (QUESTION.encode(), b"system-words", b"bye", "😀".encode()):
        assert word not in data


def test_text_that_is_asked_for(ask_alone: Ask, journal: Journal, emoji_gguf: Path) -> None:
    assert ask_alone("-m", emoji_gguf, "--log-text", QUESTION).code == 0
    assert ask_alone("-m", emoji_gguf, "--log-text", "--raw", "raw").code == 0
    turns = b"first\nsecond\n"
    assert ask_alone("chat", "-m", emoji_gguf, "--log-text", input=turns).code == 0
    asked = (QUESTION, "raw", "first", "second")
    assert [one.text for one in rows(journal)] == [
        LoggedText(prompt=prompt, answer="Hi 😀 bye") for prompt in asked
    ]
    assert QUESTION.encode() in kept_bytes(journal)
    told = ask_alone("log", "--json").object["generations"]
    assert (told[0]["prompt"], told[0]["text"]) == (QUESTION, "Hi 😀 bye")


# Chats.


def test_each_turn_of_a_chat(ask_alone: Ask, journal: Journal, loop_gguf: Path) -> None:
    assert ask_alone("chat", "-m", loop_gguf, "-n", "3", input=b"one\ntwo\n").code == 0
    first, second = rows(journal)
    assert [(one.command, one.model, one.finish) for one in (first, second)] == [
        ("chat", "loop", "length")
    ] * 2
    assert (first.completion_tokens, second.completion_tokens) == (3, 3)
    assert first.load_seconds is not None and second.load_seconds is None
    assert first.cached_tokens == 0 and (second.cached_tokens or 0) > 0


def test_a_turn_that_an_interrupt_ends(row: Callable[[], Row], endless_gguf: Path) -> None:
    process = subprocess.Popen(
        [NEXTOK, "chat", "-t", "1", "-m", endless_gguf, "-c", "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"hi\n")
    process.stdin.flush()
    os.read(process.stdout.fileno(), 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG)
    assert process.returncode == -signal.SIGINT
    assert (row().command, row().finish) == ("chat", "interrupted")


# In nobody's way.


def test_a_locked_journal_has_the_row_later(
    ask_alone: Ask, journal: Journal, emoji_gguf: Path
) -> None:
    assert ask_alone("-m", emoji_gguf, "hi").code == 0
    with closing(sqlite3.connect(journal.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answered = ask_alone("-m", emoji_gguf, "hi")
    assert (answered.code, answered.out, answered.err) == (0, "Hi 😀 bye\n".encode(), "")
    assert len(rows(journal)) == 2


def test_who_asks_is_told_of_a_row_that_is_lost(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "-v", "hi", env={"XDG_STATE_HOME": "/dev/null"})
    assert answered.code == 0
    assert (
        answered.err.splitlines()[-1] == "the journal could not be written: it has no row of this"
    )


def test_a_terminal_says_that_the_journal_was_damaged(
    terminal: Callable[..., Any], journal: Journal, emoji_gguf: Path, monkeypatch: Any
) -> None:
    journal.path.parent.mkdir(parents=True, exist_ok=True)
    journal.path.write_bytes(b"no database" * 100)
    monkeypatch.setenv("XDG_STATE_HOME", str(journal.path.parent.parent))
    said = terminal("-m", str(emoji_gguf), "hi").rest()
    assert "the journal was damaged: a new one is begun, the old is journal.sqlite.bad" in said
    assert "damaged" not in terminal("-m", str(emoji_gguf), "hi").rest()
    said = terminal("stats").rest()
    assert "not counted: " in said and "a journal that was damaged" in said


def test_where_nothing_can_be_kept_the_answer_comes(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "hi", env={"XDG_STATE_HOME": "/dev/null"})
    assert (answered.code, answered.out, answered.err) == (0, "Hi 😀 bye\n".encode(), "")


def imported_around(answer: bytes, *arguments: str | Path) -> tuple[bytes, bytes]:
    """What is imported before the answer is out, and what after."""
    told = subprocess.run(
        [sys.executable, "-X", "importtime", NEXTOK, "-t", "1", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=HANG, check=True,
    ).stdout  # fmt: skip
    before, after = told.split(answer)
    return before, after


def test_the_journal_waits_for_the_last_byte(emoji_gguf: Path) -> None:
    before, after = imported_around(b" bye\n", "-m", emoji_gguf, "hi")
    assert b"sqlite3" not in before and b"nextok.backends.journal\n" not in before
    assert b"sqlite3" in after


def test_a_run_that_keeps_nothing_imports_nothing_for_it(emoji_gguf: Path) -> None:
    before, after = imported_around(b" bye\n", "-m", emoji_gguf, "--no-log", "hi")
    for module in (b"sqlite3", b"nextok.cli.journaling", b"nextok.backends.journal\n"):
        assert module not in before and module not in after


# Notes by themselves: a clock that is told what to say.


def notes(now: list[float]) -> Notes:
    return Notes(
        Begun(command="generate", model="slow", at=10.0, asked="?"),
        JournalSettings(),
        clock=lambda: now[0],
        now=lambda: 1e9,
        quantization=lambda: None,
    )


def test_a_load_that_is_cut(row: Callable[[], Row]) -> None:
    now = [12.5]
    assert notes(now).write(FinishReason.INTERRUPTED) is True
    assert row() == Row(
        ended_at=1e9, command="generate", model="slow", finish="interrupted",
        load_seconds=2.5, version="0.1.0",
    )  # fmt: skip


def test_a_process_ended_while_it_maps_a_file_leaves_a_line(journal: Journal) -> None:
    """With what is imported before the load alone: an import would wait for the mapping."""
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", CUT_WHILE_MAPPING],
        capture_output=True, check=True, timeout=HANG,
    )  # fmt: skip
    assert b"import time" not in said.stderr.partition(b"the engine maps")[2]
    assert b"import time" in said.stderr
    (found,) = rows(journal)
    assert found.load_seconds is not None
    assert found == Row(
        ended_at=found.ended_at, command="generate", model="large", finish="interrupted",
        load_seconds=found.load_seconds, version=version(),
        text=LoggedText(prompt=QUESTION, answer=""),
    )  # fmt: skip


def test_there_is_one_row_whoever_writes_it(journal: Journal) -> None:
    taken = notes([12.5])
    assert taken.write(None) is False  # it did not end
    assert taken.write(FinishReason.TIMEOUT) is True
    assert taken.write(FinishReason.INTERRUPTED) is False
    assert [one.finish for one in rows(journal)] == ["timeout"]


def test_a_prefill_that_is_cut_without_a_last_word(row: Callable[[], Row], run_facts: Any) -> None:
    now = [20.0]
    taken = notes(now)
    taken.start(run_facts, 19.0)
    taken.event(Prefill(done=3, total=90, cached=3), [])
    now[0] = 24.0
    taken.event(Prefill(done=40, total=90, cached=3), [])
    now[0] = 25.0
    assert taken.write(FinishReason.STALLED) is True
    found = row()
    assert (found.finish, found.completion_tokens, found.cached_tokens) == ("stalled", 0, 3)
    assert (found.prefill_seconds, found.total_seconds, found.ttft_seconds) == (5.0, 6.0, None)
    assert (found.load_seconds, found.threads, found.seed) == (0.5, 2, 11)


def test_the_threads_are_those_at_the_end(row: Callable[[], Row], run_facts: Any) -> None:
    taken = notes([20.0])
    taken.start(run_facts, 19.0)
    taken.event(Threads(index=3, threads=1), [])
    assert taken.write(FinishReason.STALLED) is True
    assert row().threads == 1


def test_the_facts_of_the_end_are_those_of_the_row(row: Callable[[], Row], run_facts: Any) -> None:
    taken = notes([20.0])
    taken.start(run_facts, 19.0)
    taken.finish(run_facts._replace(threads=4), Any)
    assert taken.write(FinishReason.STALLED) is True
    assert row().threads == 4


@pytest.fixture
def run_facts() -> Any:
    from nextok.cli.report import RunFacts
    from nextok.generation.sampling import Sampling

    return RunFacts(
        model="slow",
        prompt_tokens=90,
        context_size=512,
        threads=2,
        sampling=Sampling(seed=11),
        exact=True,
        load_seconds=0.5,
    )


@pytest.fixture(scope="session")
def endless_gguf(scripted: Callable[..., Path]) -> Path:
    """Says "la li la li " until a large context is full: longer than any test waits."""
    return scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)
