"""A prompt read with the help of what other runs have read, and for the help of others.

Promises the tokens that a run without it would come to. What is kept is taken from the cache at
the end of a pass, while the prompt is read, and written in a thread once there is a token: nobody
waits for it but the end of the process.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, suppress
from threading import Thread

from nextok.backends.prompt_prefixes import PromptPrefixes
from nextok.generation.events import Event, Token
from nextok.generation.model import Cache, Model
from nextok.generation.stopover import Stopover


class PromptReuse:
    """For one generation. `model`, then `followed`."""

    def __init__(self, prefixes: PromptPrefixes, *, at_once: bool) -> None:
        """at_once: whether a beginning is kept that has not been seen before."""
        self._prefixes = prefixes
        self._at_once = at_once
        self._length = 0
        self._state: bytes | None = None

    def model(self, model: Model, cache: Cache) -> Model:
        """Take up what is kept into an empty cache; what is to read the rest."""
        held = self._prefixes.restore(cache)
        self._length = self._prefixes.wanted(held, at_once=self._at_once)
        if self._length == 0:
            return model
        return Stopover(model, length=self._length, reached=self._export)

    def followed(self, events: Generator[Event, None, None]) -> Generator[Event, None, None]:
        """The same events. After the first token what is to be kept is written."""
        with closing(events):
            for event in events:
                yield event
                if isinstance(event, Token) and self._state is not None:
                    self._write(self._state)

    def _export(self, cache: Cache) -> None:
        with suppress(MemoryError):
            self._state = cache.export()

    def _write(self, state: bytes) -> None:
        """The process does not end before this, unless it is ended."""
        self._state = None
        Thread(target=self._keep, args=(state,), name="prompt cache", daemon=False).start()

    def _keep(self, state: bytes) -> None:
        with suppress(MemoryError):
            self._prefixes.keep(self._length, state)
