"""Standard error: what nextok itself has to say, one line each. The answer goes elsewhere.

Also the one place that decides about colour, and the one that makes foreign text harmless.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TextIO

from nextok.cli.settings import ColorMode

_CONTROL = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t\r"}
_CONTROL[0x7F] = "\N{SYMBOL FOR DELETE}"
_CONTROL.update(dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F)], "\ufffd"))
_CONTROL.update(dict.fromkeys(range(0x2066, 0x206A), "\ufffd"))
_LONE_RETURN = re.compile("\r(?!\n)")
_BREAKS = re.compile("\\s*[\n\r]\\s*")
_COLUMNS = 80
"""Of a terminal that does not know its own width."""
_RED, _YELLOW, _DIM, _PLAIN = "\x1b[1;31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"


def visible(text: str) -> str:
    """The text with nothing in it that a terminal would obey but newline and tab.

    C0 controls, DEL and lone carriage returns become their pictures; C1 controls and
    bidirectional overrides U+FFFD.
    """
    return _LONE_RETURN.sub("\N{SYMBOL FOR CARRIAGE RETURN}", text).translate(_CONTROL)


def one_line(text: str) -> str:
    """`visible`, and on one line."""
    return visible(_BREAKS.sub(" ", text.strip()))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at it. A closed stream is none."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False


def use_color(mode: ColorMode, *, terminal: bool, environ: Mapping[str, str]) -> bool:
    """Whether escape codes may be written to a stream; `mode` is what was asked for."""
    if mode != "auto":
        return mode == "always"
    return terminal and knows_codes(environ) and not environ.get("NO_COLOR")


def knows_codes(environ: Mapping[str, str]) -> bool:
    """Whether the terminal says what it is: another cannot be trusted with escape codes."""
    return environ.get("TERM", "") not in ("", "dumb", "unknown")


class Console:
    """Standard error and how to write to it. Nothing here ever fails: it is the last resort."""

    def __init__(
        self, *, stream: TextIO | None, terminal: bool, color: bool, quiet: bool = False
    ) -> None:
        self.stream = stream
        self.terminal = terminal
        self.color = color
        self.quiet = quiet

    def error(self, text: str) -> None:
        """What went wrong and what to do next."""
        self._line("nextok: error: ", text, _RED)

    def warning(self, text: str) -> None:
        """Something the user should know even in a log; silenced by -q."""
        if not self.quiet:
            self._line("nextok: warning: ", text, _YELLOW)

    def note(self, text: str) -> None:
        """Something a person at a terminal may like to know; silenced by -q."""
        if self.terminal and not self.quiet:
            self._write(self._styled(f"nextok: {one_line(text)}", _DIM))

    def plain(self, text: str) -> None:
        """What was asked for, as it is."""
        self._write(self._styled(one_line(text), _DIM))

    def ask(self, text: str) -> None:
        """A question, the cursor left behind it: said even with -q, for somebody must answer."""
        self._write(text, end="")

    @property
    def redraws(self) -> bool:
        """Whether a line can be replaced: a terminal that can, and nobody asked for quiet."""
        return self.terminal and self.color and not self.quiet

    @property
    def columns(self) -> int:
        """The terminal's width."""
        try:
            found = os.get_terminal_size(self.stream.fileno()).columns if self.stream else 0
        except (OSError, ValueError):
            found = 0
        return found or _COLUMNS

    def redraw(self, text: str, *, styled: bool = False) -> bool:
        """Replace the current line, unless it cannot be; whether it could.

        styled: the text has its own escape codes.
        """
        if not self.redraws:
            return False
        line = text if styled or not text else self._styled(text, _DIM)
        self._write(f"\r\x1b[2K{line}", end="")
        return True

    def _line(self, label: str, text: str, style: str) -> None:
        self._write(self._styled(label.rstrip(), style) + " " + one_line(text))

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self.color else text

    def _write(self, line: str, end: str = "\n") -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(line + end)
            self.stream.flush()
        except (OSError, ValueError):
            return


def console_for(
    stream: TextIO | None, mode: ColorMode, environ: Mapping[str, str], *, quiet: bool = False
) -> Console:
    """A console on `stream`, its colour decided."""
    terminal = is_terminal(stream)
    color = use_color(mode, terminal=terminal, environ=environ)
    return Console(stream=stream, terminal=terminal, color=color, quiet=quiet)
