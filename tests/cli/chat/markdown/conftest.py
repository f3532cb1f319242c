"""Replies fed to a stream, piece by piece, and the screen that comes of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyte
import pytest
from wcwidth import wcwidth

from nextok.cli.chat.markdown_stream import MarkdownStream

ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\x1b\[K|\x1b\[[1-9][0-9]*A|\r|\n|[^\x00-\x1f\x7f-\x9f]")
DIM = {2: "+blink", 22: "-bold"}
"""The emulator knows no dim text; blinking, which nothing here does, stands for it."""


class Terminal(pyte.Screen):
    """The emulator, and what terminals do that it does not."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__(columns, rows)
        self.set_mode(pyte.modes.LNM)  # a newline returns, as it does behind a tty

    def draw(self, data: str) -> None:
        for char in data:
            if wcwidth(char) == 2 and self.cursor.x == self.columns - 1:
                self.carriage_return()
                self.linefeed()
            if wcwidth(char):
                super().draw(char)
            elif unicodedata.combining(char):  # others it takes for unprintable
                cells, last = self.buffer[self.cursor.y], self.cursor.x - 1
                joined = unicodedata.normalize("NFC", cells[last].data + char)
                cells[last] = cells[last]._replace(data=joined)


@dataclass
class Shown:
    """A window with a reply in it, and all that was written."""

    columns: int = 60
    rows: int = 40
    written: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.screen = Terminal(self.columns, self.rows)
        self._stream = pyte.Stream(self.screen)

    def write(self, text: str) -> None:
        """What the reply's stream writes to."""
        assert not ALLOWED.sub("", text), repr(text)
        self.written.append(text)
        self._stream.feed(text)

    def resize(self, columns: int) -> None:
        """Make the window wider or narrower."""
        self.columns = columns
        self.screen.resize(columns=columns)

    def stream(self, *, color: bool = True) -> MarkdownStream:
        """A stream on this window."""
        return MarkdownStream(
            self.write, width=lambda: self.columns, height=lambda: self.rows, color=color
        )

    def reply(self, text: str, cuts: Iterable[int] = (), *, color: bool = True) -> None:
        """A whole reply, in pieces that end at `cuts`."""
        stream, start = self.stream(color=color), 0
        for cut in cuts:
            stream.feed(text[start:cut])
            start = cut
        stream.feed(text[start:])
        stream.close()

    @property
    def lines(self) -> list[str]:
        """The rows with something in them and those between, without spaces at their ends."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip("\n").split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def looks(self) -> object:
        """Every cell with its colours, and where the cursor is."""
        cells = [
            [self.screen.buffer[row][column] for column in range(self.columns)]
            for row in range(self.rows)
        ]
        return cells, self.screen.cursor.x, self.screen.cursor.y

    def styled(self, **wanted: object) -> str:
        """The characters that have all of these attributes (`bold=True`, `fg="cyan"`)."""
        found = ""
        for row in range(self.rows):
            for column in range(self.columns):
                cell = self.screen.buffer[row][column]
                if all(getattr(cell, name) == value for name, value in wanted.items()):
                    found += cell.data
        return found


@pytest.fixture(scope="session", autouse=True)
def dim() -> Iterator[None]:
    """Dim text shows on the emulated screen, as blinking text."""
    with pytest.MonkeyPatch.context() as patch:
        for code, attribute in DIM.items():
            patch.setitem(pyte.graphics.TEXT, code, attribute)
        yield


@pytest.fixture(scope="session")
def window() -> type[Shown]:
    """`window(columns=…, rows=…)` is an empty window."""
    return Shown


Show = Callable[..., Shown]


@pytest.fixture(scope="session")
def show() -> Show:
    """`show(text, columns=…)` is the window after the whole reply came, one character at a time."""

    def show(text: str, *, columns: int = 60, rows: int = 40, color: bool = True) -> Shown:
        shown = Shown(columns, rows)
        shown.reply(text, range(1, len(text)), color=color)
        return shown

    return show
