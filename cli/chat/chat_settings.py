"""What can be set while a chat goes on, and is kept with it: names and words to settings.

Knows nothing of who sets it, or where it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nextok.cli.flag_table import BY_WORD, FLAGS, names_for
from nextok.cli.flags import Flag
from nextok.cli.resolution import GIVEN, Resolved
from nextok.cli.settings import StopSettings
from nextok.cli.spelling import hint
from nextok.generation.errors import UsageError
from nextok.generation.sampling import Sampling

_OTHERS = (
    "reasoning", "think_budget", "on_full", "markdown", "fold_system", "logit_bias", "latency",
    "latency_color",
)  # fmt: skip
SETTABLE = frozenset(
    (*Sampling._fields, *StopSettings._fields, *_OTHERS)
)  # fmt: skip
"""What can change while a model is loaded."""
_SWITCHES = {"on": "1", "off": "0"}


def can_change(one: Flag) -> bool:
    """Whether it can be set in a chat."""
    return one.key in SETTABLE


def setting_called(name: str) -> tuple[Flag, bool]:
    """The flag, and whether the name means it or its opposite. Raises UsageError.

    Short names are known, too.
    """
    word = name.strip("-").replace("-", "_")
    found = BY_WORD.get(word) or names_for("chat").get(f"-{name.strip('-')}")
    if found is not None and can_change(found[0]):
        return found
    if found is not None:
        raise UsageError(f"{found[0].title} holds for the whole chat: give it at the start")
    names = [one.title for one in FLAGS if can_change(one)]
    raise UsageError(f"there is no setting {name}{hint(name, names) or ': /set lists them'}")


def changed(resolved: Resolved, found: Flag, word: str, meant: bool = True) -> Resolved:
    """With a flag set for the rest of the chat. UsageError for a value out of its range."""
    if found.switch:
        word = _SWITCHES.get(word, word)
    value = found.parse(word, f"/set {found.title}")
    if found.switch and not meant:
        value = not value
    if found.repeatable:
        value = found.collect([value])
    return resolved.with_set({found.key: value})


def with_settings(
    resolved: Resolved, settings: Mapping[str, str], say: Callable[[str], None]
) -> Resolved:
    """With what was set in a saved chat, unless a flag of this run says otherwise.

    What is no setting any more is left out, and said.
    """
    for name, word in settings.items():
        try:
            found, meant = setting_called(name)
            if resolved.origin(found.key) != GIVEN:
                resolved = changed(resolved, found, word, meant)
        except UsageError as error:
            say(f"ignored: {error}")
    return resolved
