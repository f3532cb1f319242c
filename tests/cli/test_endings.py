"""What ends a run from outside: signals, the reader, the clock, missing descriptors.

No test measures time. A wait has a limit only so that a hang fails instead of lasting for ever.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60
ENDLESS = ("-c", "0", "hi")
PIPE_BYTES = 4096 if sys.platform == "linux" else 1 << 14

Process = subprocess.Popen[bytes]


Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(*arguments, **options)`: nextok with pipes for its streams; gone after the test."""
    running: list[Process] = []

    def run(*arguments: str, **options: object) -> Process:
        process = subprocess.Popen(
            [NEXTOK, "-t", "1", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,  # type: ignore[call-overload]
        )
        running.append(process)
        assert process.stdout is not None
        if sys.platform == "linux":  # a small pipe is full sooner
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def finish(process: Process) -> tuple[int, str, str]:
    """Exit code (negative: the signal), standard output, standard error."""
    out, err = process.communicate(timeout=HANG)
    return process.returncode, out.decode(), err.decode()


def interrupted(process: Process) -> tuple[int, str, str]:
    """What comes of a SIGINT. Before our first line runs, Python may lose it in a callback of its
    own, which it says; then a second one must do.
    """
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=HANG / 6)
    except subprocess.TimeoutExpired as late:
        if b"Exception ignored in" in (late.stderr or b""):
            process.send_signal(signal.SIGINT)
    return finish(process)


def wait_until_full(process: Process) -> None:
    """Until its pipe takes next to nothing more."""
    assert process.stdout is not None
    waiting = bytearray(4)
    for _ in range(HANG * 100):
        fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        if int.from_bytes(waiting, sys.byteorder) > PIPE_BYTES * 0.95:
            return
        time.sleep(0.01)
    pytest.fail("the pipe does not fill")


def wait_for_text(process: Process) -> bytes:
    assert process.stdout is not None
    return os.read(process.stdout.fileno(), 1)


@pytest.fixture(scope="session")
def loop_gguf(scripted: Callable[..., Path]) -> Path:
    """Says "la li la li " until a large context is full: longer than any test waits."""
    return scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)


