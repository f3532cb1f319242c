"""What `nextok log prune` and `nextok log --prune` take out of the journal."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import datetime

from nextok.backends.journal import user_journal
from nextok.backends.journal_queries import JournalQueries
from nextok.cli.exit_codes import ANSWERED, FAILED
from nextok.cli.flag_table import BY_NAME
from nextok.cli.invocation import Invocation
from nextok.cli.question import consents
from nextok.cli.settings import Since
from nextok.cli.status import Status
from nextok.cli.units import size
from nextok.generation.errors import UsageError

_FORM = "nextok log prune AGE|DATE|SIZE"
_MANY = 5000
"""Rows: to take more away takes a while."""
_EMPTY_BYTES = 11 * 4096
"""Of a journal without a row, about."""
_ROUNDED_BYTES = 8 * 4096
"""By which a table and its indices may be larger than what is in them."""


def named_rest(words: Sequence[str], flag: Since | int | None) -> Since | int:
    """What `prune` is to leave. UsageError for other words."""
    first, *values = words
    if first != "prune":
        raise UsageError(f"`nextok log` takes no word but prune, not {first!r}: {_FORM}")
    if flag is not None:
        raise UsageError("what is to go is said twice, with prune and --prune: choose one")
    if len(values) != 1:
        raise UsageError(f"say what is to go, in one word: {_FORM}, such as nextok log prune 30d")
    rest = BY_NAME["--prune"][0].parse(values[0], "nextok log prune")
    return rest if isinstance(rest, Since) else int(str(rest))


def prune(rest: Since | int, invocation: Invocation) -> int:
    """Say what would go, ask, and take it away."""
    settings, journal = invocation.resolved.journal, user_journal()
    if settings.since is not None or settings.only_model is not None:
        raise UsageError("--prune goes by age or size alone: leave out --since and --model")
    with journal.reading() as queries:
        moment = rest.moment(time.time()) if isinstance(rest, Since) else _excess(queries, rest)
        count = queries.count_before(moment)
    if not count:
        invocation.console.note("nothing to remove from the journal")
        return ANSWERED
    which = "1 generation" if count == 1 else f"{count:,} generations"
    before = "" if moment == math.inf else f" from before {_date(moment)}"
    question = f"Remove {which}{before}?"
    if not consents(question, invocation, command="nextok log --prune … --yes"):
        return FAILED
    status = Status(invocation.console, time.monotonic)
    if count > _MANY:
        status.draw(f"removing {which} from the journal, and giving their room back …")
    try:
        journal.prune(moment)
    finally:
        status.clear()
    left = size(journal.size_bytes())
    invocation.console.note(f"removed {which} from the journal, which takes {left} now")
    return ANSWERED


def _excess(queries: JournalQueries, most_bytes: int) -> float:
    """The moment before which everything goes so that the rest takes no more than so much."""
    taken, rows = queries.size_bytes(), queries.count_before(math.inf)
    if taken <= most_bytes:
        return -math.inf
    a_row = max(1.0, (taken - _EMPTY_BYTES) / max(rows, 1))
    kept = max(0, int((most_bytes - _EMPTY_BYTES - _ROUNDED_BYTES) / a_row))
    moment = queries.moment_of(max(0, rows - kept))
    return math.inf if moment is None else moment


def _date(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment):%Y-%m-%d %H:%M}"
