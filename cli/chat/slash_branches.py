"""Commands about branches: the same conversation going different ways."""

from __future__ import annotations

from nextok.cli.chat.desk import Desk
from nextok.cli.console import one_line
from nextok.generation.errors import UsageError


def branch(desk: Desk, rest: str) -> None:
    try:
        name = desk.session.conversation.branch(rest or None)
    except ValueError as error:
        raise UsageError(str(error)) from error
    desk.screen.note(f"now on branch {name}: /switch goes back")


def branches(desk: Desk, rest: str) -> None:
    desk.screen.rows(
        [
            (
                f"{'*' if one.is_current else ' '} {one.name}",
                f"{one.messages:>3}  {one_line(one.last)[:60]}",
            )
            for one in desk.session.conversation.branches()
        ]
    )


def switch(desk: Desk, rest: str) -> None:
    if not rest:
        raise UsageError("/switch takes the name of a branch: /branches lists them")
    try:
        desk.session.conversation.switch(rest)
    except ValueError as error:
        raise UsageError(str(error)) from error
    name = desk.session.conversation.current_branch
    if desk.session.conversation.entries():
        desk.show_past(f"branch {name}")
    else:
        desk.screen.note(f"branch {name}: nothing was said yet")
