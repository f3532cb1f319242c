"""The flags that say when a run ends, and what is said of it."""

from __future__ import annotations

from functools import partial

from nextok.cli.commands import CommandName
from nextok.cli.flag_types import Path, Switch, Text, one_of
from nextok.cli.flags import ANSWERING, EVERYWHERE, GENERATION, Flag, flag
from nextok.cli.number_types import Duration, Number

_REPORTING: tuple[CommandName, ...] = (
    "generate", "tokens", "cache", "show", "ls", "search", "info", "config", "chats",
    "stats", "log", "lab", "bench",
)  # fmt: skip

_stop = partial(flag, panel="Stopping", commands=ANSWERING)
_output = partial(flag, panel="Output")

STOP_FLAGS: tuple[Flag, ...] = (
    _stop(
        "max_tokens",
        "-n --max-tokens",
        Number(low=-1, high=2**31 - 1, whole=True),
        "Most tokens to say; -1 = until the model stops.",
        aliases="--predict --n-predict",
    ),
    _stop(
        "stop",
        "-r --stop",
        Text(empty=False),
        "End before this text; repeatable.",
        aliases="--reverse-prompt",
        repeatable=True,
    ),
    _stop("ignore_eos", "--ignore-eos", Switch(), "Go on where the model would stop."),
    _stop(
        "timeout",
        "--timeout",
        Duration(),
        "End after this time, counted from the start (in a batch: of each prompt's turn).",
    ),
    _stop("first_token_timeout", "--first-token-timeout", Duration(), "Give up without a token."),
    _stop("stall_timeout", "--stall-timeout", Duration(), "Give up when the engine hangs."),
)

OUTPUT_FLAGS: tuple[Flag, ...] = (
    _output("json", "--json", Switch(), "One JSON object at the end.", _REPORTING),
    _output("jsonl", "--jsonl", Switch(), "One JSON line an event, as it happens.", GENERATION),
    _output("stats", "--stats", Switch(), "Two lines of figures at the end.", GENERATION),
    _output("trace", "--trace", Path(), "Write the lines of --jsonl to a file.", GENERATION),
    _output(
        "think",
        "--think",
        one_of("show", "dim", "hide"),
        "What to do with reasoning. [dim; in a pipe hide]",
        GENERATION,
    ),
    _output(
        "color", "--color", one_of("auto", "always", "never"), "When to use colour.", EVERYWHERE
    ),
    _output("quiet", "-q --quiet", Switch(), "No notes and no warnings.", EVERYWHERE),
    _output(
        "verbose", "-v --verbose", Switch(), "Say more, the engine's log included.", EVERYWHERE
    ),
    _output("debug", "--debug", Switch(), "Show tracebacks.", EVERYWHERE),
    _output(
        "path",
        "--path",
        Switch(),
        "Only say where the config file is.",
        ("config",),
        ambient=False,
    ),
)
