"""The keyboard of a chat, from the very first moment: its modes, and the signals it can send.

Imports next to nothing: all else of a chat comes later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from nextok.cli.chat.between import take_signals_at_start
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.ending import leave
from nextok.generation.finish import FinishReason


@contextlib.contextmanager
def own_keyboard(descriptor: int) -> Iterator[QuietKeys]:
    """A terminal's keys wait, unseen and as they are typed, for whoever asks for a line.

    No signal ends the process with the terminal in these modes. Handlers stay behind: they are for
    a process that has nothing else to do.
    """
    keyboard = QuietKeys(descriptor)

    def end(signal_number: int) -> NoReturn:
        keyboard.restore()
        leave(FinishReason.INTERRUPTED, signal_number)

    take_signals_at_start(keyboard, end)  # first: there is no moment in between
    with keyboard:
        yield keyboard
