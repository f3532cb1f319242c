"""One request among many: what is asked, how far it has come, and what of each is next.

Promises no work: whoever schedules passes asks what is next and says what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nextok.generation.account import Account
from nextok.generation.draft_length import DraftLength
from nextok.generation.events import Prefill, Step
from nextok.generation.finish import FinishReason
from nextok.generation.model import Cache, Chunk, Sampler
from nextok.generation.speculation import Drafter


@dataclass(frozen=True, kw_only=True)
class Request:
    """One generation among many: a Job less what all of them share."""

    prompt: Sequence[int]
    """At least one token, and fewer than `context_size`."""
    sampler: Sampler
    context_size: int
    """The most tokens it may have, prompt and answer together."""
    max_tokens: int = -1
    """-1: until the model stops or the context is full."""
    stops: Sequence[str] = ()
    timeout: float | None = None
    """Seconds from when its turn comes, like the next one; None: no limit."""
    first_token_timeout: float | None = None

    @property
    def most(self) -> int:
        """The most tokens its sequence can come to have."""
        if self.max_tokens < 0:
            return self.context_size
        return min(self.context_size, len(self.prompt) + max(1, self.max_tokens))


@dataclass
class Guesses:
    """What guesses ahead for one request."""

    drafter: Drafter
    length: DraftLength
    has_read: bool = False
    """Whether the drafter knows the prompt: it is told when it is asked for the first time."""


class Running:
    """A request with a sequence."""

    def __init__(self, place: int, request: Request, cache: Cache, account: Account) -> None:
        self.place = place
        self.request = request
        self.cache = cache
        self.account = account
        self.cached = self.read = len(cache.tokens)
        """Tokens of the prompt that are read."""
        self.history = list(request.prompt)
        """The prompt and all that was said since."""
        self.guesses: Guesses | None = None
        self.draft: list[int] = []
        """Guesses that the next pass is to verify."""
        self.last = 0.0
        """When its last token was drawn, or the prompt was read."""
        self.deadline: float | None = None
        self.first_token_deadline: float | None = None

    @property
    def produced(self) -> int:
        """Tokens that were said."""
        return len(self.history) - len(self.request.prompt)

    @property
    def token(self) -> int | None:
        """Drawn and not decoded yet; None while the prompt is read."""
        return self.history[-1] if self.produced else None

    @property
    def room(self) -> int:
        """How many guesses may be verified: if all come true there is one token more."""
        return self.request.most - len(self.history) - 1

    @property
    def unread(self) -> int:
        """Tokens of the prompt."""
        return len(self.request.prompt) - self.read

    @property
    def reading(self) -> Prefill:
        """How far the prompt is read."""
        return Prefill(self.read, len(self.request.prompt), self.cached)

    def begin(self, now: float) -> None:
        """Its turn has come."""
        request = self.request
        if request.timeout is not None:
            self.deadline = now + request.timeout
        if request.first_token_timeout is not None:
            self.first_token_deadline = now + request.first_token_timeout

    def is_late(self, now: float) -> bool:
        """Whether one of its times is over."""
        if self.deadline is not None and now >= self.deadline:
            return True
        first = self.first_token_deadline
        return first is not None and self.produced == 0 and now >= first

    def piece(self, room: int) -> Chunk:
        """The next tokens of the prompt; logits only after the last one."""
        tokens = self.request.prompt[self.read : self.read + room]
        return Chunk(self.cache, tokens, rows=int(len(tokens) == self.unread))

    def steps(self, drawn: Sequence[int], now: float) -> Iterator[Step]:
        """What it says in one pass, token by token; each is a part of it when it was taken."""
        gap = (now - self.last) / max(1, len(drawn))
        self.last = now
        for index, token in enumerate(drawn):
            self.history.append(token)
            yield Step(token, now, gap, drafted=self.draft[index : index + 1] == [token])

    def ended(self) -> FinishReason | None:
        """Whether it has said enough, and why."""
        if self.account.stop is not None:
            return FinishReason.STOP
        if self.produced == self.request.max_tokens:
            return FinishReason.LENGTH
        if len(self.history) >= self.request.context_size:
            return FinishReason.CONTEXT
        return None


def next_pass(running: Sequence[Running], rows: int) -> tuple[list[Chunk], list[Running]]:
    """What goes into a pass of so many tokens, and whose it is, in the order of the sequences.

    All that speak are in it; what is left is for those that read, first come, first served.
    """
    room = rows - sum(1 + len(one.draft) for one in running if one.token is not None)
    rooms: dict[int, int] = {}
    for one in sorted(running, key=lambda one: one.place):
        if one.token is None:
            rooms[one.place] = min(room, one.unread)
            room -= rooms[one.place]
    chunks, readers = [], []
    for one in running:
        if one.token is not None:
            chunks.append(Chunk(one.cache, (one.token, *one.draft), rows=1 + len(one.draft)))
        elif rooms[one.place]:
            chunks.append(one.piece(rooms[one.place]))
        else:
            continue
        readers.append(one)
    return chunks, readers
