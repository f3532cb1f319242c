"""From the lines of a batch to what a model is given: tokens, and how the answer is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nextok.cli.batch_lines import Line
from nextok.cli.batch_resume import Conditions
from nextok.cli.console import Console
from nextok.cli.loaded import Loaded
from nextok.cli.oneshot import drawn, stop_strings
from nextok.cli.prompt import argument, written
from nextok.cli.prompting import (
    PromptTokens,
    chat_template,
    check_plausible,
    templated,
)
from nextok.cli.settings import StopSettings
from nextok.cli.thread_choice import is_repeatable
from nextok.generation.errors import ContextError, UsageError
from nextok.generation.message import Message

if TYPE_CHECKING:
    from nextok.backends.chat_template import ChatTemplate
    from nextok.generation.sampling import Sampling


class Prepared(NamedTuple):
    """A line as the model gets it."""

    line: Line
    prompt: PromptTokens
    sampling: Sampling
    """Its seed is drawn."""
    repeatable: bool
    """Whether the same tokens are expected of every run."""
    stops: StopSettings
    stop_strings: Sequence[str]
    conditions: str
    """The digest of the settings that hold for it."""

    def most_tokens(self, limit: int) -> int:
        """What it can come to, prompt and answer, in a context of `limit`."""
        if self.stops.max_tokens < 0:
            return limit
        return min(limit, len(self.prompt.ids) + max(1, self.stops.max_tokens))


class Preparation:
    """Of all lines, for one model. Says it once when there is no template."""

    def __init__(self, loaded: Loaded, source: str | None, console: Console) -> None:
        """source: of the template that overrides the model's own."""
        self._loaded = loaded
        self._settings = loaded.resolved.prompt
        self._prefill = argument(
            self._settings.prefill or "", "--prefill", self._settings.encoding
        )  # fmt: skip
        self._template = self._chat_template(source, console)
        self._conditions = Conditions(loaded, source)

    def prepared(self, line: Line) -> Prepared:
        """Raises UsageError, TemplateError, ContextError: the line is bad."""
        resolved = self._loaded.resolved
        if line.settings:
            resolved = resolved.with_set(line.settings)
        prompt = self._tokens(line)
        limit = self._loaded.context_limit
        if not prompt.ids:
            raise ContextError("its prompt has no tokens")
        if len(prompt.ids) >= limit:
            raise ContextError(
                f"its prompt has {len(prompt.ids)} tokens and the context holds {limit}, "
                "answer included: shorten it or raise --ctx-size"
            )
        return Prepared(
            line=line,
            prompt=prompt,
            sampling=drawn(resolved, self._loaded.weights),
            repeatable=is_repeatable(resolved),
            stops=resolved.stops,
            stop_strings=stop_strings(resolved),
            conditions=self._conditions.digest(line),
        )

    def _chat_template(self, source: str | None, console: Console) -> ChatTemplate | None:
        weights = self._loaded.weights
        source = source if source is not None else weights.chat_template
        if self._settings.raw:
            return None
        if source is None:
            console.warning(
                f"{weights.name} has no chat template: prompts go in as they are, like --raw "
                "(--chat-template NAME gives it one)"
            )
            return None
        return chat_template(weights, source)

    def _tokens(self, line: Line) -> PromptTokens:
        weights, settings = self._loaded.weights, self._settings
        messages = [*self._system(line), *line.messages]
        check_plausible(
            (message.content for message in messages), weights, self._loaded.context_limit
        )
        if self._template is not None:
            return templated(weights, self._template, messages, settings, self._prefill)
        if settings.raw and len(messages) > 1:
            raise UsageError("its messages need a chat template: leave out --raw")
        from nextok.backends.prompt_tokens import raw_tokens

        text = "\n\n".join(message.content for message in messages) + self._prefill
        ids = raw_tokens(weights.tokenizer, text, settings.special)
        return PromptTokens(ids=ids, text=text, raw=True)

    def _system(self, line: Line) -> Sequence[Message]:
        """The system message for all, where the line has none of its own."""
        system = self._settings.system
        if system is None or line.messages[0].role == "system":
            return ()
        return (Message("system", written(system, "--system", self._settings)),)
