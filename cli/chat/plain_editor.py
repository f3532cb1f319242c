"""The line editor for a terminal that knows no escape codes: the kernel's own line editing.

Messages over several lines, leaving and signals are as in the full one; nothing can be recalled,
completed or moved through.
"""

from __future__ import annotations

import codecs
import contextlib
import locale
import os
import select
import signal
import termios
from collections.abc import Iterator

from nextok.cli.chat.editor import Left, Options, Terminated
from nextok.cli.chat.interrupts import HOW_TO_LEAVE, Interrupts, Press
from nextok.cli.chat.message import GOES_ON, Message, entered, opens_block
from nextok.cli.chat.prompt_signals import ENDING, prompt_signals
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.console import visible

_MARK, _CONTINUED = "> ", ". "
_END_OF_INPUT = "\x04"
_ITS_TRACE = "\x00"
"""What is left of Ctrl-D when the terminal changes its mode before it is read."""
_MOST_ENDS = 16
"""Ends of input in a row, with text before them: a terminal that has gone sends no other."""


class PlainEditor:
    """Reads messages on one terminal."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._encoding = locale.getpreferredencoding(False)
        self._decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        self._arrived = ""
        """Typed, and not yet part of a message."""
        self._interrupts = Interrupts(options.clock, 0.0)

    def read(self, *, default: str, quiet_until: float) -> Message:
        self._interrupts = Interrupts(self._options.clock, quiet_until)
        keyboard, quiet = self._options.keyboard, self._options.quiet
        with _signals() as signals, quiet, _line_editing(keyboard, quiet):
            text = default
            self._write(_MARK + visible(default))
            while True:
                line = self._line(signals, text)
                if line is None:
                    text = ""
                    self._write(_MARK)
                    continue
                text += line
                message = entered(text, typed=True, untouched=False)
                if message is not None:
                    return message
                if not opens_block(text, typed=True):
                    text = text.removesuffix(GOES_ON)
                text += "\n"
                self._write(_CONTINUED)

    def _line(self, signals: _Signals, before: str) -> str | None:
        """The next line, without its end; None when what was typed has been taken back."""
        ends = 0
        while True:
            line, end, rest = _split(self._arrived)
            if end == _END_OF_INPUT and not line and not before:
                self._write("\n")
                raise Left
            if end == _END_OF_INPUT:  # nothing is sent, nothing is lost
                self._arrived = line + rest
                ends += 1
                if ends > _MOST_ENDS:
                    raise Left
                continue
            if end:
                self._arrived = rest
                return line
            ready, _, _ = select.select([self._options.keyboard, signals.wakeup], [], [])
            if self._signalled(signals.taken(), empty=not (before or self._arrived)):
                self._arrived = ""
                return None
            if self._options.keyboard in ready:
                self._arrived += self._read()

    def _read(self) -> str:
        try:
            data = os.read(self._options.keyboard, 1 << 16)
        except OSError:  # the terminal has gone
            raise Left from None
        typed = self._decoder.decode(data) if data else _END_OF_INPUT
        return typed.replace(_ITS_TRACE, _END_OF_INPUT)

    def _signalled(self, numbers: list[int], *, empty: bool) -> bool:
        """Whether the prompt is to begin anew."""
        for number in numbers:
            if number in ENDING:
                self._write("\n")
                raise Terminated(number)
        if signal.SIGINT not in numbers:
            return False
        press = self._interrupts.press(empty=empty)
        if press is Press.STRAY:
            return False
        self._write("\n")
        if press is Press.LEAVE:
            raise Left
        if press is Press.EXPLAIN:
            self._options.note(HOW_TO_LEAVE)
        return True

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal has gone: reading will tell
            os.write(self._options.output, text.encode(self._encoding, "replace"))


def _split(text: str) -> tuple[str, str, str]:
    """The text up to the first end of a line or of the input, that end, and what follows."""
    for place, character in enumerate(text):
        if character in ("\n", "\r", _END_OF_INPUT):
            return text[:place], character, text[place + 1 :]
    return text, "", ""


@contextlib.contextmanager
def _line_editing(descriptor: int, quiet: QuietKeys) -> Iterator[None]:
    """The kernel edits lines and shows them, and Ctrl-C throws the line away."""
    quiet.restore()
    modes = termios.tcgetattr(descriptor)
    modes[0] |= termios.ICRNL
    modes[3] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ISIG
    modes[3] &= ~termios.NOFLSH
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    try:
        yield
    finally:
        quiet.apply()


class _Signals:
    """The numbers that have come, and a descriptor to wait for more."""

    def __init__(self, wakeup: int) -> None:
        self.wakeup = wakeup
        self._numbers: list[int] = []

    def add(self, number: int) -> None:
        self._numbers.append(number)

    def taken(self) -> list[int]:
        with contextlib.suppress(BlockingIOError):
            os.read(self.wakeup, 64)
        numbers, self._numbers = self._numbers, []
        return numbers


@contextlib.contextmanager
def _signals() -> Iterator[_Signals]:
    """Those of a prompt; Ctrl-Z is left to the kernel."""
    ours, wakeup = os.pipe()
    os.set_blocking(ours, False)
    os.set_blocking(wakeup, False)
    try:
        with prompt_signals() as signals, signals.stopping_as_usual():
            signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
            arrived = _Signals(ours)
            signals.hear(arrived.add)
            yield arrived
    finally:
        os.close(ours)
        os.close(wakeup)
