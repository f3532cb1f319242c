"""What the chat itself says on the terminal: lines, dim or plain, between the messages.

Lines of its own are broken between words, and rows of two columns stay two columns, in whatever
width there is.
"""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Sequence

from nextok.cli.chat.markdown_width import columns, fitting, units
from nextok.cli.console import one_line, visible
from nextok.cli.stdout import Stdout

DIM, BOLD, PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"
_INDENT, _GAP = 2, 2
_LEAST_WIDTH = 24
"""Columns for the right one of two; with fewer it goes below the left one."""
_OTHERWISE = os.terminal_size((80, 24))
"""For a terminal that does not know its own size."""


class Screen:
    """A terminal, whatever standard output is."""

    def __init__(self, terminal: Stdout, *, color: bool, draws: bool, quiet: bool) -> None:
        """draws: whether the terminal obeys escape codes at all."""
        self.color = color
        self.draws = draws
        self._terminal = terminal
        self._quiet = quiet

    @property
    def size(self) -> os.terminal_size:
        """Columns and rows, as they are now."""
        try:
            found = os.get_terminal_size(self._terminal.descriptor)
        except OSError:
            return _OTHERWISE
        return found if found.columns and found.lines else _OTHERWISE

    def say(self, text: str, *, dim: bool = False) -> None:
        """What was asked for, any number of lines, as they are."""
        self._write(self.dim(visible(text)) if dim else visible(text))

    def remark(self, text: str, *, dim: bool = False) -> None:
        """What was asked for, on one line, which is broken between words."""
        broken = "\n".join(self._broken(one_line(text)))
        self._write(self.dim(broken) if dim else broken)

    def note(self, text: str) -> None:
        """One dim remark; silenced by -q."""
        if not self._quiet:
            self._write(self.dim("\n".join(self._broken(one_line(text)))))

    def aside(self, text: str) -> None:
        """A note that stands alone: what follows is the model's."""
        self.note(text)
        self.blank()

    def trouble(self, text: str) -> None:
        """One remark about what did not work."""
        self._labelled("error:", text)

    def warning(self, text: str) -> None:
        """One remark about what is not as it should be; silenced by -q."""
        if not self._quiet:
            self._labelled("warning:", text)

    def _labelled(self, label: str, text: str) -> None:
        broken = "\n".join(self._broken(f"{label} {one_line(text)}"))
        self._write(f"{BOLD}{label}{PLAIN}{broken[len(label) :]}" if self.color else broken)

    def rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Two columns, the second dim; it is broken between words where there is little room."""
        shown = [(visible(left), one_line(right)) for left, right in rows]
        width = max((columns(left) for left, _ in shown), default=0)
        room = self.size.columns - _INDENT - width - _GAP
        for left, right in shown:
            if room < _LEAST_WIDTH:
                below = self._broken(right, indent=2 * _INDENT)
                self._write("\n".join([" " * _INDENT + left, *map(self.dim, below)]))
                continue
            first, *rest = _wrapped(right, room) or [""]
            head = " " * _INDENT + left + " " * (width - columns(left) + _GAP)
            self._write((head + self.dim(first)).rstrip())
            for line in rest:
                self._write(" " * (_INDENT + width + _GAP) + self.dim(line))

    def blank(self) -> None:
        """An empty line; silenced by -q."""
        if not self._quiet:
            self._write("")

    def dim(self, text: str) -> str:
        return f"{DIM}{text}{PLAIN}" if self.color and text else text

    def ask_terminal(self, codes: str) -> None:
        """Escape codes that the user has asked for."""
        self._terminal.style(codes)

    def draw(self, text: str) -> None:
        """What is laid out for this terminal already, as it is."""
        self._terminal.drawn(text)

    def reset(self) -> None:
        """No colour any more, whatever was being written."""
        if self.color:
            self._terminal.style(PLAIN)

    def let_go(self) -> None:
        """The same from any thread, if the terminal takes anything now: it never waits."""
        terminal = self._terminal.descriptor
        with contextlib.suppress(OSError):  # the terminal has gone
            if self.color and select.select([], [terminal], [], 0)[1]:
                os.write(terminal, PLAIN.encode())

    def _broken(self, line: str, indent: int = 0) -> list[str]:
        found = _wrapped(line, self.size.columns - indent)
        return [" " * indent + one for one in found]

    def _write(self, text: str) -> None:
        self._terminal.drawn(text + "\n")


def _wrapped(line: str, width: int) -> list[str]:
    """The line in lines of at most so many columns, which end between words where they can."""
    lines, current, width = [], "", max(2, width)
    for word in _words(line):
        if columns(current + word) <= width:
            current += word
            continue
        if current.strip():
            lines.append(current.rstrip())
        current = word.lstrip(" ")
        while columns(current) > width:
            head = fitting(current, width)
            lines.append(head)
            current = current[len(head) :]
    return [*lines, current] if current else lines


def _words(line: str) -> list[str]:
    """Runs that must stay together, and runs of spaces."""
    found: list[str] = []
    for run, may_be_first in units(line, " "):
        if may_be_first or not found:
            found.append(run)
        else:
            found[-1] += run
    return found
