"""Makes room in the context for the next reply, by the user's rule, and says what went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nextok.backends.template_limits import MAX_SIZE
from nextok.cli.chat.rendering import Begun, Rendering
from nextok.cli.settings import FullMode
from nextok.generation.context_policy import Fit, fit, reserve_for
from nextok.generation.conversation import Conversation
from nextok.generation.errors import ContextError
from nextok.generation.message import Message
from nextok.generation.sliding import slid

if TYPE_CHECKING:
    from nextok.cli.prompting import PromptTokens
    from nextok.generation.model import Cache

_FRAME = 100
"""Characters that a template may put around a message."""
_USUAL, _LARGE = 4, 32
"""Characters of a token, and what a whole context full of them never has on average."""


class Room:
    """The context of one model, and what a conversation may take of it. Sizes in tokens."""

    def __init__(
        self, rendering: Rendering, context_size: int, note: Callable[[str], None]
    ) -> None:
        """note: says one line about what went."""
        self._rendering = rendering
        self._context_size = context_size
        self._note = note

    def make(
        self,
        conversation: Conversation,
        *,
        mode: FullMode,
        max_tokens: int,
        begun: Begun | None = None,
    ) -> None:
        """Drop what must go. Raises ContextError, with nothing dropped."""
        messages = conversation.messages()
        if begun is not None:
            if mode == "shift":
                return  # the tokens of a reply make room for more of it: see `within`
            messages = messages[:-1]  # it is the last reply, which goes on
        reserve = reserve_for(max_tokens, self._context_size) if mode == "drop" else 1
        fitting = self._fitting(messages, reserve, begun)
        if fitting.dropped_messages == 0:
            return
        if mode == "stop":
            raise ContextError(
                f"the conversation has {self._count(messages, begun)} tokens and the context holds "
                f"{self._context_size}: /clear begins anew, --on-full drop forgets the oldest"
            )
        window = conversation.window()
        conversation.drop_before(window[fitting.dropped_messages].id)
        self._note(
            f"the context is full: the oldest {fitting.dropped_messages} messages, "
            f"{fitting.dropped_tokens:,} tokens, are no longer read"
        )

    def _fitting(self, messages: Sequence[Message], reserve: int, begun: Begun | None) -> Fit:
        try:
            return fit(
                messages,
                count=lambda some: self._count(some, begun),
                context_size=self._context_size,
                reserve=reserve,
            )
        except ContextError:
            if begun is None:
                raise
            raise ContextError(
                f"the last message and its reply alone fill the context of {self._context_size} "
                "tokens: /clear begins anew, a larger --ctx-size holds more"
            ) from None

    def _count(self, messages: Sequence[Message], begun: Begun | None) -> int:
        estimate = self._estimate(messages)
        return estimate or len(self._rendering.tokens(messages, begun).ids)

    def _estimate(self, messages: Sequence[Message]) -> int:
        """About how many tokens, if the context or a template has no room for them; else 0."""
        size = sum(len(one.content) + _FRAME for one in messages)
        most = max(MAX_SIZE // 4, _LARGE * self._context_size)
        if size > min(most, MAX_SIZE - MAX_SIZE // 8):
            return max(self._context_size + 1, size // _USUAL)
        fewest = self._rendering.fewest_tokens(messages, self._context_size)
        return fewest if fewest > self._context_size else 0

    def within(self, tokens: PromptTokens, cache: Cache, *, keep: int) -> PromptTokens:
        """The prompt of a reply that goes on in a context that slides: it need not fit whole."""
        if len(tokens.ids) < self._context_size:
            return tokens
        ids = slid(tokens.ids, cache, keep=keep, context_size=self._context_size)
        return tokens._replace(ids=tuple(ids))

    def kept_beginning(self, messages: Sequence[Message]) -> int:
        """Tokens at the head of a prompt that stay when the rest slides: the system message's."""
        from nextok.generation.loop import shared_prefix

        if messages[0].role == "system":
            other = [messages[0], Message("user", "?")]
        else:
            other = [Message("user", "?")]
        tokens = self._rendering.tokens(other).ids
        return shared_prefix(tokens, self._rendering.tokens(messages).ids)
