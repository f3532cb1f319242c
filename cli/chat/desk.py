"""What a command of the chat can reach, and what it can leave there for the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from nextok.cli.settings import ThinkMode

if TYPE_CHECKING:
    from nextok.backends.chat_folder import ChatFolder
    from nextok.cli.answer import Answer
    from nextok.cli.chat.screen import Screen
    from nextok.cli.chat.session import Session
    from nextok.cli.chat.turn import Turn

TurnMaker: TypeAlias = "Callable[[Sequence[Answer]], Turn]"


@dataclass(frozen=True, kw_only=True)
class Attached:
    """A file that waits for a message."""

    name: str
    """As it was typed."""
    text: str


@dataclass(kw_only=True)
class Desk:
    """The chat's state beside the conversation itself."""

    session: Session
    folder: ChatFolder
    screen: Screen
    take_turn: Callable[[TurnMaker], None]
    """Makes a turn and shows it; whatever goes wrong is said."""
    load: Callable[[str | None], bool]
    """Loads a model and shows how; whether it is there."""
    open_chat: Callable[[str | None], None]
    """Puts the present chat away and takes up another one, or begins a new one."""
    show_past: Callable[[str | None], None]
    """Shows the last messages, under this name for the whole."""
    offer_folding: Callable[[], None]
    """Asks what to do with a system message that the template does not take."""
    think: ThinkMode = "dim"
    attached: dict[str, Attached] = field(default_factory=dict)
    """Files for the next message, by their absolute paths."""
    draft: str = ""
    """What the next input line begins with."""
    is_done: bool = False
