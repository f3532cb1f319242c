"""The first and the last milliseconds: signals, closed descriptors, the version, the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from .conftest import SCRIPT, Run

FULL = Path("/dev/full")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command, str(SCRIPT)], capture_output=True, text=True, timeout=60
    )


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("argv", [["--version"], ["generate", "--version"], ["-q", "--version"]])
def test_the_version_is_the_installed_one(nextok: Run, argv: list[str]) -> None:
    ran = nextok(*argv)
    assert (ran.code, ran.out, ran.err) == (0, f"nextok {metadata.version('nextok')}\n", "")


def test_an_interrupt_kills_from_the_start() -> None:
    done = python(
        "import os, signal\n"
        "from nextok.cli.entry import let_interrupts_kill\n"
        "let_interrupts_kill()\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_an_ignored_interrupt_stays_ignored() -> None:
    done = python(
        "import os, signal\n"
        "from nextok.cli.entry import let_interrupts_kill\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "let_interrupts_kill()\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "print('alive')\n"
    )
    assert (done.returncode, done.stdout) == (0, "alive\n")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_closed_descriptors_are_opened_on_nothing(closed: tuple[int, ...], tmp_path: Path) -> None:
    told = tmp_path / "told"
    done = subprocess.run(
        [sys.executable, "-c",
         "import os, sys\n"
         "from nextok.cli.entry import open_closed_streams\n"
         "closed = sorted(open_closed_streams())\n"
         "null = os.stat(os.devnull).st_rdev\n"
         "on_null = [n for n in range(3) if os.fstat(n).st_rdev == null]\n"
         "file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
         "print(closed); sys.stdout.flush(); sys.stderr.write('x'); sys.stdin.read()\n"
         "os.write(file, repr((closed, on_null, file > 2)).encode())\n",
         str(told)],
        stdin=subprocess.PIPE, capture_output=True, timeout=60,
        preexec_fn=lambda: [os.close(number) for number in closed] and None,
    )  # fmt: skip
    assert done.returncode == 0
    assert told.read_text() == repr((list(closed), list(closed), True))


@pytest.mark.parametrize("argument", ["config", "--version", "--help", "config --path"])
def test_a_closed_stdout_is_an_error(argument: str) -> None:
    done = shell(f'"$0" {argument} >&-')
    assert done.returncode == 1
    assert done.stderr.startswith("nextok: error: standard output is closed")
    assert done.stderr.count("\n") == 1


def test_a_closed_stderr_or_stdin_is_none() -> None:
    assert shell('"$0" config --path 2>&- <&-').returncode == 0
    assert shell('"$0" --nonsense 2>&-').returncode == 2


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("argument", ["config", "--version", "--help", "config --json"])
def test_a_full_disk_is_an_error(argument: str, unbuffered: str) -> None:
    done = shell(f'PYTHONUNBUFFERED={unbuffered} "$0" {argument} >/dev/full')
    assert done.returncode == 1
    assert done.stderr.startswith("nextok: error: ") and "No space left" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("argument", ["config", "--version", "--help", "generate --help"])
def test_a_reader_that_has_gone_is_silence(argument: str, unbuffered: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [str(SCRIPT), *argument.split()], stdout=write, stderr=subprocess.PIPE, timeout=60,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(write)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_an_incomplete_installation_is_one_line() -> None:
    done = python(
        "import sys\n"
        "sys.modules['nextok.cli.app'] = None\n"
        "sys.argv = ['nextok', 'hi']\n"
        "from nextok.cli.entry import main\n"
        "sys.exit(main())\n"
    )
    assert done.returncode == 1
    assert done.stderr.startswith("nextok: error: the installation is incomplete: ")
    assert "Traceback" not in done.stderr


def test_windows_is_refused() -> None:
    done = python(
        "import os, sys\n"
        "from nextok.cli import entry\n"
        "entry.os.name = 'nt'\n"
        "sys.argv = ['nextok', 'hi']\n"
        "code = entry.main()\n"
        "entry.os.name = 'posix'\n"
        "sys.exit(code)\n"
    )
    assert done.returncode == 1
    assert done.stderr == (
        "nextok: error: nextok runs on Linux and macOS: on Windows, use it inside WSL\n"
    )


def test_the_start_is_before_the_first_import() -> None:
    done = python(
        "import sys, time\n"
        "from nextok.cli import entry, app\n"
        "app.run = lambda argv, start: print(time.monotonic() - start.at) or 0\n"
        "sys.exit(entry.main())\n"
    )
    assert 0 < float(done.stdout) < 30


STARTED = "from nextok.cli.start import process_start; print(process_start())"


def test_the_process_starts_before_python_does() -> None:
    before = time.monotonic()
    started = float(python(STARTED).stdout)
    # To a hundredth, on Linux; elsewhere, what Python had computed by then.
    assert before - 0.02 <= started <= time.monotonic() - 0.005


def test_a_shell_that_waited_and_became_nextok_is_no_part_of_it() -> None:
    before = time.monotonic()
    done = shell(f"sleep 1.6; exec {sys.executable} -c '{STARTED}'")
    assert float(done.stdout) > before + 0.5


def test_an_end_at_once_is_an_end_like_any_other() -> None:
    done = python(
        "import atexit, sys\n"
        "from nextok.cli.entry import end_at_once\n"
        "atexit.register(print, 'bye')\n"
        "print('said'); print('noted', file=sys.stderr)\n"
        "end_at_once(3)\n"
        "print('never')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "said\nbye\n", "noted\n")


def test_a_thread_that_is_not_done_is_waited_for() -> None:
    done = python(
        "import sys, threading\n"
        "from nextok.cli.entry import end_at_once\n"
        "go = threading.Event()\n"
        "threading.Thread(target=lambda: (go.wait(), print('done'))).start()\n"
        "end_at_once(3)\n"
        "go.set()\n"
        "sys.exit(4)\n"
    )
    assert (done.returncode, done.stdout) == (4, "done\n")
