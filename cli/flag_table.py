"""Every flag there is, and how to find one by what was typed."""

from __future__ import annotations

from collections.abc import Mapping

from nextok.cli.batch_flags import BATCH_FLAGS
from nextok.cli.bench_flags import BENCH_FLAGS
from nextok.cli.chat_flags import CHAT_FLAGS
from nextok.cli.commands import CommandName
from nextok.cli.flags import Flag
from nextok.cli.hub_flags import HUB_FLAGS
from nextok.cli.journal_flags import JOURNAL_FLAGS
from nextok.cli.lab_flags import LAB_FLAGS
from nextok.cli.latency_flags import LATENCY_FLAGS
from nextok.cli.plot_flags import PLOT_FLAGS
from nextok.cli.prompt_flags import MODEL_FLAGS, PROMPT_FLAGS
from nextok.cli.run_flags import OUTPUT_FLAGS, STOP_FLAGS
from nextok.cli.sampling_flags import SAMPLING_FLAGS
from nextok.cli.speculation_flags import SPECULATION_FLAGS

FLAGS: tuple[Flag, ...] = (
    *MODEL_FLAGS,
    *PROMPT_FLAGS,
    *SAMPLING_FLAGS,
    *STOP_FLAGS,
    *SPECULATION_FLAGS,
    *CHAT_FLAGS,
    *HUB_FLAGS,
    *PLOT_FLAGS,
    *BATCH_FLAGS,
    *BENCH_FLAGS,
    *JOURNAL_FLAGS,
    *LAB_FLAGS,
    *LATENCY_FLAGS,
    *OUTPUT_FLAGS,
)

_NAMED = [
    (name, flag, meant)
    for flag in FLAGS
    for names, meant in ((flag.on, True), (flag.off, False))
    for name in names
]

#: Every name on the command line, with what it means for a switch; the first flag of that name.
BY_NAME: dict[str, tuple[Flag, bool]] = {
    name: (flag, meant) for name, flag, meant in reversed(_NAMED)
}

#: Every key of the config file and, in capitals, every variable's name after NEXTOK_.
BY_WORD: dict[str, tuple[Flag, bool]] = {
    word: (flag, meant) for flag in FLAGS if flag.ambient for word, meant in flag.words()
}


def typed_only() -> frozenset[str]:
    """The words of flags that neither the environment nor the config file may set."""
    words = {word for flag in FLAGS if not flag.ambient for word, _ in flag.words()}
    return frozenset(words - BY_WORD.keys())


def names_for(command: CommandName) -> Mapping[str, tuple[Flag, bool]]:
    """The same as the command understands them: a name may mean a flag of its own to it."""
    own = {name: (flag, meant) for name, flag, meant in _NAMED if command in flag.commands}
    return {**BY_NAME, **own}


def flags_of(command: CommandName) -> tuple[Flag, ...]:
    """The flags a command carries, in the help's order."""
    return tuple(flag for flag in FLAGS if command in flag.commands)
