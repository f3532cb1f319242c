"""From what the user wrote to the tokens the model is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nextok.cli.console import Console
from nextok.cli.prompt import PromptReader, argument
from nextok.cli.settings import PromptSettings
from nextok.generation.errors import ContextError, UsageError
from nextok.generation.message import Message, with_system_folded

if TYPE_CHECKING:
    from nextok.backends.chat_template import ChatTemplate
    from nextok.backends.weights import Weights

#: The names under which chat templates take the switch for reasoning.
_REASONING_SWITCHES = ("enable_thinking", "thinking")

#: Bytes. Only a text with so many for each token of the context is worth a closer look.
_LONG_TOKEN = 16


class PromptTokens(NamedTuple):
    """A prompt as the model gets it."""

    ids: Sequence[int]
    text: str
    raw: bool
    opened: str | None = None
    """The tag of a reasoning block that the template has opened."""
    prefill: str = ""


class Prompt(NamedTuple):
    """What the user wrote, read and decoded. Knows no model yet."""

    settings: PromptSettings
    text: str = ""
    """For a raw prompt."""
    messages: Sequence[Message] = ()
    """For a chat prompt."""
    prefill: str = ""
    template: str | None = None
    """Source of the template that overrides the model's own."""

    @property
    def asked(self) -> str:
        """The last thing the user said."""
        return self.messages[-1].content if self.messages else self.text

    def tokens(
        self, weights: Weights, console: Console, *, limit: int | None = None
    ) -> PromptTokens:
        """The tokens for this model. Says it when there is no template.

        limit: the context's size. Raises TemplateError, and ContextError for a prompt that cannot
        fit in it, before the time it takes to tokenise it.
        """
        if limit is not None:
            texts = (self.text, *(message.content for message in self.messages))
            check_plausible(texts, weights, limit)
        source = self.template if self.template is not None else weights.chat_template
        if self.settings.raw:
            return self._raw(weights, self.text)
        if source is None:
            console.warning(
                f"{weights.name} has no chat template: the prompt goes in as it is, like --raw "
                "(--chat-template NAME gives it one)"
            )
            return self._raw(weights, "\n\n".join(one.content for one in self.messages))
        return self._chat(weights, source)

    def _raw(self, weights: Weights, text: str) -> PromptTokens:
        from nextok.backends.prompt_tokens import raw_tokens

        text += self.prefill
        ids = raw_tokens(weights.tokenizer, text, self.settings.special)
        return PromptTokens(ids=ids, text=text, raw=True)

    def _chat(self, weights: Weights, source: str) -> PromptTokens:
        template = chat_template(weights, source)
        return templated(weights, template, self.messages, self.settings, self.prefill)


def check_plausible(texts: Iterable[str], weights: Weights, limit: int) -> None:
    """ContextError when texts cannot fit in a context of `limit` tokens, however they are cut."""
    fewest = fewest_tokens(texts, weights, limit)
    if fewest >= limit:
        raise ContextError(
            f"the prompt has more than {fewest} tokens and the context holds {limit}, "
            "answer included: shorten it or raise --ctx-size"
        )


def fewest_tokens(texts: Iterable[str], weights: Weights, limit: int) -> int:
    """How many tokens the texts have at least; 0 where that is clearly fewer than `limit`.

    The longest token bounds it: they need not be tokenised.
    """
    size = sum(len(text.encode("utf-8", errors="replace")) for text in texts)
    return 0 if size < limit * _LONG_TOKEN else size // weights.tokenizer.longest_piece()


def chat_template(weights: Weights, source: str) -> ChatTemplate:
    """The template, compiled for this model. Raises TemplateError."""
    from nextok.backends.chat_template import ChatTemplate

    tokenizer = weights.tokenizer
    return ChatTemplate(source, tokenizer.special_text("bos"), tokenizer.special_text("eos"))


def templated(
    weights: Weights,
    template: ChatTemplate,
    messages: Sequence[Message],
    settings: PromptSettings,
    prefill: str,
) -> PromptTokens:
    """A conversation, and the beginning of the reply to it, as tokens. Raises TemplateError."""
    from nextok.backends.prompt_tokens import chat_tokens

    if settings.fold_system:
        messages = with_system_folded(messages)
    chat = chat_tokens(
        weights.tokenizer, template, messages, variables=_variables(settings), prefill=prefill
    )
    return PromptTokens(
        ids=chat.tokens,
        text=chat.text,
        raw=False,
        opened=chat.opens_reasoning,
        prefill=prefill,
    )


def _variables(settings: PromptSettings) -> Mapping[str, object]:
    """What the template is told beside the messages."""
    switch = {} if settings.reasoning is None else dict.fromkeys(
        _REASONING_SWITCHES, settings.reasoning
    )  # fmt: skip
    return {**switch, **settings.chat_template_kwargs}


def read_prompt(settings: PromptSettings, console: Console) -> Prompt:
    """Read all of it, before a model is loaded. Raises UsageError."""
    check_agreement(settings)
    reader = PromptReader(settings, console.warning)
    prefill = argument(settings.prefill or "", "--prefill", settings.encoding)
    if settings.raw:
        return Prompt(settings=settings, text=reader.text(), prefill=prefill)
    return Prompt(
        settings=settings,
        messages=reader.messages(),
        prefill=prefill,
        template=named_template(settings.chat_template),
    )


def check_agreement(settings: PromptSettings) -> None:
    """UsageError for flags that exclude each other."""
    if settings.raw and (settings.messages or settings.system):
        flag = "--messages" if settings.messages else "--system"
        raise UsageError(f"{flag} needs a chat template: leave out --raw")
    if settings.special and not settings.raw:
        raise UsageError("--special goes with --raw: a chat template has its own control tokens")
    if settings.raw and settings.chat_template:
        raise UsageError("--chat-template goes without --raw, which uses no template")


def named_template(name: str | None) -> str | None:
    """The source of the template of that name or file. Raises UsageError."""
    if name is None:
        return None
    from nextok.backends.named_templates import load_template

    return load_template(name)
