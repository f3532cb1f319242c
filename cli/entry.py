"""The console script: the first and the last milliseconds of every run.

Imports nothing of ours before the process is safe: Ctrl-C kills it cleanly, and descriptors 0 to
2 are open, so that no file opened later becomes standard output.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys


def main() -> int:
    """Run nextok. Returns the exit code, unless the process is to die by a signal."""
    let_interrupts_kill()
    # A start makes few cycles and much that stays: looking for garbage takes a tenth of it.
    gc.set_threshold(50_000)
    closed = open_closed_streams()
    if os.name == "nt":
        return _say("nextok runs on Linux and macOS: on Windows, use it inside WSL", 1)
    try:
        if sys.argv[1:] == ["--version"] and 1 not in closed:
            return leave(_print_version())
        from nextok.cli.start import Start, process_start

        started_at = process_start()
        from nextok.cli.app import run

        start = Start(
            at=started_at,
            stdin_closed=0 in closed,
            stdout_closed=1 in closed,
            stderr_closed=2 in closed,
        )
        code = run(sys.argv[1:], start)
    except ImportError as error:
        code = _say(f"the installation is incomplete: {error}: install nextok again", 1)
    code = leave(code)
    if "nextok.backends.llama_library" in sys.modules:
        end_at_once(code)
    return code


def let_interrupts_kill() -> None:
    """Until somebody asks for more, Ctrl-C ends the process without a word.

    A SIGINT that is ignored (nohup, a shell's background job) stays ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A mask that blocks them is inherited too, by accident: nobody could end us then.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def open_closed_streams() -> frozenset[int]:
    """Open /dev/null on whichever of descriptors 0 to 2 is closed; which ones were."""
    closed = frozenset(number for number in range(3) if not _is_open(number))
    for _ in closed:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, each time
    for number in closed:
        os.set_inheritable(number, True)
    if 0 in closed:
        sys.stdin = open(0)  # noqa: SIM115 (it lives as long as the process)
    if 1 in closed:
        sys.stdout = open(1, "w")  # noqa: SIM115
    if 2 in closed:
        sys.stderr = open(2, "w")  # noqa: SIM115
    return closed


def leave(code: int) -> int:
    """The last act: everything is written, and a code above 128 is death by that signal."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        code = _unwritten(error)
    if code > 128:
        from nextok.cli.ending import die_by

        die_by(code - 128)
    return code


def end_at_once(code: int) -> None:
    """End the process, all told and written: the kernel tidies up after an engine sooner than
    Python and the engine do, which takes a tenth of a second and more.

    Returns where a thread is not done yet, which Python would wait for.
    """
    import atexit
    import threading

    if any(not one.daemon for one in threading.enumerate() if one is not threading.main_thread()):
        return
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _unwritten(error: Exception) -> int:
    """The code for output that could not be written; nor is it tried again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    return _say(f"cannot write to standard output: {_why(error)}", 1)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _print_version() -> int:
    from nextok.cli.version import version

    try:
        print(f"nextok {version()}")
    except OSError as error:
        return _unwritten(error)
    return 0


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _say(message: str, code: int) -> int:
    print(f"nextok: error: {message}", file=sys.stderr)
    return code
