"""The terminal of the full line editor: where its keys come from and where its drawing goes.

Nothing is asked of the terminal: the cursor's position (CPR) is not needed, so that no answer can
get lost among the keys or come too late and land in the shell.
"""

from __future__ import annotations

import os
import select
import termios

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from nextok.cli.chat.reply_mode import QuietKeys

_OTHERWISE = Size(rows=24, columns=80)
"""Where the terminal does not know its own size."""


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

    def read(self, count: int = 1024) -> str:
        """What has come, "" if that is nothing; `closed` is set where nothing comes any more."""
        if self.closed or not select.select([self.stdin_fd], [], [], 0)[0]:
            return ""
        try:
            data = os.read(self.stdin_fd, count)
        except OSError:  # the terminal has gone: drawing on it will tell
            return ""
        self.closed = not data
        return self._stdin_decoder.decode(self._quiet.as_typed(data))


def terminal_input(descriptor: int, quiet: QuietKeys) -> Vt100Input:
    """Keys from this terminal. quiet: its modes while nobody reads."""
    stream = open(descriptor, closefd=False)  # noqa: SIM115
    keys = Vt100Input(stream)
    keys.stdin_reader = KeyReader(descriptor, stream.encoding, quiet)
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
