"""What goes into a batch: the lines that are good, and what becomes of those that are not.

Promises that bad lines are told in their order and counted, and that with `--strict` the run does
not begin. Knows nothing of results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nextok.cli.batch_lines import Line, place, read_lines, row_template
from nextok.cli.batch_rows import STANDARD_INPUT, BadRow, title
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import Loaded
from nextok.cli.status import Status
from nextok.cli.stdin import is_readable
from nextok.generation.abort import Abort
from nextok.generation.errors import NextokError, UsageError

# What comes after the load is imported then.
if TYPE_CHECKING:
    from nextok.cli.batch_prompts import Prepared


class BatchInput:
    """The file of prompts, or standard input."""

    def __init__(self, invocation: Invocation, status: Status, abort: Abort) -> None:
        """UsageError where no prompts are named."""
        self.name = _named(invocation.words)
        """A path, or "-"."""
        self.bad_lines = 0
        self._resolved = invocation.resolved
        self._console = invocation.console
        self._status = status
        self._abort = abort

    def lines(self) -> Iterator[Line]:
        """The good ones. UsageError when the input cannot be read or holds nothing."""
        prompt = self._resolved.prompt
        template = row_template(self._resolved.batch.row_template, prompt.encoding)
        found = 0
        refused = _Refused()
        for line in read_lines(self.name, prompt, template):
            found += 1
            if isinstance(line, BadRow):
                self._refuse(line, refused)
            else:
                yield line
        refused.check()
        if not found:
            raise UsageError(f"{title(self.name)} holds no prompt: write one on each line")

    def prepared(
        self, lines: Sequence[Line], loaded: Loaded, template: str | None
    ) -> Iterator[Prepared]:
        """As the model gets them. template: the source of the one that overrides its own."""
        from nextok.cli.batch_prompts import Preparation

        preparation = Preparation(loaded, template, self._console)
        refused = _Refused()
        for count, line in enumerate(lines):
            self._abort.check()
            self._status.show(f"tokenising: {count} of {len(lines)} lines")
            try:
                yield preparation.prepared(line)
            except NextokError as error:
                self._refuse(BadRow(line.number, str(error)), refused, type(error))
        self._status.clear()
        refused.check()

    def _refuse(self, bad: BadRow, refused: _Refused, kind: type[NextokError] = UsageError) -> None:
        """Say what is wrong with a line, or keep it until all that are have been found."""
        where = place(self.name, bad)
        if self._resolved.batch.strict:
            refused.add(kind(where))
            return
        self._status.clear()
        self._console.warning(f"skipped: {where}")
        self.bad_lines += 1


class _Refused:
    """Bad lines that end the run, once all of them are known."""

    def __init__(self) -> None:
        self._first: NextokError | None = None
        self._others = 0

    def add(self, error: NextokError) -> None:
        """In the order of the lines."""
        if self._first is None:
            self._first = error
        else:
            self._others += 1

    def check(self) -> None:
        """Raise the first one, and say how many there are."""
        if self._first is None:
            return
        remedy = "without --strict it is skipped"
        if self._others:
            remedy = f"{self._others + 1} bad lines: without --strict they are skipped"
        raise type(self._first)(f"{self._first} ({remedy})")


def _named(words: Sequence[str]) -> str:
    if words:
        return words[0]
    if is_readable():
        return STANDARD_INPUT
    raise UsageError("say which file holds the prompts, or - for standard input")
