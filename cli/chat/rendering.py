"""From the messages of a conversation to the tokens of its next prompt.

The template is compiled once for a model. Knows nothing of caches or of what fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.backends.prompt_tokens import raw_tokens
from nextok.cli.console import Console
from nextok.cli.prompting import (
    PromptTokens,
    chat_template,
    fewest_tokens,
    named_template,
    templated,
)
from nextok.cli.settings import PromptSettings
from nextok.generation.errors import TemplateError
from nextok.generation.message import Message

if TYPE_CHECKING:
    from nextok.backends.chat_template import ChatTemplate
    from nextok.backends.weights import Weights

_SYSTEM_PROBE = "0x5157e3"
"""A system message that no template says by itself."""


@dataclass(frozen=True)
class Begun:
    """A reply that goes on where it was cut."""

    text: str
    """Tags and reasoning included."""
    ids: tuple[int, ...] | None
    """Its tokens, where they are known: the same text may be cut into others."""


class Rendering:
    """Renders for one model. Raises UsageError and TemplateError."""

    def __init__(self, weights: Weights, settings: PromptSettings, console: Console) -> None:
        """Says it when the model has no template."""
        self.settings = settings
        self._weights = weights
        source = named_template(settings.chat_template) or weights.chat_template
        self.source = source
        self._template = None if source is None else chat_template(weights, source)
        self._last: tuple[tuple[object, ...], PromptTokens] | None = None
        self._takes_system: bool | None = None
        if source is None:
            console.warning(
                f"{weights.name} has no chat template: what is said goes in as it is "
                "(--chat-template NAME gives it one)"
            )

    def tokens(self, messages: Sequence[Message], begun: Begun | None = None) -> PromptTokens:
        """The prompt for the next reply, which may have begun. The last one made is kept."""
        key = (*messages, begun, self.settings)
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        made = self._with_beginning(messages, begun)
        self._last = (key, made)
        return made

    def fewest_tokens(self, messages: Sequence[Message], limit: int) -> int:
        """How many they have at least, without rendering; 0 if clearly fewer than `limit`."""
        return fewest_tokens((one.content for one in messages), self._weights, limit)

    def takes_system(self) -> bool:
        """Whether a system message reaches the model in a role of its own."""
        if self._takes_system is None:
            self._takes_system = self._template is None or self._passes_system_on(self._template)
        return self._takes_system

    def _passes_system_on(self, template: ChatTemplate) -> bool:
        messages = [Message("system", _SYSTEM_PROBE), Message("user", "hello")]
        settings = self.settings._replace(fold_system=False)
        try:
            made = templated(self._weights, template, messages, settings, "")
        except TemplateError:
            return False
        return _SYSTEM_PROBE in made.text

    def _with_beginning(self, messages: Sequence[Message], begun: Begun | None) -> PromptTokens:
        if begun is None:
            return self._rendered(messages, "")
        if begun.ids is None:
            return self._rendered(messages, begun.text)
        made = self._rendered(messages, "")
        return made._replace(
            ids=(*made.ids, *begun.ids), text=made.text + begun.text, prefill=begun.text
        )

    def _rendered(self, messages: Sequence[Message], prefill: str) -> PromptTokens:
        if self._template is not None:
            settings = self.settings
            if settings.fold_system and self.takes_system():  # another model's may not
                settings = settings._replace(fold_system=False)
            return templated(self._weights, self._template, messages, settings, prefill)
        text = "\n\n".join(message.content for message in messages) + "\n\n" + prefill
        ids = raw_tokens(self._weights.tokenizer, text, special=False)
        return PromptTokens(ids=ids, text=text, raw=True, prefill=prefill)
