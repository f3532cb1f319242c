"""`--trace FILE`: the lines of `--jsonl`, in a file, as they happen."""

from __future__ import annotations

from pathlib import Path

from nextok.cli.console import Console
from nextok.generation.errors import OutputError


class Trace:
    """An open file. A full disk ends the trace with a warning, not the answer."""

    def __init__(self, path: str, console: Console) -> None:
        """OutputError if the file cannot be written."""
        self._console = console
        self._path = path
        try:
            self._file = Path(path).expanduser().open("w", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write the trace to {path}: {error.strerror}") from error

    def line(self, text: str) -> None:
        """One line, on disk when this returns."""
        if self._file.closed:
            return
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except OSError as error:
            self._console.warning(f"the trace in {self._path} ends here: {error.strerror}")
            self.close()

    def close(self) -> None:
        """Whatever is not written by now is lost, silently."""
        try:
            self._file.close()
        except OSError:
            return
