"""The flags that say what may be fetched from the hub, and what becomes of model files."""

from __future__ import annotations

from nextok.cli.commands import CommandName
from nextok.cli.flag_types import Kind, Switch
from nextok.cli.flags import Flag
from nextok.cli.number_types import Number

_RUNNING: tuple[CommandName, ...] = ("generate", "render", "tokens", "show", "config")
_ONLINE: tuple[CommandName, ...] = (*_RUNNING, "pull", "search")
_ASKING: tuple[CommandName, ...] = (*_RUNNING, "pull", "rm", "prune")


def _hub(
    key: str,
    names: str,
    help_text: str,
    commands: tuple[CommandName, ...],
    kind: Kind | None = None,
    *,
    ambient: bool = True,
) -> Flag:
    return Flag(
        key=key,
        names=tuple(names.split()),
        kind=kind or Switch(),
        help=help_text,
        panel="Models",
        commands=commands,
        ambient=ambient,
    )


HUB_FLAGS: tuple[Flag, ...] = (
    _hub("pull", "--pull", "Fetch the model if it is not on disk, in a script too.", _RUNNING),
    _hub("yes", "-y --yes", "Do not ask: the answer is yes.", _ASKING),
    _hub("offline", "--offline", "Make no request to the network, whatever happens.", _ONLINE),
    _hub(
        "print_path", "--print-path", "Print where the file is, and nothing else.", ("pull",),
        ambient=False,
    ),
    _hub("load", "--load", "Also try the model in the engine.", ("verify",), ambient=False),
    _hub(
        "limit", "--limit", "Most repositories to list.", ("search",),
        Number(low=1, high=1000, whole=True),
    ),
    _hub("remove", "--remove", "Take the name away.", ("alias",), ambient=False),
)  # fmt: skip
