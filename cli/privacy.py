"""What --private means for chats: whether one is kept, and what it is an error to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nextok.generation.errors import UsageError

if TYPE_CHECKING:
    from nextok.cli.resolution import Resolved


def keeps_chats(resolved: Resolved) -> bool:
    """Whether conversations may be kept at all.

    Raises UsageError where a flag says that one is to be kept, or gone on with in its file, and
    nothing may be. A setting of the file or the environment that says so does not count.
    """
    if not resolved.journal.private:
        return True
    chat = resolved.chat
    by_flag = chat.save and resolved.origin("save") == "flag"
    for given, name in (
        (by_flag, "--save"), (chat.continue_last, "--continue"), (chat.resume, "--resume"),
    ):  # fmt: skip
        if given:
            raise UsageError(
                f"{name} keeps a chat, and nothing is kept of a private one: "
                "leave it out, or say --no-private"
            )
    return False
