"""Commands that change how replies are made: settings, system message, model, reasoning."""

from __future__ import annotations

import json
from collections.abc import Mapping

from nextok.cli.chat.chat_settings import (
    SETTABLE,
    can_change,
    changed,
    setting_called,
    with_settings,
)
from nextok.cli.chat.desk import Desk
from nextok.cli.flag_table import FLAGS
from nextok.cli.flags import Flag
from nextok.cli.number_types import Duration, Number
from nextok.cli.resolution import BUILT_IN
from nextok.cli.sampling_types import Samplers
from nextok.cli.settings import LogitBias
from nextok.generation.errors import UsageError

_DEFAULT = "-"
"""Stands for the value that a setting had before it was set."""


def set_flag(desk: Desk, rest: str) -> None:
    """`/set temp 0.2`, `/set temp -` takes it back, `/set temp` shows it, `/set` lists all."""
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    if not name:
        desk.screen.rows([(one.title, _described(desk, one)) for one in FLAGS if can_change(one)])
        return
    found, meant = setting_called(name)
    word = _unquoted(value.strip()) or ("1" if found.switch else "")
    if not word:
        desk.screen.rows([(found.title, _described(desk, found))])
        return
    if word == _DEFAULT:
        _take_back(desk, found)
    else:
        change(desk, found, word, meant)
        if found.switch:
            word = "1" if desk.session.resolved.value(found.key) else "0"
        desk.session.conversation.set_setting(found.title, word)
    desk.screen.note(f"{found.title} is {shown(desk, found)} from now on")


def _unquoted(word: str) -> str:
    """What was meant by quotes around a text, which are not needed here."""
    is_quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "\"'"
    return word[1:-1] if is_quoted else word


def change(desk: Desk, found: Flag, word: str, meant: bool = True) -> None:
    """Set a flag for the rest of the chat. UsageError for a value out of its range."""
    desk.session.resolved = changed(desk.session.resolved, found, word, meant)


def _take_back(desk: Desk, found: Flag) -> None:
    session = desk.session
    session.resolved = session.resolved.without_set([found.key])
    session.conversation.set_setting(found.title, None)


def take_up_settings(desk: Desk) -> None:
    """What was set in a saved chat, unless a flag of this run says otherwise."""
    session = desk.session
    session.resolved = with_settings(
        session.resolved, session.conversation.settings, desk.screen.note
    )  # fmt: skip


def carry_settings(desk: Desk, before: Mapping[str, str], *, keep: bool) -> None:
    """Another chat is open now. before: what was set in the last one; it holds on, or it goes."""
    session = desk.session
    if keep:
        for name, word in before.items():
            session.conversation.set_setting(name, word)
        return
    session.resolved = session.resolved.without_set(SETTABLE)
    take_up_settings(desk)


def _described(desk: Desk, one: Flag) -> str:
    """The value, and who set it if it is no default."""
    origin = desk.session.resolved.origin(one.key)
    return shown(desk, one) + ("" if origin == BUILT_IN else f"  ({origin})")


def shown(desk: Desk, one: Flag) -> str:
    """A setting's value as it could be typed."""
    value = desk.session.resolved.value(one.key)
    if isinstance(one.kind, Number | Duration):
        words = {meant: word for word, meant in one.kind.words.items()}
        if value in words:
            return words[value]
    if isinstance(value, tuple):
        separator = ";" if isinstance(one.kind, Samplers) else " "
        return separator.join(map(_item, value)) or _DEFAULT
    if isinstance(value, bool):
        return "on" if value else "off"
    return _DEFAULT if value is None else str(value)


def _item(value: object) -> str:
    """One of several values; a text with its control characters spelt out."""
    if isinstance(value, LogitBias):
        return f"{value.token}{'=' if isinstance(value.token, str) else ''}{value.value:+g}"
    text = str(value)
    return text if text.isidentifier() else json.dumps(text, ensure_ascii=False)


def system(desk: Desk, rest: str) -> None:
    """`/system` shows it, `/system -` takes it away."""
    conversation = desk.session.conversation
    if rest:
        conversation.set_system(None if rest == "-" else rest)
        desk.offer_folding()
    if conversation.system is None:
        desk.screen.note("no system message: /system TEXT sets one")
    else:
        desk.screen.say(conversation.system)


def model(desk: Desk, rest: str) -> None:
    """The messages stay; the new model reads them with the next turn."""
    if rest:
        desk.load(rest)
        return
    engine = desk.session.engine
    desk.screen.say("no model is loaded" if engine is None else engine.weights.name)


def think(desk: Desk, rest: str) -> None:
    """Without a word, fold or unfold; `show` also prints the last reply's reasoning."""
    if rest not in ("", "show", "dim", "hide"):
        raise UsageError("/think takes show, dim or hide")
    if rest == "show" or (not rest and desk.think == "hide"):
        _print_thoughts(desk)
    desk.think = "dim" if rest in ("show", "dim") or (not rest and desk.think == "hide") else "hide"
    desk.screen.note("reasoning is folded" if desk.think == "hide" else "reasoning is shown")


def _print_thoughts(desk: Desk) -> None:
    replies = [one for one in desk.session.conversation.entries() if one.role == "assistant"]
    if replies and replies[-1].reasoning:
        desk.screen.say(replies[-1].reasoning.strip(), dim=True)
