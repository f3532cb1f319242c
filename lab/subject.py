"""The model under study, opened, with all that an experiment needs to run it.

Promises the real engine, the real abort path and no clock of its own. Refuses to know where the
model was found, who reads, and what is studied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nextok.backends.chat_template import ChatTemplate
from nextok.backends.options import CONTEXT_STEP, ContextOptions
from nextok.backends.prompt_tokens import chat_tokens, raw_tokens
from nextok.backends.weights import Chain, Context, LoadedTokenizer, Weights
from nextok.generation.abort import Abort
from nextok.generation.errors import ContextError
from nextok.generation.message import Message
from nextok.generation.nucleus import NucleusSampler
from nextok.generation.sampling import Sampling


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One model and how it is run. Whoever made it closes `weights`."""

    weights: Weights
    path: Path | None
    """Its file; None is the toy."""
    options: ContextOptions
    """How contexts are made, but for their size and their sequences."""
    sampling: Sampling
    """How tokens are drawn unless an experiment says otherwise. Its seed is drawn already."""
    context_limit: int
    """The most tokens of one sequence."""
    abort: Abort
    clock: Callable[[], float]
    exact: bool = False
    """Whether a token comes out the same alone, in a batch and from a cache."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.weights.name

    @property
    def settings(self) -> str:
        """How it is run, for a title: "135M Q4_1 · 2 threads"."""
        threads = self.options.threads
        said = [self.name, f"{threads} thread{'' if threads == 1 else 's'}"]
        quantization = self.weights.quantization
        if quantization and quantization.lower() not in self.name.lower():
            said.insert(1, quantization)
        return " · ".join(said)

    @property
    def tokenizer(self) -> LoadedTokenizer:
        """Of the model."""
        return self.weights.tokenizer

    def comparable(self) -> Subject:
        """The same, with the kind of attention that others have which are held against it: `auto`
        comes to another for some weights than for others.
        """
        if self.options.flash_attention != "auto" or self.weights.can_offload:
            return self
        return replace(self, options=self.options._replace(flash_attention="on"))

    @contextmanager
    def open(self, context_size: int, sequences: int = 1) -> Iterator[Context]:
        """A model to run, freed at the end.

        context_size: tokens, of all sequences together. Raises ContextError for more than a
        sequence may have, EngineError where memory is too small.
        """
        self.check_context(context_size, sequences)
        size = -(-context_size // CONTEXT_STEP) * CONTEXT_STEP
        options = self.options._replace(context_size=size, sequences=sequences)
        model = self.weights.open(options, self.abort)
        try:
            yield model
        finally:
            model.close()

    def check_context(self, context_size: int, sequences: int = 1) -> None:
        """ContextError if `open` would raise it."""
        if context_size > self.context_limit * sequences:
            raise ContextError(
                f"this needs a context of {context_size} tokens and there are at most "
                f"{self.context_limit}: ask for fewer tokens, or raise --ctx-size"
            )

    def prompt_tokens(self, text: str) -> list[int]:
        """What the user said, rendered by the chat template if there is one.

        Raises TemplateError.
        """
        source = self.weights.chat_template
        if source is None:
            return self.raw_tokens(text)
        tokenizer = self.tokenizer
        template = ChatTemplate(
            source, tokenizer.special_text("bos"), tokenizer.special_text("eos")
        )
        chat = chat_tokens(tokenizer, template, [Message("user", text)], variables={})
        return list(chat.tokens)

    def raw_tokens(self, text: str) -> list[int]:
        """The text as it stands, BOS before it."""
        return raw_tokens(self.tokenizer, text, False)

    def sampler(self, history: Sequence[int], sampling: Sampling | None = None) -> Chain:
        """The production sampler, to be closed. history: the prompt, for the penalties."""
        return self.weights.sampler(
            sampling or self.sampling, context_size=self.context_limit, history=history
        )

    def written_out(self, sampling: Sampling | None = None) -> NucleusSampler:
        """The sampler in plain Python: temperature, top-p and the seed are all it knows."""
        chosen = sampling or self.sampling
        return NucleusSampler(
            temperature=0.0 if chosen.greedy else chosen.temperature,
            top_p=chosen.top_p,
            seed=chosen.seed,
        )

    def text(self, tokens: Sequence[int]) -> str:
        """What they say."""
        pieces = b"".join(map(self.tokenizer.piece, tokens))
        return pieces.decode("utf-8", errors="replace")
