"""The seam between the command line and whatever runs a model: open, tokenise, make, close."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from nextok.backends.options import ContextOptions
from nextok.generation.abort import Abort
from nextok.generation.model import Model, Sampler, Tokenizer
from nextok.generation.sampling import Sampling


class Context(Model, Protocol):
    """A Model that holds memory until it is closed."""

    def set_threads(self, threads: int) -> None:
        """How many compute from the next pass on; at first, as many as the options said."""

    def close(self) -> None:
        """Free it; its caches are void."""


class Chain(Sampler, Protocol):
    """A Sampler that holds memory until it is closed."""

    def close(self) -> None:
        """Free it."""


class LoadedTokenizer(Tokenizer, Protocol):
    """A Tokenizer that knows its vocabulary."""

    def __len__(self) -> int: ...

    @property
    def kind(self) -> str:
        """What kind of vocabulary it is: how texts are cut into tokens."""

    def longest_piece(self) -> int:
        """Bytes of the longest token's text. May take a walk over the vocabulary."""

    def special_text(self, name: str) -> str:
        """The text of the `bos` or `eos` token; empty if there is none."""


class Weights(Protocol):
    """A loaded model. `close` comes after that of everything made from it."""

    @property
    def name(self) -> str:
        """What a person calls this model."""

    @property
    def tokenizer(self) -> LoadedTokenizer: ...

    @property
    def trained_context(self) -> int:
        """Tokens the model was trained to see at once; 0 if it does not say."""

    @property
    def chat_template(self) -> str | None:
        """The jinja source it carries."""

    @property
    def recommended_sampling(self) -> Mapping[str, str]:
        """Its own sampling defaults, as texts, by the names of Sampling."""

    @property
    def quantization(self) -> str | None:
        """The recipe its file was made by, `Q4_K_M`; None if the file does not say."""

    @property
    def can_offload(self) -> bool:
        """Whether layers can be given to a GPU."""

    @property
    def computes_exactly(self) -> bool:
        """Whether a row comes out the same alone and in a batch, with the right settings."""

    @property
    def weight_bytes(self) -> int:
        """How large they are, all together."""

    @property
    def memory_can_be_cut(self) -> bool:
        """Whether its caches can be trimmed to any length, so that tokens can be taken back."""

    def open(self, options: ContextOptions, abort: Abort) -> Context:
        """A context. EngineError when it cannot be made, before memory is touched."""

    def flash_attention(self, options: ContextOptions) -> str:
        """What `auto` comes to in such a context: `on`, `off`, or `auto` where only the engine
        knows.
        """

    def state_identity(self, options: ContextOptions) -> str:
        """Equal texts: a cache of the one takes up the exported state of the other, and goes on
        as if it had computed it. Of model, engine and those options that matter to a state.

        ModelError when the model file can no longer be read.
        """

    def sampler(self, sampling: Sampling, *, context_size: int, history: Sequence[int]) -> Chain:
        """A sampler; `sampling.seed` is drawn already, `history` is what penalties look at."""

    def close(self) -> None:
        """Free the weights."""
