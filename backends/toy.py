"""A language model in sixty lines of Python: bytes for tokens, counted n-grams for weights.

It keeps every contract of the seam, so loops and experiments run on it in milliseconds, and it
shows that nothing in them depends on an engine. `-m toy` runs it.
"""

from __future__ import annotations

import math
import struct
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from nextok.backends.options import ContextOptions
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError
from nextok.generation.model import Cache, Chunk
from nextok.generation.nucleus import NucleusSampler
from nextok.generation.sampling import Sampling

BEGIN, END = 256, 257
_CONTROL = {"<|begin|>": BEGIN, "<|end|>": END}
_ORDER = 4
_TEXT = (
    "A language model does one thing. It looks at all the tokens so far and says how likely each "
    "token is to come next. One of them is drawn, it joins the others, and the model looks again. "
    "The prompt is read in one pass. The answer is not: each token waits for the one before it. "
    "That is why the first token takes a while and the others come at a steady pace."
)


class ToyTokenizer:
    """One token a byte, and two control tokens."""

    bos: int | None = BEGIN
    kind = "bytes"

    def __len__(self) -> int:
        return END + 1

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """UTF-8 bytes; with `special` the two control texts become their tokens."""
        if special:
            for name, token in _CONTROL.items():
                before, found, after = text.partition(name)
                if found:
                    return [*self.encode(before, special=True), token,
                            *self.encode(after, special=True)]  # fmt: skip
        return list(text.encode("utf-8", errors="replace"))

    def piece(self, token: int) -> bytes:
        """The byte itself."""
        return bytes([token]) if token < BEGIN else b""

    def text(self, token: int) -> str:
        """A byte as a character, a control token by its name."""
        names = {value: name for name, value in _CONTROL.items()}
        return names.get(token) or bytes([token]).decode("utf-8", errors="replace")

    def is_end(self, token: int) -> bool:
        return token == END

    def is_control(self, token: int) -> bool:
        return token >= BEGIN

    def longest_piece(self) -> int:
        return len("<|begin|>")

    def special_text(self, name: str) -> str:
        return {"bos": "<|begin|>", "eos": "<|end|>"}[name]


class ToyCache:
    """The ledger is all there is: these keys and values are the tokens themselves."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def trim(self, length: int) -> int:
        del self.tokens[length:]
        return len(self.tokens)

    def shift(self, keep: int, discard: int) -> bool:
        del self.tokens[keep : keep + discard]
        return True

    def fork(self) -> ToyCache:
        twin = ToyCache()
        twin.tokens.extend(self.tokens)
        return twin

    def export(self) -> bytes:
        return struct.pack(f"<{len(self.tokens)}H", *self.tokens)

    def restore(self, state: bytes, tokens: Sequence[int]) -> bool:
        fits = len(state) == 2 * len(tokens)
        self.tokens[:] = struct.unpack(f"<{len(tokens)}H", state) if fits else ()
        return fits

    def close(self) -> None:
        self.tokens.clear()


class ToyModel:
    """Next-byte counts after the longest known context of at most four bytes."""

    def __init__(self, options: ContextOptions, abort: Abort) -> None:
        self.context_size = options.context_size
        self.batch_size = options.batch_size
        self._abort = abort
        self._counts = _count(_TEXT)

    def new_cache(self) -> ToyCache:
        return ToyCache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> Sequence[float]:
        return self.extend([Chunk(cache, tokens)])[0]

    def decode(self, token: int, cache: Cache) -> Sequence[float]:
        return self.prefill((token,), cache)

    def extend(self, batch: Sequence[Chunk]) -> list[Sequence[float]]:
        rows: list[Sequence[float]] = []
        for chunk in batch:
            if not isinstance(chunk.cache, ToyCache):
                raise EngineError("a cache of another backend was handed to the toy")
            for index, token in enumerate(chunk.tokens):
                self._abort.check()
                chunk.cache.tokens.append(token)
                if index >= len(chunk.tokens) - chunk.rows:
                    rows.append(self._logits(chunk.cache.tokens))
        return rows

    def _logits(self, tokens: Sequence[int]) -> list[float]:
        for length in range(_ORDER, -1, -1):
            seen = self._counts.get(tuple(tokens[len(tokens) - length :]))
            if seen:
                break
        return [math.log(seen[token] + 1e-4) for token in range(END + 1)] if seen else []

    def set_threads(self, threads: int) -> None:
        """It computes with one, however many it is given."""

    def close(self) -> None:
        """Nothing is held."""


def _count(text: str) -> Mapping[tuple[int, ...], Counter[int]]:
    counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    tokens = [*text.encode(), END]
    for position, token in enumerate(tokens):
        for length in range(min(_ORDER, position) + 1):
            counts[tuple(tokens[position - length : position])][token] += 1
    return counts


class ToySampler(NucleusSampler):
    """The written-out nucleus sampler, as something to close."""

    def close(self) -> None:
        """Nothing is held."""


class Toy:
    """The toy as Weights."""

    name = "toy"
    trained_context = 4096
    chat_template = "{% for message in messages %}{{ message.content }}\n{% endfor %}"
    recommended_sampling: Mapping[str, str] = {}
    quantization: str | None = None
    can_offload = False
    computes_exactly = True
    memory_can_be_cut = True
    weight_bytes = len(_TEXT)

    def __init__(self) -> None:
        self.tokenizer = ToyTokenizer()

    def open(self, options: ContextOptions, abort: Abort) -> ToyModel:
        return ToyModel(options, abort)

    def flash_attention(self, options: ContextOptions) -> str:
        """It attends to nothing."""
        return options.flash_attention

    def state_identity(self, options: ContextOptions) -> str:
        """Its states are tokens: no option matters, and no version of its text."""
        return "toy"

    def sampler(
        self, sampling: Sampling, *, context_size: int, history: Sequence[int]
    ) -> ToySampler:
        """Temperature, top-p and the seed are honoured; the toy knows no other knob."""
        temperature = 0.0 if sampling.greedy else sampling.temperature
        return ToySampler(temperature=temperature, top_p=sampling.top_p, seed=sampling.seed)

    def close(self) -> None:
        """Nothing is held."""
