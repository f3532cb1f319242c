"""`--trace FILE`: the lines of `--jsonl`, in a file, as they happen."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from nextok.cli.console import Console
from nextok.cli.invocation import Invocation
from nextok.generation.errors import OutputError, UsageError

_BEGINNING = b'{"type": '
"""Of every line of a trace."""


class Trace:
    """An open file. A full disk ends the trace with a warning, not the answer."""

    def __init__(self, path: str, console: Console, inputs: Iterable[str]) -> None:
        """inputs: files this run reads, which the trace must not overwrite.

        OutputError if the file cannot be written, UsageError if it is one of the inputs, or
        anything but an older trace.
        """
        if path == "-":
            raise UsageError("--trace needs a file: --jsonl writes these lines to standard output")
        self._console = console
        self._path = path
        self._descriptor = self._open(os.path.expanduser(path))
        self._is_fresh = False
        if any(os.path.samestat(os.fstat(self._descriptor), one) for one in _stats(inputs)):
            self.close()
            raise UsageError(f"--trace {path} is a file that this run reads: name another one")
        if not _is_replaceable(os.path.expanduser(path)):
            self.close()
            raise UsageError(
                f"--trace {path} exists and is no trace: name another file, or remove it"
            )

    def _open(self, path: str) -> int:
        # Without O_NONBLOCK, opening a pipe that nobody reads would wait for ever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise OutputError(f"cannot write the trace to {path}: {error.strerror}") from error
        os.set_blocking(descriptor, True)
        return descriptor

    def line(self, text: str) -> None:
        """One line, on disk when this returns. The first takes the place of what was there."""
        if self._descriptor < 0:
            return
        try:
            if not self._is_fresh and stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                os.ftruncate(self._descriptor, 0)
            self._is_fresh = True
            data = memoryview(text.encode("utf-8", errors="replace") + b"\n")
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self._console.warning(f"the trace in {self._path} ends here: {error.strerror}")
            self.close()

    def close(self) -> None:
        """What is not written by now is not written."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _is_replaceable(path: str) -> bool:
    """Whether it is no file, an empty one, or begins as a trace does."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return True
        with open(path, "rb") as file:
            return file.read(len(_BEGINNING)) in (b"", _BEGINNING)
    except OSError:  # nobody may read it: it may be a trace
        return True


def _stats(paths: Iterable[str]) -> Iterable[os.stat_result]:
    for path in paths:
        try:
            yield os.stat(os.path.expanduser(path))
        except (OSError, ValueError):
            continue


def opened_trace(invocation: Invocation) -> Trace | None:
    """The file of --trace, if there is to be one. OutputError when it cannot be written."""
    resolved = invocation.resolved
    if resolved.output.trace is None:
        return None
    models = (resolved.engine.model or "", resolved.speculation.draft or "")
    aliased = [resolved.config.aliases.get(model, "") for model in models]
    prompt = resolved.prompt
    named = (*prompt.file, prompt.messages or "", prompt.chat_template or "", resolved.config.path)
    inputs = filter(None, (*models, *aliased, *named))
    return Trace(resolved.output.trace, invocation.console, inputs)
