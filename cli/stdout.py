"""Standard output: where the answer goes, and only the answer.

Each write is on its way when it returns. A reader that went away and a full disk are told apart.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable
from typing import Protocol

from nextok.cli.console import visible
from nextok.generation.errors import OutputError


class ReaderGone(BrokenPipeError):
    """The pipe's other end is closed. Nobody is there to be told."""


def open_terminal(clock: Callable[[], float], encoding: str) -> Stdout:
    """The terminal itself, where standard output is something else. OutputError without one."""
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise OutputError(f"there is no terminal to talk on: {error.strerror}") from error
    return Stdout(clock=clock, encoding=encoding, descriptor=descriptor)


class Below(Protocol):
    """What is kept below the text on a terminal."""

    def make_way(self, text: str) -> str:
        """What to write for this text, so that it does not run into what is below."""


class Stdout:
    """A descriptor and what became of it."""

    def __init__(self, *, clock: Callable[[], float], encoding: str, descriptor: int = 1) -> None:
        """encoding: a terminal's; a pipe gets UTF-8 in every locale."""
        self.is_terminal = os.isatty(descriptor)
        self.first_write_at: float | None = None
        self.below: Below | None = None
        self._busy = False
        self._clock = clock
        self._encoding = encoding
        self.descriptor = descriptor
        self._ended_line = True
        self._returned = ""

    def can_show(self, text: str) -> bool:
        """Whether all of these characters have bytes here."""
        try:
            text.encode(self._encoding if self.is_terminal else "utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def takes_a_line(self) -> bool:
        """Whether a short line can be written now, at once and not into the middle of another."""
        return not self._busy and bool(select.select([], [self.descriptor], [], 0)[1])

    def text(self, text: str) -> None:
        """Model text: exact UTF-8 in a pipe, unable to drive a terminal."""
        if not text:
            return
        self._ended_line = text.endswith("\n")
        if self.is_terminal:
            self._show(self.harmless(text))
        else:
            self._write(text.encode("utf-8", errors="replace"))

    def style(self, codes: str) -> None:
        """Our own escape codes, for a terminal alone."""
        if codes and self.is_terminal:
            self._write(codes.encode("ascii"))

    def drawn(self, text: str) -> None:
        """What was laid out for a terminal: foreign text in it is harmless already."""
        self._ended_line = text.endswith("\n")
        self._show(text)

    def beside(self, codes: str) -> None:
        """What is no part of the text, and leaves the cursor where it was."""
        before = self.first_write_at
        self._write(codes.encode(self._encoding, errors="replace"))
        self.first_write_at = before

    def line(self, text: str) -> None:
        """One whole line of JSON."""
        self._write(text.encode("utf-8", errors="replace") + b"\n")

    def end_line(self) -> None:
        """The final newline, unless the text ended in one."""
        if not self._ended_line:
            self.text("\n")

    def harmless(self, text: str) -> str:
        """The text as a terminal may have it.

        A carriage return waits for the next piece: before a newline it does nothing.
        """
        text, self._returned = self._returned + text, ""
        if text.endswith("\r"):
            text, self._returned = text[:-1], "\r"
        return visible(text)

    def _show(self, text: str) -> None:
        if self.below is not None:
            text = self.below.make_way(text)
        self._write(text.encode(self._encoding, errors="replace"))

    def _write(self, data: bytes) -> None:
        if self.first_write_at is None:
            self.first_write_at = self._clock()
        self._busy = True
        view = memoryview(data)
        while view:
            view = view[self._write_some(view) :]
        self._busy = False

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:  # somebody made our end non-blocking
            select.select([], [self.descriptor], [])
            return 0
        except BrokenPipeError:
            raise ReaderGone from None
        except OSError as error:
            if error.errno == errno.EIO and self.is_terminal:  # the terminal hung up
                raise ReaderGone from None
            raise OutputError(f"cannot write the answer: {error.strerror}") from error
