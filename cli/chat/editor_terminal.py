"""The terminal of the full line editor: where its keys come from and where its drawing goes.

Nothing is asked of the terminal: the cursor's position (CPR) is not needed, so that no answer can
get lost among the keys or come too late and land in the shell.
"""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Callable
from typing import TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from nextok.cli.chat.reply_mode import QuietKeys

_OTHERWISE = Size(rows=24, columns=80)
"""Where the terminal does not know its own size."""
_PASTE_ENDS = "\x1b[201~"
_READS = 64
"""Of a paste before something else has its turn."""


class TerminalOutput(Vt100_Output):
    """Shows and hides the cursor, but leaves its blinking alone."""

    def show_cursor(self) -> None:
        if self._cursor_visible is not True:
            self._cursor_visible = True
            self.write_raw("\x1b[?25h")


def terminal_output(descriptor: int) -> TerminalOutput:
    """Drawing on this terminal, in its own sixteen colours and without a bell."""
    return TerminalOutput(
        open(descriptor, "w", closefd=False),
        lambda: _size(descriptor),
        default_color_depth=ColorDepth.DEPTH_4_BIT,
        enable_bell=False,
        enable_cpr=False,
    )


class KeyReader(PosixStdinReader):
    """Reads keys, also those that were typed before the terminal gave them as they are."""

    def __init__(self, descriptor: int, encoding: str, quiet: QuietKeys) -> None:
        super().__init__(descriptor, encoding=encoding)
        self._quiet = quiet

    def read(self, count: int = 4096) -> str:
        """What has come, "" if that is nothing; `closed` is set where nothing comes any more."""
        if self.closed or not select.select([self.stdin_fd], [], [], 0)[0]:
            return ""
        try:
            data = os.read(self.stdin_fd, count)
        except OSError:  # the terminal has gone: drawing on it will tell
            return ""
        self.closed = not data
        return self._stdin_decoder.decode(self._quiet.as_typed(data))


class KeyParser(Vt100Parser):
    """Makes keys of text, and one key of a whole paste in a time that grows only with its length:
    it looks for the end where the end can be, not from the beginning at each piece."""

    def __init__(self, take: Callable[[KeyPress], None]) -> None:
        super().__init__(take)
        self._pieces: list[str] = []
        """Of the paste that is coming."""
        self._last = ""
        """Its last characters: the end may begin there."""

    @property
    def is_in_paste(self) -> bool:
        """Whether its end has not come yet."""
        return self._in_bracketed_paste

    def feed(self, data: str) -> None:
        if self._in_bracketed_paste:
            self._pieces.append(data)
            new = self._last + data
            self._last = new[1 - len(_PASTE_ENDS) :]
            if _PASTE_ENDS not in new:
                return
            data = "".join(self._pieces)
            self._pieces, self._last = [], ""
        super().feed(data)


class TerminalInput(Vt100Input):
    """Keys from a terminal."""

    def __init__(self, stream: TextIO, quiet: QuietKeys) -> None:
        super().__init__(stream)
        self.stdin_reader = KeyReader(stream.fileno(), stream.encoding, quiet)
        self.vt100_parser = self._parser = KeyParser(lambda key: self._buffer.append(key))

    def read_keys(self) -> list[KeyPress]:
        """What has come; of a paste a good piece at once, for nothing is drawn before it ends."""
        for _ in range(_READS):
            text = self.stdin_reader.read()
            self._parser.feed(text)
            if not (text and self._parser.is_in_paste):
                break
        keys, self._buffer = self._buffer, []
        return keys


def terminal_input(descriptor: int, quiet: QuietKeys) -> Vt100Input:
    """Keys from this terminal. quiet: its modes while nobody reads."""
    keys = TerminalInput(open(descriptor, closefd=False), quiet)  # noqa: SIM115
    clear_typeahead(keys)  # it is kept by descriptor, which may have been another file's before
    return keys


def is_raw(descriptor: int) -> bool:
    """Whether every key comes as it is, none of them a signal; so does what is no terminal."""
    try:
        local = termios.tcgetattr(descriptor)[3]
    except termios.error:
        return True
    return not local & (termios.ICANON | termios.ISIG)


def _size(descriptor: int) -> Size:
    try:
        columns, rows = os.get_terminal_size(descriptor)
    except OSError:
        return _OTHERWISE
    return Size(rows=rows or _OTHERWISE.rows, columns=columns or _OTHERWISE.columns)
