"""Which key does what. Everything not named here is as in any Emacs-like line editor.

Readline's moves (Ctrl-A, Alt-B, Ctrl-Left, ...), kills and yanks, Ctrl-L, Ctrl-R and the arrows
are prompt_toolkit's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Always, Condition, Filter, has_focus, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.search import abort_search
from prompt_toolkit.keys import Keys

from nextok.cli.chat.completer import complete_next


class Actions(Protocol):
    """What the keys of a prompt can do beyond editing."""

    def enter(self) -> None: ...

    def paste(self, text: str) -> None: ...

    def interrupt(self) -> None: ...

    def leave(self) -> None: ...

    def edit_elsewhere(self) -> None: ...

    def suspend(self) -> None: ...


def key_bindings(buffer: Buffer, actions: Actions) -> KeyBindings:
    """The bindings for a prompt that edits this buffer."""
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)
    nothing_typed = Condition(lambda: not buffer.text)

    def add(*names: str, does: Callable[[], None], filter: Filter = typing) -> None:
        keys.add(*names, filter=filter)(lambda event: does())

    add("enter", does=actions.enter)
    add("escape", "enter", does=lambda: buffer.newline(copy_margin=False))
    add("c-j", does=lambda: buffer.newline(copy_margin=False))
    add("c-i", does=lambda: complete_next(buffer))
    add("c-c", does=actions.interrupt)
    add("<sigint>", does=actions.interrupt)
    add("c-d", does=actions.leave, filter=typing & nothing_typed)
    add("c-g", does=actions.edit_elsewhere)
    add("c-x", "c-e", does=actions.edit_elsewhere)
    add("c-z", does=actions.suspend, filter=Always())
    keys.add("<sigint>", filter=is_searching)(abort_search)

    @keys.add(Keys.BracketedPaste, filter=typing)
    def _paste(event: KeyPressEvent) -> None:
        # Terminals send a pasted line's end as a carriage return, some as both.
        actions.paste(event.data.replace("\r\n", "\n").replace("\r", "\n"))

    return keys
