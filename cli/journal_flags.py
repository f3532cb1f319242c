"""The flags of what nextok keeps, and of the commands that show it and take it away."""

from __future__ import annotations

from functools import partial

from nextok.cli.commands import CommandName
from nextok.cli.flag_types import Switch, Text
from nextok.cli.flags import ANSWERING, Flag, flag
from nextok.cli.number_types import Number
from nextok.cli.since_type import Moment, Rest

_ASKING: tuple[CommandName, ...] = ("stats", "log")

_kept = partial(flag, panel="Privacy", commands=ANSWERING)
_journal = partial(flag, panel="Journal", commands=_ASKING, ambient=False)

JOURNAL_FLAGS: tuple[Flag, ...] = (
    _kept("log", "--log", Switch(), "Leave no figures in the journal (nextok stats)."),
    _kept("log_text", "--log-text", Switch(), "Keep prompts and answers in the journal, too."),
    _kept("private", "--private", Switch(), "Keep nothing: no journal, chat, input or state."),
    _journal(
        "only_model",
        "-m --model",
        Text(empty=False),
        "Only generations of this model; a part of its name will do.",
    ),
    _journal("since", "--since", Moment(), "Only what ended since then."),
    _journal(
        "rows",
        "-n --rows",
        Number(low=1, high=1_000_000, whole=True),
        "Most generations to list.",
        commands=("log",),
    ),
    _journal(
        "prune",
        "--prune",
        Rest(),
        "Remove what is older than this, or the oldest beyond this size.",
        commands=("log",),
    ),
    _journal("everything", "--all", Switch(), "All that is kept.", commands=("forget",)),
)