@pytest.fixture(scope="module")
def long_prompt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 6,000 tokens: tens of seconds of prefill for the starter."""
    path = tmp_path_factory.mktemp("prompt") / "long.txt"
    path.write_text("The quick brown fox jumps over the lazy dog and runs away. " * 450)
    return path


@pytest.fixture
def prefilling(starter_gguf: Path, long_prompt: Path, tmp_path: Path) -> Iterator[list[str]]:
    """Arguments for a run that prefills for long, and writes a trace that says when it does."""
    trace = tmp_path / "trace.jsonl"
    batch = ("-b", "128", "-ub", "128")
    yield ["-m", str(starter_gguf), *batch, "-f", str(long_prompt), "--trace", str(trace)]


def wait_for_prefill(arguments: list[str]) -> None:
    """Until the first chunk of the prompt has been read."""
    trace = Path(arguments[arguments.index("--trace") + 1])
    for _ in range(HANG * 100):
        if trace.exists() and trace.read_text().count('"prefill"') > 1:
            return
        time.sleep(0.01)
    pytest.fail("no prefill began")


def is_la_li(text: str) -> bool:
    """The loop model's words, cut anywhere but inside a word, ended by one newline."""
    words = text.removesuffix("\n").removesuffix(" ").split(" ")
    return text.endswith("\n") and words == [
        "la" if i % 2 == 0 else "li" for i in range(len(words))
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_decode_keeps_what_was_said(start: Start, loop_gguf: Path, number: int) -> None:
    process = start("-m", str(loop_gguf), *ENDLESS)
    first = wait_for_text(process)
    process.send_signal(number)
    code, out, err = finish(process)
    assert code == -number
    assert is_la_li(first.decode() + out)
    assert err == ""


def test_a_signal_in_decode_still_gives_the_json(
    start: Start, loop_gguf: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "t"
    process = start("-m", str(loop_gguf), "--json", "--trace", str(trace), *ENDLESS)
    while not trace.exists() or '"token"' not in trace.read_text():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    code, out, err = finish(process)
    report = json.loads(out)
    assert code == -signal.SIGTERM
    assert report["finish_reason"] == "interrupted"
    assert is_la_li(report["text"] + "\n")
    assert report["completion_tokens"] > 0
    assert json.loads(trace.read_text().splitlines()[-1])["type"] == "end"
    assert err == ""


def test_a_signal_in_prefill_leaves_no_byte(start: Start, prefilling: list[str]) -> None:
    process = start(*prefilling)
    wait_for_prefill(prefilling)
    process.send_signal(signal.SIGINT)
    assert finish(process) == (-signal.SIGINT, "", "")


def test_a_signal_in_prefill_gives_the_json(start: Start, prefilling: list[str]) -> None:
    process = start("--json", *prefilling)
    wait_for_prefill(prefilling)
    process.send_signal(signal.SIGINT)
    code, out, _ = finish(process)
    report = json.loads(out)
    assert code == -signal.SIGINT
    assert (report["finish_reason"], report["completion_tokens"]) == ("interrupted", 0)
    assert report["timings"]["ttft_s"] is None


def test_two_interrupts_at_once(start: Start, loop_gguf: Path) -> None:
    process = start("-m", str(loop_gguf), *ENDLESS)
    wait_for_text(process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert (code, err) == (-signal.SIGINT, "")


def test_an_ignored_interrupt_stays_ignored(start: Start, loop_gguf: Path) -> None:
    process = start(
        "-m",
        str(loop_gguf),
        "-n",
        "1500",
        "hi",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    wait_for_text(process)
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, err) == (0, "")
    assert len(out.split()) == 1500


@pytest.mark.slow
def test_an_interrupt_at_any_moment_is_clean(start: Start, loop_gguf: Path) -> None:
    """Every 5 ms of the first second. Before our first line runs, Python may still speak."""
    for milliseconds in range(0, 1000, 5):
        process = start("-m", str(loop_gguf), *ENDLESS)
        time.sleep(milliseconds / 1000)
        code, out, err = interrupted(process)
        if err and not any(folder in err for folder in ("/cli/app", "/generation/", "/backends/")):
            assert "KeyboardInterrupt" in err
            continue
        assert (code, err) == (-signal.SIGINT, ""), milliseconds
        assert out == "" or is_la_li(out)


def test_a_loop_of_the_shell_stops_too(loop_gguf: Path) -> None:
    script = f"for i in 1 2 3; do echo run $i; {NEXTOK} -m {loop_gguf} -t 1 -c 0 hi; done"
    process = subprocess.Popen(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    while b"la" not in os.read(process.stdout.fileno(), 4096):
        pass
    os.killpg(process.pid, signal.SIGINT)
    _, out, _ = finish(process)
    assert "run 2" not in out


def test_the_reader_gone_in_decode(start: Start, loop_gguf: Path) -> None:
    process = start("-m", str(loop_gguf), *ENDLESS)
    wait_for_text(process)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=HANG) == -signal.SIGPIPE
    assert process.stderr is not None
    assert process.stderr.read() == b""


@pytest.mark.parametrize("form", [(), ("--json",), ("--jsonl",)])
def test_the_reader_gone_in_prefill(
    start: Start, prefilling: list[str], form: tuple[str, ...]
) -> None:
    process = start(*form, *prefilling)
    wait_for_prefill(prefilling)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=HANG) == -signal.SIGPIPE
    assert process.stderr is not None
    assert process.stderr.read() == b""


def test_head_takes_one_line_and_the_run_ends(loop_gguf: Path) -> None:
    script = (
        f"{NEXTOK} -m {loop_gguf} -t 1 {' '.join(ENDLESS)} | head -c 5; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG, check=True)
    assert done.stdout == b"la li141\n"
    assert done.stderr == b""


def test_a_reader_that_never_reads_cannot_hold_up_an_interrupt(
    start: Start, loop_gguf: Path
) -> None:
    process = start("-m", str(loop_gguf), *ENDLESS)
    wait_until_full(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=HANG) == -signal.SIGINT
    code, out, err = finish(process)
    assert out.startswith("la li ")
    assert err == ""


def test_a_reader_that_never_reads_cannot_hold_up_a_timeout(start: Start, loop_gguf: Path) -> None:
    process = start("-m", str(loop_gguf), "--timeout", "5", *ENDLESS)
    assert process.wait(timeout=HANG) == 124
    assert finish(process)[1].startswith("la li ")


def test_a_timeout_in_decode(start: Start, loop_gguf: Path) -> None:
    code, out, err = finish(start("-m", str(loop_gguf), "--timeout", "5s", *ENDLESS))
    assert (code, err) == (124, "")
    assert is_la_li(out)


def test_a_timeout_in_prefill(start: Start, prefilling: list[str]) -> None:
    code, out, err = finish(start("--json", "--timeout", "6", *prefilling))
    assert (code, err) == (124, "")
    assert json.loads(out)["finish_reason"] == "timeout"


@pytest.mark.slow
def test_a_first_token_timeout(start: Start, prefilling: list[str], loop_gguf: Path) -> None:
    code, out, _ = finish(start("--first-token-timeout", "3", *prefilling))
    assert (code, out) == (124, "")
    many = ("-n", "2000", "hi")
    code, _, _ = finish(start("-m", str(loop_gguf), "--first-token-timeout", "20", *many))
    assert code == 0


def test_a_stalled_engine(start: Start, prefilling: list[str]) -> None:
    """One batch of thousands of tokens gives no sign of life for a long time."""
    batch = ("-b", "8192", "--stall-timeout", "1")
    code, out, err = finish(start(*prefilling, "--json", *batch))
    assert (code, err) == (124, "")
    assert json.loads(out)["finish_reason"] == "stalled"


def test_a_slow_reader_is_no_stall(start: Start, loop_gguf: Path) -> None:
    process = start("-m", str(loop_gguf), "-n", "1600", "--stall-timeout", "1", "hi")
    wait_until_full(process)
    time.sleep(2)  # the engine is idle, not stalled
    code, out, _ = finish(process)
    assert code == 0
    assert len(out.split()) == 1600


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_closed_descriptor_is_no_file_of_ours(emoji_gguf: Path, closed: str) -> None:
    script = f"{NEXTOK} -m {emoji_gguf} -t 1 hi {closed}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG, check=False)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, "Hi 😀 bye\n", b"")


def test_a_closed_standard_output_is_said(emoji_gguf: Path) -> None:
    before = emoji_gguf.read_bytes()
    script = f"{NEXTOK} -m {emoji_gguf} -t 1 hi >&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().count("\n") == 1
    assert b"standard output is closed" in done.stderr
    assert emoji_gguf.read_bytes() == before


def test_nothing_is_said_at_exit(emoji_gguf: Path) -> None:
    """Destructors that run too late are a common complaint of users of the bindings."""
    python = [sys.executable, "-W", "error", "-X", "dev", NEXTOK]
    for _ in range(5):
        done = subprocess.run(
            [*python, "-m", str(emoji_gguf), "-t", "1", "hi"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HANG,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")


SECOND = """
import signal, sys, time
from nextok.cli import watcher
from nextok.cli.deadlines import Deadlines
from nextok.generation.abort import Abort
watcher.GRACE = watcher.EARLY_GRACE = 600.0  # the first signal alone ends nothing
watching = watcher.Watcher(Abort(), Deadlines(), started=0.0, clock=time.monotonic,
                           last_words=lambda reason: None)
watching.start()
print("ready", flush=True)
while not watching.signal_number: time.sleep(0.01)
print("once", flush=True)
time.sleep(600)
"""


def test_a_second_interrupt_leaves_at_once() -> None:
    process = subprocess.Popen([sys.executable, "-c", SECOND], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"once\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=HANG) == -signal.SIGINT
    process.stdout.close()


MANY = """
import os, random, signal, threading, time
from nextok.cli import watcher
from nextok.cli.deadlines import Deadlines
from nextok.generation.abort import Abort
watcher.GRACE = watcher.EARLY_GRACE = 600.0  # a signal by itself ends nothing
dice, seen = random.Random(1), 0
afterwards = []
signal.signal(signal.SIGTERM, lambda number, frame: afterwards.append(number))
for turn in range(100):
    watching = watcher.Watcher(Abort(), Deadlines(), started=0.0, clock=time.monotonic,
                               last_words=lambda reason: None)
    watching.start()
    delay = dice.random() / 2000
    sender = threading.Thread(
        target=lambda: (time.sleep(delay), os.kill(os.getpid(), signal.SIGTERM))
    )
    sender.start()
    time.sleep(dice.random() / 2000)
    watching.stop()
    sender.join()
    seen += watching.signal_number == signal.SIGTERM
print(seen + len(afterwards))
"""


def test_no_signal_is_lost_when_the_watch_ends() -> None:
    """Either the watcher has seen it, or whoever took it before does."""
    done = subprocess.run(
        [sys.executable, "-c", MANY], capture_output=True, timeout=HANG, check=True
    )
    assert done.stdout == b"100\n"


@pytest.mark.parametrize("arguments", [("-m", "/nowhere.gguf", "hi"), ("--temp", "x", "hi")])
def test_nothing_but_the_error_is_said_at_a_failure(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", NEXTOK, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG,
        check=False,
    )
    assert done.stderr.decode().count("\n") == 1
    assert done.stderr.startswith(b"nextok: error: ")


def test_nothing_is_said_at_an_interrupt(loop_gguf: Path) -> None:
    python = [sys.executable, "-W", "error", "-X", "dev", NEXTOK]
    process = subprocess.Popen(
        [*python, "-t", "1", "-m", str(loop_gguf), *ENDLESS],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for_text(process)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert (code, err) == (-signal.SIGINT, "")
