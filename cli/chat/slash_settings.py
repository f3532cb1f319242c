"""Commands that change how replies are made: settings, system message, model, reasoning."""

from __future__ import annotations

import dataclasses

from nextok.cli.chat.desk import Desk
from nextok.cli.flag_table import BY_WORD, FLAGS
from nextok.cli.flags import Flag
from nextok.cli.settings import StopSettings
from nextok.cli.spelling import hint
from nextok.generation.errors import UsageError
from nextok.generation.sampling import Sampling

_OTHERS = ("reasoning", "think_budget", "on_full", "markdown", "fold_system", "logit_bias")
SETTABLE = frozenset(
    (*(one.name for one in dataclasses.fields(Sampling)),
     *(one.name for one in dataclasses.fields(StopSettings)), *_OTHERS)
)  # fmt: skip
"""What can change while a model is loaded."""


def set_flag(desk: Desk, rest: str) -> None:
    """`/set temp 0.2`, `/set temp` shows it, `/set` lists all that can be set."""
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    if not name:
        desk.screen.rows([(one.title, _shown(desk, one)) for one in FLAGS if one.key in SETTABLE])
        return
    found, meant = _flag(name)
    if not value.strip() and not found.switch:
        desk.screen.rows([(found.title, _shown(desk, found))])
        return
    word = value.strip() or "1"
    change(desk, found, word, meant)
    desk.session.conversation.set_setting(name, word)
    desk.screen.note(f"{found.title} is {_shown(desk, found)} from now on")


def change(desk: Desk, found: Flag, word: str, meant: bool = True) -> None:
    """Set a flag for the rest of the chat. UsageError for a value out of its range."""
    value = found.parse(word, f"/set {found.title}")
    if found.switch and not meant:
        value = not value
    if found.repeatable:
        value = found.collect([value])
    desk.session.resolved = desk.session.resolved.with_set({found.key: value})


def take_up_settings(desk: Desk) -> None:
    """What was set in a saved chat; what is no setting any more is left out, and said."""
    for name, word in desk.session.conversation.settings.items():
        try:
            found, meant = _flag(name)
            change(desk, found, word, meant)
        except UsageError as error:
            desk.screen.note(f"ignored: {error}")


def _flag(name: str) -> tuple[Flag, bool]:
    word = name.strip("-").replace("-", "_")
    found = BY_WORD.get(word)
    if found is not None and found[0].key in SETTABLE:
        return found
    if found is not None:
        raise UsageError(f"{found[0].title} holds for the whole chat: give it at the start")
    names = [one.title for one in FLAGS if one.key in SETTABLE]
    raise UsageError(f"there is no setting {name}{hint(name, names) or ': /set lists them'}")


def _shown(desk: Desk, one: Flag) -> str:
    value = desk.session.resolved.value(one.key)
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else str(value)


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
    desk.screen.note("no model is loaded" if engine is None else engine.weights.name)


def think(desk: Desk, rest: str) -> None:
    """Without a word, fold or unfold; `show` also prints the last reply's reasoning."""
    if rest not in ("", "show", "dim", "hide"):
        raise UsageError("/think takes show, dim or hide")
    if rest == "show" or (not rest and desk.think == "hide"):
        _print_thoughts(desk)
    desk.think = "dim" if rest in ("show", "dim") or (not rest and desk.think == "hide") else "hide"
    desk.screen.note("reasoning is folded" if desk.think == "hide" else "reasoning is shown dim")


def _print_thoughts(desk: Desk) -> None:
    replies = [one for one in desk.session.conversation.entries() if one.role == "assistant"]
    if replies and replies[-1].reasoning:
        desk.screen.say(replies[-1].reasoning.strip(), dim=True)
