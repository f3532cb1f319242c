"""`nextok pull`: a model from the hub onto this disk, whole and checked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from nextok.backends.folders import state_folder
from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_reference import HubReference, parse_reference
from nextok.backends.intact_files import IntactFiles
from nextok.backends.local_models import did_you_mean, local_models, match, nearest
from nextok.backends.model_check import check_model_file
from nextok.backends.seen_files import SeenFiles
from nextok.cli.checksums import check_sums
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.fetching import Fetching
from nextok.cli.invocation import Invocation
from nextok.cli.resolution import Resolved
from nextok.cli.status import Status
from nextok.cli.units import size
from nextok.cli.watching import watching
from nextok.generation.abort import Abort
from nextok.generation.errors import ModelError, UsageError


def pull(invocation: Invocation) -> int:
    """Fetch it; standard output gets the path, with --print-path, or nothing."""
    console, resolved = invocation.console, invocation.resolved
    reference = wanted(invocation.words, resolved)
    abort, status = Abort(), Status(console, time.monotonic)
    fetching = Fetching(
        hub=resolved.hub, output=resolved.output, console=console, status=status, abort=abort
    )
    here = HubCache().find(reference) if Hub(offline=resolved.hub.offline).offline else None
    if here is not None:
        with watching(abort, status):
            check_here(here, reference, abort, status)
        path, said = here, "here already"
    else:
        with watching(abort, status):
            pulled = fetching.whole(reference)
        path, reference = pulled.path, pulled.reference
        said = f"here already, {size(pulled.bytes)}" if pulled.cached else "ready"
    console.note(f'{said}: nextok -m {reference} "…"')
    if resolved.hub.print_path:
        print(path)
    return ANSWERED


def check_here(path: Path, reference: HubReference, abort: Abort, status: Status) -> None:
    """Read what is here, unless it was before. Raises ModelError if it is not what was fetched."""
    intact = IntactFiles(seen=SeenFiles(state_folder()))
    if intact.is_known(path):
        return
    remedy = f"nextok pull {reference}, when it is not offline, fetches them again"
    try:
        check_model_file(path)
        if check_sums(
            path,
            abort,
            read=lambda share: status.show(f"checking {reference}: {share:.0%}"),
            remedy=lambda: remedy,
        ):
            intact.add(path)
    except ModelError:
        intact.refuse(path)
        raise


def wanted(words: tuple[str, ...], resolved: Resolved) -> HubReference:
    """The reference that was given, by an alias or not at all. Raises UsageError."""
    given = words[0] if words else resolved.engine.model
    if given is None:
        raise UsageError("say which model: nextok pull owner/repo[:QUANT]")
    text = resolved.config.aliases.get(given, given)
    if text.startswith(("./", "../", "/", "~")) or os.path.isfile(text):
        raise UsageError(f"{text} is a path: there is nothing to fetch (run it with -m)")
    reference = parse_reference(text)
    return _of_part(text, resolved.config.aliases) if reference is None else reference


def _of_part(text: str, aliases: Iterable[str]) -> HubReference:
    """The model of the hub whose name, of those here, has the text in it."""
    models = local_models()
    found = [parse_reference(one.name) for one in match(text, models) if one.origin == "hub"]
    if len(found) == 1 and found[0] is not None:
        return found[0]
    near = did_you_mean(nearest(text, models, aliases))
    raise UsageError(
        f"{text!r} names no model of the hub: {near + ' Otherwise write' if near else 'write'} "
        f"owner/repo[:QUANT] (nextok search {text} finds some)"
    )
