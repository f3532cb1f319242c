"""`nextok prune`: what interrupted downloads left, and revisions that nothing names any more."""

from __future__ import annotations

from collections.abc import Iterator

from nextok.backends.hub_cache import CachedModel, HubCache, Partial
from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED, FAILED
from nextok.cli.invocation import Invocation
from nextok.cli.question import consents
from nextok.cli.units import size

_COLUMNS = (
    Column(title="what", style="bold"),
    Column(title="size", right=True, style="green"),
    Column(title="of", fold=True),
)


def prune(invocation: Invocation) -> int:
    """Say what there is, ask, and remove it."""
    cache = HubCache()
    partials, detached = cache.partials(), cache.detached()
    if not partials and not detached:
        invocation.console.note(f"nothing to remove in {cache.root}")
        return ANSWERED
    removal = cache.removal(detached)
    total = sum(partial.bytes for partial in partials) + removal.bytes
    print_columns(_COLUMNS, list(_rows(partials, detached)), invocation.resolved.output)
    question = f"Remove all of this? That frees {size(total)}."
    if not consents(question, invocation, command="nextok prune -y"):
        return FAILED
    freed = sum(partial.bytes for partial in partials if cache.remove_partial(partial))
    cache.remove(removal)
    invocation.console.note(f"{size(freed + removal.bytes)} freed")
    return ANSWERED


def _rows(partials: list[Partial], detached: list[CachedModel]) -> Iterator[list[str]]:
    for partial in partials:
        what = "part of a download" if partial.ours else "part of another tool's download"
        on = "; nextok pull would go on with it" if partial.ours else ""
        yield [what, size(partial.bytes), f"{partial.repo}{on}"]
    for model in detached:
        yield ["old revision", size(model.bytes), f"{model.repo}@{model.commit[:12]}"]
