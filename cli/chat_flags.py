"""The flags of conversations, and of what is kept of them."""

from __future__ import annotations

from functools import partial

from nextok.cli.commands import CommandName
from nextok.cli.flag_types import Switch, Text, one_of
from nextok.cli.flags import GENERATION, Flag, flag
from nextok.cli.number_types import Number, Size

_CHAT: tuple[CommandName, ...] = ("chat", "config")

_kept = partial(flag, panel="Conversation")
_chats = partial(flag, panel="Chats", commands=("chats",), ambient=False)

CHAT_FLAGS: tuple[Flag, ...] = (
    _kept(
        "continue_last",
        "-C --continue",
        Switch(),
        "Go on from the last chat that was kept.",
        GENERATION,
        ambient=False,
    ),
    _kept(
        "resume",
        "--resume",
        Text(empty=False),
        "Go on from this saved chat.",
        GENERATION,
        ambient=False,
    ),  # fmt: skip
    _kept("save", "--save", Switch(), "Keep the conversation. [chat: yes]", GENERATION),
    _kept(
        "interactive",
        "-i --interactive",
        Switch(),
        "When standard input has ended, go on at the terminal.",
        _CHAT,
        ambient=False,
    ),
    _kept(
        "on_full",
        "--on-full",
        one_of("drop", "stop", "shift"),
        "In a full context: drop the oldest messages, stop, or shift the cache.",
        _CHAT,
    ),
    _kept("markdown", "--markdown", Switch(), "Show replies as they were written.", _CHAT),
    _kept(
        "think_budget",
        "--think-budget",
        Number(low=0, high=2**31 - 1, whole=True, words={"none": None}),
        "Most tokens of reasoning.",
        _CHAT,
    ),
    _kept(
        "state_cap",
        "--state-cap",
        Size(),
        "Most disk space for kept KV states, 0 = keep none.",
        GENERATION,
    ),
    flag(
        "cache",
        "--cache",
        Switch(),
        "Keep what was read of the prompt at once; --no-cache: never. [the second time]",
        ("generate", "config"),
        panel="Privacy",
    ),
    _chats("export", "--export", Text(empty=False), "Print this chat."),
    _chats("format", "--format", one_of("md", "json"), "How to print it."),
    _chats("delete", "--delete", Text(empty=False), "Delete this chat."),
    _chats("rename", "--rename", Switch(), "Give the first chat named the second name."),
)
