"""`nextok alias`: short names for models, kept in the config file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nextok.backends.locate import TOY
from nextok.cli.commands import find
from nextok.cli.config_writer import remove_entry, set_entry
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.naming import lasting
from nextok.cli.spelling import hint
from nextok.cli.table import print_table
from nextok.generation.errors import UsageError

_NAME = re.compile(r"[^\s/\\:@~.-][^\s/\\:@~]*")


def alias(invocation: Invocation) -> int:
    """List the names, print one, set one, or take one away with --remove."""
    known = invocation.resolved.config.aliases
    path = invocation.resolved.config.path
    match invocation.words:
        case (name,) if invocation.resolved.hub.remove:
            _known(name, known)
            remove_entry(path, "aliases", name)
            invocation.console.note(f"{name} is no alias any more ({path})")
        case _ if invocation.resolved.hub.remove:
            raise UsageError("--remove needs one name: nextok alias --remove NAME")
        case ():
            if known:
                print_table(sorted(known.items()), invocation)
            else:
                invocation.console.note("no aliases yet: nextok alias NAME REF makes one")
        case (name,):
            print(_known(name, known))
        case (name, reference):
            target = lasting(known.get(reference, reference))
            set_entry(path, "aliases", _checked(name), target)
            invocation.console.note(f"{name} is {target} ({path})")
        case words:
            raise UsageError(f"nextok alias takes NAME and REF, not {len(words)} words")
    return ANSWERED


def _known(name: str, aliases: Mapping[str, str]) -> str:
    if name not in aliases:
        raise UsageError(f"there is no alias {name}{hint(name, aliases)}")
    return aliases[name]


def _checked(name: str) -> str:
    """The name, if it cannot be taken for a path, a name of the hub or a command."""
    if find(name) is not None:
        raise UsageError(f"{name!r} cannot be an alias: it is a command: choose another name")
    if name == TOY or name.lower().endswith(".gguf") or not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be an alias: a word without / : @ and ~ that is not {TOY!r}, "
            "does not begin with . or - and does not end in .gguf"
        )
    return name
