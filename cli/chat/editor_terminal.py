"""The terminal of the full line editor: where its keys come from and where its drawing goes.

Nothing is asked of the terminal: the cursor's position (CPR) is not needed, so that no answer can
get lost among the keys or come too late and land in the shell.
"""

from __future__ import annotations

import os

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

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


def terminal_input(descriptor: int) -> Vt100Input:
    """Keys from this terminal."""
    keys = Vt100Input(open(descriptor, closefd=False))  # noqa: SIM115
    clear_typeahead(keys)  # it is kept by descriptor, which may have been another file's before
    return keys


def _size(descriptor: int) -> Size:
    try:
        columns, rows = os.get_terminal_size(descriptor)
    except OSError:
        return _OTHERWISE
    return Size(rows=rows or _OTHERWISE.rows, columns=columns or _OTHERWISE.columns)
