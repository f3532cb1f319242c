"""Commands about the last turn: again, on, back, differently."""

from __future__ import annotations

from nextok.cli.chat.desk import Desk
from nextok.generation.errors import UsageError


def regen(desk: Desk, rest: str) -> None:
    desk.take_turn(desk.session.again)


def go_on(desk: Desk, rest: str) -> None:
    desk.take_turn(desk.session.go_on)


def undo(desk: Desk, rest: str) -> None:
    taken = desk.session.conversation.undo()
    if taken is None:
        raise UsageError("nothing to undo: nothing was said yet")
    desk.screen.note(f"taken back: {taken.content}"[:200])


def edit(desk: Desk, rest: str) -> None:
    """With a text at once; without one, the last message comes into the input line."""
    last = next(
        (one for one in reversed(desk.session.conversation.entries()) if one.role == "user"), None
    )
    if last is None:
        raise UsageError("nothing to edit: nothing was said yet")
    if rest:
        desk.take_turn(lambda answers: desk.session.edit(rest, answers))
        return
    desk.session.conversation.undo()
    desk.draft = last.content


def clear(desk: Desk, rest: str) -> None:
    desk.session.conversation.clear()
    desk.attached.clear()
    desk.screen.note("a new beginning (/branches has what was said before)")
