"""Puts a text on the clipboard: by the desktop's own program, else by asking the terminal."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from nextok.generation.errors import UsageError

if TYPE_CHECKING:
    from nextok.cli.chat.screen import Screen

_PROGRAMS = (
    ("WAYLAND_DISPLAY", ["wl-copy"]),
    ("DISPLAY", ["xclip", "-selection", "clipboard"]),
    ("DISPLAY", ["xsel", "--clipboard", "--input"]),
    ("", ["pbcopy"]),
)
_PATIENCE = 5.0


def put_on_clipboard(text: str, screen: Screen) -> str:
    """How it was done, in words. A terminal that is asked does not say whether it obeyed.

    UsageError where there is neither.
    """
    for variable, command in _PROGRAMS:
        if (variable and not os.environ.get(variable)) or not shutil.which(command[0]):
            continue
        try:
            subprocess.run(
                command, input=text.encode(), check=True, timeout=_PATIENCE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            continue
        return command[0]
    if not screen.draws:
        raise UsageError(
            "there is no clipboard program (wl-copy, xclip, xsel, pbcopy): "
            "/export FILE writes the chat down"
        )
    screen.ask_terminal(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07")
    return "through the terminal, if it allows that"
