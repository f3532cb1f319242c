"""Real readers of the real command, who go away in the middle of an answer.

Runs `nextok` as its own process with a pipe for its output, through the watcher that every run
has. What it made is counted in its trace, which has each token on disk once it is made.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.child import module_command
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError

_LOOK_MS = 50
"""Between two looks at the abort flag."""
_TOKEN = b'"type": "token"'


@dataclass(frozen=True, kw_only=True)
class Errand:
    """One generation to run."""

    model: str
    """As -m takes it."""
    prompt: str
    seed: int
    max_tokens: int
    threads: int


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What came of one generation and its reader."""

    tokens_read: int
    tokens_made: int
    tokens_after_close: int | None
    """Made after the moment just before the close; None: the reader stayed to the end."""
    exit_code: int
    seconds_to_exit: float | None
    """From the close until the process was gone."""
    cpu_seconds: float
    """Of the whole process."""


def visit(
    errand: Errand, leave_after: int | None, *, abort: Abort, clock: Callable[[], float]
) -> Visit:
    """Run it; the reader closes the pipe once so many tokens are read. None: it reads them all.

    Raises Aborted, and EngineError when the process fails.
    """
    with tempfile.TemporaryDirectory(prefix="nextok-lab-") as folder:
        trace = Path(folder) / "trace.jsonl"
        with _started(errand, trace) as child:
            reading = _Reading(child, abort)
            reading.until(leave_after)
            # A token may be read before it is traced: it is on disk a moment later.
            known_at_close = max(reading.tokens, _tokens_in(trace))
            reading.close()
            closed = clock()
            code, cpu_seconds = reading.wait()
            gone = clock()
            abort.check()
            if leave_after is None and code != 0:
                raise EngineError(f"nextok ended with exit code {code}: {reading.said()}")
        made = _tokens_in(trace)
    return Visit(
        tokens_read=reading.tokens,
        tokens_made=made,
        tokens_after_close=None if leave_after is None else max(0, made - known_at_close),
        exit_code=code,
        seconds_to_exit=None if leave_after is None else gone - closed,
        cpu_seconds=cpu_seconds,
    )


@contextmanager
def _started(errand: Errand, trace: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process; it is gone at the end, whatever happens."""
    child = subprocess.Popen(
        _command(errand, trace),
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,  # Ctrl-C is ours: it would be taken for an ending of its own
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()


def _command(errand: Errand, trace: Path) -> Sequence[str]:
    """Not by the name of the script: another one may be in the path."""
    return (
        *module_command("nextok.cli"), "generate", "--model", errand.model,
        "--threads", str(errand.threads), "--seed", str(errand.seed),
        "--max-tokens", str(errand.max_tokens), "--trace", str(trace), "--jsonl",
        "--private", "--no-stdin", "--quiet", f"--prompt={errand.prompt}",
    )  # fmt: skip


def _environment() -> Mapping[str, str]:
    """Without the user's settings, which may ask for another kind of output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEXTOK_")}
    return {**kept, "NEXTOK_CONFIG": os.devnull}


class _Reading:
    """The other end of the pipe."""

    def __init__(self, child: subprocess.Popen[bytes], abort: Abort) -> None:
        self._child, self._abort = child, abort
        self._rest = b""
        self.tokens = 0

    def until(self, tokens: int | None) -> None:
        """Read so many tokens, or all there are. Raises Aborted."""
        pipe = self._child.stdout
        if pipe is None:
            return
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while tokens is None or self.tokens < tokens:
            self._abort.check()
            if not poll.poll(_LOOK_MS):
                continue
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                return
            self._take(data)

    def close(self) -> None:
        """Go away."""
        if self._child.stdout is not None:
            self._child.stdout.close()

    def wait(self) -> tuple[int, float]:
        """Its exit code and the CPU seconds it took."""
        _, status, usage = os.wait4(self._child.pid, 0)
        self._child.returncode = os.waitstatus_to_exitcode(status)
        return self._child.returncode, usage.ru_utime + usage.ru_stime

    def said(self) -> str:
        """The last line it said to standard error."""
        pipe = self._child.stderr
        text = b"" if pipe is None or pipe.closed else pipe.read()
        lines = text.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.tokens += sum(json.loads(line).get("type") == "token" for line in lines)


def _tokens_in(trace: Path) -> int:
    try:
        return trace.read_bytes().count(_TOKEN)
    except OSError:  # it ended before it had anything to trace
        return 0
