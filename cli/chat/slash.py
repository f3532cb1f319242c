"""The commands of the chat by name: which there are, and how a line becomes one.

A command is one line that begins with a slash and a word; a path (`/etc/hosts`) and whatever has
several lines is a message, and `//` begins a message with a slash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nextok.cli.chat import (
    slash_branches,
    slash_chats,
    slash_context,
    slash_session,
    slash_settings,
    slash_turns,
)
from nextok.cli.chat.desk import Desk
from nextok.cli.spelling import nearest
from nextok.generation.errors import UsageError

Takes: TypeAlias = Literal[
    "", "model", "file", "files", "chat", "branch", "setting", "view", "think"
]
"""What can be completed after a command."""


@dataclass(frozen=True, kw_only=True)
class SlashCommand:
    """One command. `run` is given what follows its name."""

    names: str
    usage: str = ""
    help: str
    run: Callable[[Desk, str], None]
    takes: Takes = ""

    @property
    def name(self) -> str:
        return self.names.split()[0]


def _command(
    names: str, usage: str, help_text: str, run: Callable[[Desk, str], None], takes: Takes = ""
) -> SlashCommand:
    return SlashCommand(names=names, usage=usage, help=help_text, run=run, takes=takes)


def _help(desk: Desk, rest: str) -> None:
    desk.screen.rows([(f"/{one.name} {one.usage}".rstrip(), one.help) for one in COMMANDS])
    desk.screen.say("")
    desk.screen.rows(KEYS)


COMMANDS: tuple[SlashCommand, ...] = (
    _command("help ?", "", "this list", _help),
    _command("regen", "", "another reply to the last message", slash_turns.regen),
    _command("continue", "", "go on with a reply that was cut", slash_turns.go_on),
    _command("undo", "", "take back the last message and its reply", slash_turns.undo),
    _command("edit", "[TEXT]", "say the last message differently", slash_turns.edit),
    _command("clear", "", "begin anew; what was said stays in a branch", slash_turns.clear),
    _command("branch", "[NAME]", "try something else from here on", slash_branches.branch),
    _command("branches", "", "list the branches", slash_branches.branches),
    _command("switch", "NAME", "go to another branch", slash_branches.switch, "branch"),
    _command("save", "[NAME]", "keep this chat, under a name", slash_chats.save),
    _command("load", "NAME", "go on with a saved chat", slash_chats.load, "chat"),
    _command("new", "", "put this chat away and begin another", slash_chats.new),
    _command("chats", "[WORDS]", "list the saved chats, or those that say this", slash_chats.chats),
    _command("rename", "NAME", "give this chat another name", slash_chats.rename),
    _command("delete", "NAME", "delete a saved chat", slash_chats.delete, "chat"),
    _command("export", "FILE", "write this chat to a .md or .json file", slash_chats.export,
             "file"),
    _command("system", "[TEXT]", "what the model is to be; - for nothing", slash_settings.system),
    _command("set", "[FLAG VALUE]", "change a setting, or list them", slash_settings.set_flag,
             "setting"),
    _command("model", "[NAME]", "talk with another model", slash_settings.model, "model"),
    _command("think", "[show|dim|hide]", "show reasoning, or fold it", slash_settings.think,
             "think"),
    _command("show", "WHAT", "look behind: settings, template, stats or prompt",
             slash_context.show, "view"),
    _command("stats", "", "figures of the last reply", slash_context.stats),
    _command("tokens", "[TEXT]", "who takes how much of the context", slash_context.tokens),
    _command("file", "PATH…", "put files before the next message", slash_session.attach, "files"),
    _command("copy", "", "copy the last reply", slash_session.copy),
    _command("bye exit quit", "", "leave", slash_session.bye),
)  # fmt: skip

KEYS = [
    ("Enter", "send"),
    ("Alt-Enter, Ctrl-J", 'a new line; so does \\ at the end, and """ around several'),
    ("Ctrl-C", "stop what is going on; clear the line"),
    ("Ctrl-D", "leave"),
    ("Ctrl-R, Up", "what was typed before"),
    ("Ctrl-G", "write in $EDITOR"),
]

_LINE = re.compile(r"/([A-Za-z?][A-Za-z-]*)(?:\s+(.*))?\Z")


def parse(text: str) -> tuple[SlashCommand, str] | None:
    """The command a line is, and what follows it; None for a message.

    Raises UsageError, naming the nearest, for a command that there is not, and for what follows
    one that takes nothing.
    """
    match = _LINE.match(text.strip()) if "\n" not in text.strip() else None
    if match is None:
        return None
    name = match[1].lower()
    for one in COMMANDS:
        if name in one.names.split():
            rest = (match[2] or "").strip()
            if rest and not one.usage:
                raise UsageError(
                    f"/{name} takes nothing after it (// begins a message with a slash)"
                )
            return one, rest
    known = [name for one in COMMANDS for name in one.names.split() if name.isalpha()]
    near = nearest(name, known)
    hint = f"did you mean /{near}?" if near else "/help lists what there is"
    raise UsageError(f"there is no /{name}: {hint} (// begins a message with a slash)")


def message(text: str) -> str:
    """What a line that is no command says."""
    return text[1:] if text.startswith("//") else text
