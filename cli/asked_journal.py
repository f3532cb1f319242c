"""Which part of the journal a command is about: a model's, or what ended since some time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from nextok.backends.journal import user_journal
from nextok.backends.journal_queries import JournalQueries
from nextok.backends.journal_row import LoggedModel
from nextok.backends.shown_text import shown
from nextok.cli.invocation import Invocation
from nextok.generation.errors import UsageError

EMPTY = "the journal is empty: every generation leaves a row there, unless --no-log or --private"
_MOST_NAMES = 6


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An open journal, and what of it was asked for."""

    queries: JournalQueries
    models: Sequence[LoggedModel]
    since: float | None
    """Seconds since 1970; None for all of it."""
    aside: Sequence[Path]
    """Damaged journals, which are no part of it."""


@contextmanager
def asked_journal(invocation: Invocation) -> Iterator[Asked]:
    """Raises JournalError, and UsageError for a model that nothing was generated with."""
    settings = invocation.resolved.journal
    since = None if settings.since is None else settings.since.moment(time.time())
    journal = user_journal()
    with journal.reading(since) as queries:
        models = queries.models()
        if settings.only_model is not None and models:
            aliases = invocation.resolved.config.aliases
            models = chosen(models, settings.only_model, aliases)
        yield Asked(queries=queries, models=models, since=since, aside=journal.aside())


def chosen(
    models: Sequence[LoggedModel], text: str, aliases: Mapping[str, str]
) -> list[LoggedModel]:
    """Those called so, else those with it in their names. UsageError when there is none.

    A file's path, and an alias for one, mean the file's name, as models are called by it.
    """
    wanted = aliases.get(text, text)
    wanted = PurePath(wanted).stem if wanted.endswith(".gguf") else wanted
    wanted = wanted.casefold()
    alike = [one for one in models if one.name.casefold() == wanted]
    found = alike or [one for one in models if wanted in one.name.casefold()]
    if not found:
        names = [shown(name) for name in dict.fromkeys(one.name for one in models)]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        raise UsageError(
            f"nothing was generated with a model called {shown(text)!r}: "
            f"the journal has {', '.join(names[:_MOST_NAMES])}{more}"
        )
    return found
