"""Guessing ahead for the lines of a batch: a drafter for each sequence."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from nextok.cli.speculation import Source, guess_source, row_cost
from nextok.generation.batch_guessing import Guessing, SharedCosts
from nextok.generation.step_costs import AssumedCosts, Costs, MeasuredCosts

if TYPE_CHECKING:
    from nextok.backends.options import ContextOptions
    from nextok.cli.console import Console
    from nextok.cli.loaded import Loaded
    from nextok.generation.abort import Abort


class BatchGuesses:
    """For one batch over one context."""

    def __init__(self, source: Source, loaded: Loaded, *, parallel: int, repeatable: bool) -> None:
        """repeatable: whether the same tokens are expected of every run, for any of the lines."""
        self._source = source
        tokenizer = loaded.weights.tokenizer
        self.guessing = Guessing(
            [source.drafter() for _ in range(parallel)],
            SharedCosts(_costs(source, loaded, repeatable=repeatable)),
            hope=source.hope,
            is_end=cache(tokenizer.is_end),
            vocabulary=len(tokenizer),
            clock=time.monotonic,
        )

    def close(self) -> None:
        """Free what the guesses came from."""
        self._source.close()


def batch_guesses(
    loaded: Loaded,
    options: ContextOptions,
    abort: Abort,
    console: Console,
    *,
    parallel: int,
    repeatable: bool,
) -> BatchGuesses | None:
    """What guesses for a context of such options; None where nothing can.

    Raises like `nextok.cli.speculation.speculation`.
    """
    source = guess_source(loaded, options, abort, console, threads=lambda: loaded.threads)
    if source is None:
        return None
    return BatchGuesses(source, loaded, parallel=parallel, repeatable=repeatable)


def _costs(source: Source, loaded: Loaded, *, repeatable: bool) -> Callable[[int], Costs]:
    """By the sequences in a pass, in passes with a token of each."""
    if not repeatable or loaded.rows_are_exact:
        return lambda sequences: MeasuredCosts()
    row = row_cost(loaded)

    def assumed(sequences: int) -> Costs:
        plain = 1 + (sequences - 1) * row
        return AssumedCosts(drafting=source.cost / plain, row=row / plain)

    return assumed
