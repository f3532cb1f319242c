"""The flags that say what may be fetched from the hub, and what becomes of model files."""

from __future__ import annotations

from functools import partial

from nextok.cli.commands import CommandName
from nextok.cli.flag_types import Switch
from nextok.cli.flags import RUNS, Flag, flag
from nextok.cli.number_types import Number

_RUNNING: tuple[CommandName, ...] = (*RUNS, "bench", "render", "tokens", "show")
_ONLINE: tuple[CommandName, ...] = (*_RUNNING, "pull", "search")
_ASKING: tuple[CommandName, ...] = (
    *_RUNNING, "pull", "rm", "prune", "chats", "log", "forget",
)  # fmt: skip

_hub = partial(flag, panel="Models")

HUB_FLAGS: tuple[Flag, ...] = (
    _hub(
        "pull",
        "--pull",
        Switch(),
        "Fetch the model if it is not on disk, in a script too.",
        _RUNNING,
    ),
    _hub("yes", "-y --yes", Switch(), "Do not ask: the answer is yes.", _ASKING),
    _hub(
        "offline",
        "--offline",
        Switch(),
        "Make no request to the network, whatever happens.",
        _ONLINE,
    ),
    _hub(
        "print_path",
        "--print-path",
        Switch(),
        "Print where the file is, and nothing else.",
        ("pull",),
        ambient=False,
    ),
    _hub(
        "load", "--load", Switch(), "Also try the model in the engine.", ("verify",), ambient=False
    ),
    _hub(
        "limit",
        "--limit",
        Number(low=1, high=1000, whole=True),
        "Most repositories to list.",
        ("search",),
    ),
    _hub("remove", "--remove", Switch(), "Take the name away.", ("alias",), ambient=False),
)
