"""What `nextok batch` was asked for."""

from typing import NamedTuple


class BatchSettings(NamedTuple):
    """How many prompts are run together, and what becomes of the results."""

    parallel: int | None = None
    """Sequences under way at once; None: up to 8, as memory allows."""
    ordered: bool = False
    """Whether results come in the order of the lines, not as they finish."""
    strict: bool = False
    """Whether a bad line ends the run before it begins."""
    results: str | None = None
    """Path of the results to go on from and to add to; None: standard output."""
    row_template: str | None = None
    """Path of a template that makes a prompt of each row."""
