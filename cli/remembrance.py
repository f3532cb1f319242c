"""The row that a single answer leaves in the journal, from a command line to its end.

Light: what takes notes is imported when there is a model to speak, what writes when it is over.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

from nextok.backends.folders import journal_file
from nextok.backends.journal_spool import leave_line
from nextok.cli.version import version

if TYPE_CHECKING:
    from pathlib import Path

    from nextok.backends.weights import Weights
    from nextok.cli.answer import Answer
    from nextok.cli.invocation import Invocation
    from nextok.cli.journaling import Notes
    from nextok.cli.loaded import Loaded
    from nextok.generation.errors import NextokError
    from nextok.generation.finish import FinishReason


class Remembrance:
    """Nothing is remembered of a run that ends before its model is found."""

    def __init__(self, invocation: Invocation) -> None:
        self.asked = ""
        """What the user said."""
        self._command = invocation.command
        self._settings = invocation.resolved.journal
        self._console = invocation.console
        self._is_verbose = invocation.resolved.output.verbose
        self._weights: Weights | None = None
        self._model: tuple[str, float] | None = None
        """What it is called, and when its load began."""

    def found(self, path: Path | None) -> None:
        """This is the model's file, or it is the toy; it is about to be loaded."""
        self._model = ("toy" if path is None else path.stem, time.monotonic())

    def loaded(self, loaded: Loaded) -> None:
        """These are the weights, and the settings that hold for them."""
        self._weights, self._settings = loaded.weights, loaded.resolved.journal

    @property
    def is_loaded(self) -> bool:
        """Whether there is a model to speak."""
        return self._weights is not None

    def listeners(self) -> list[Answer]:
        """What must hear all events, before anybody who may lose a reader."""
        return [self._notes] if self._model and self._settings.remembers else []

    def write(self, reason: FinishReason | None) -> None:
        """The answer is out. reason: why it ended, if not by itself. Never raises."""
        if not (self._model and self._settings.remembers):
            return
        self._notes.write(reason)
        if self._notes.aside is not None:
            kept = self._notes.aside.name
            self._console.note(f"the journal was damaged: a new one is begun, the old is {kept}")
        if self._notes.is_lost and self._is_verbose:
            self._console.plain("the journal could not be written: it has no row of this")

    def write_at_once(self, reason: FinishReason) -> None:
        """The process is about to be ended, wherever it is.

        While the engine maps a large file nothing else can be mapped, and an import needs that.
        """
        if self.is_loaded:
            self.write(reason)
        elif self._model and self._settings.remembers:
            self._leave_line(reason, *self._model)

    def write_failure(self, error: NextokError) -> None:
        """There is no answer, or no more of it."""
        from nextok.cli.journaling import reason_of

        self.write(reason_of(error))

    @cached_property
    def _notes(self) -> Notes:
        from nextok.cli.journaling import Begun, Notes

        model, at = self._model or ("", 0.0)
        return Notes(
            Begun(command=self._command, model=model, at=at, asked=self.asked),
            self._settings,
            clock=time.monotonic,
            now=time.time,
            quantization=lambda: self._weights.quantization if self._weights else None,
        )

    def _leave_line(self, reason: FinishReason, model: str, at: float) -> None:
        figures: dict[str, object] = {
            "ended_at": time.time(),
            "command": self._command,
            "model": model,
            "finish": reason.value,
            "version": version(),
            "load_seconds": time.monotonic() - at,
        }
        if self._settings.log_text:
            figures["asked"] = self.asked
        leave_line(journal_file(), figures)
