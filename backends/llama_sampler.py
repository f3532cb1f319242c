"""llama.cpp's own sampler chain, in llama.cpp's order (common/sampling.cpp)."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nextok.backends.llama_library import library
from nextok.backends.llama_model import LlamaLogits
from nextok.backends.llama_tokenizer import LlamaTokenizer
from nextok.generation.errors import EngineError
from nextok.generation.model import Logits
from nextok.generation.sampling import Sampling

_MIN_KEEP = 1


class LlamaSampler:
    """Draws in C, on a copy of the logits that never becomes Python objects."""

    def __init__(
        self,
        tokenizer: LlamaTokenizer,
        sampling: Sampling,
        *,
        context_size: int,
        history: Sequence[int] = (),
    ) -> None:
        """sampling.seed must be drawn already. history: the prompt, which penalties look at."""
        self._llama = library()
        self._tokenizer = tokenizer
        self._sampling = sampling
        self._context_size = context_size
        self._history = history
        self._chain = self._make_chain()
        self.reset()

    @property
    def chain(self) -> Any:
        """The engine's handle, for who looks into it."""
        return self._chain

    def sample(self, logits: Logits) -> int:
        """Draw a token and accept it. EngineError when the logits are not numbers."""
        if not isinstance(logits, LlamaLogits):
            raise EngineError("logits of another backend were handed to llama.cpp's sampler")
        token = int(self._llama.llama_sampler_sample(self._chain, logits.context, logits.row))
        # A chain fed NaN or nothing but -inf draws some token all the same.
        if not math.isfinite(logits[token]) or logits.holds_nan():
            raise EngineError(
                "the model's logits are NaN or infinite: the file may be damaged "
                "(nextok show names it; fetch it again)"
            )
        return token

    def accept(self, token: int) -> None:
        """Count a token that was not drawn here."""
        self._llama.llama_sampler_accept(self._chain, token)

    def reset(self) -> None:
        """Start again: same random stream, and only the prompt counted."""
        self._llama.llama_sampler_reset(self._chain)
        for token in self._counted_history():
            self.accept(token)

    def close(self) -> None:
        """Free the chain."""
        if self._chain:
            self._llama.llama_sampler_free(self._chain)
            self._chain = None

    def _counted_history(self) -> Sequence[int]:
        """The part of the prompt that penalties and DRY can see."""
        sampling = self._sampling
        window = 0
        if sampling.penalises:
            window = self._window(sampling.repeat_last_n)
        if sampling.dry_multiplier > 0:
            window = max(window, self._window(sampling.dry_penalty_last_n))
        return self._history[-window:] if window else ()

    def _window(self, last_n: int) -> int:
        """The engine sets aside as much as it is told, and more than the context is never seen."""
        return self._context_size if last_n < 0 else min(last_n, self._context_size)

    def _make_chain(self) -> Any:
        params = self._llama.llama_sampler_chain_default_params()
        chain = self._llama.llama_sampler_chain_init(params)
        for sampler in self._links():
            if not sampler:
                raise EngineError("the engine refused a sampler")
            self._llama.llama_sampler_chain_add(chain, sampler)
        return chain

    def _links(self) -> Iterator[Any]:
        sampling = self._sampling
        biases = self._biases()
        if biases:
            yield self._logit_bias(biases)
        if sampling.mirostat:
            yield self._llama.llama_sampler_init_temp(sampling.temperature)
            yield self._mirostat()
            return
        makers = self._makers()
        names = sampling.samplers
        if sampling.greedy:  # cuts and temperature cannot change which token is the best
            names = tuple(name for name in names if name in ("penalties", "dry"))
        for name in names:
            yield makers[name]()
        if sampling.greedy:
            yield self._llama.llama_sampler_init_greedy()
        else:
            yield self._llama.llama_sampler_init_dist(sampling.seed)

    def _makers(self) -> dict[str, Callable[[], Any]]:
        """How each step of the chain is made, by llama.cpp's names."""
        s, llama = self._sampling, self._llama
        return {
            "penalties": self._penalties,
            "dry": self._dry,
            "top_n_sigma": lambda: llama.llama_sampler_init_top_n_sigma(s.top_n_sigma),
            "top_k": lambda: llama.llama_sampler_init_top_k(s.top_k),
            "typ_p": lambda: llama.llama_sampler_init_typical(s.typical, _MIN_KEEP),
            "top_p": lambda: llama.llama_sampler_init_top_p(s.top_p, _MIN_KEEP),
            "min_p": lambda: llama.llama_sampler_init_min_p(s.min_p, _MIN_KEEP),
            "xtc": lambda: llama.llama_sampler_init_xtc(
                s.xtc_probability, s.xtc_threshold, _MIN_KEEP, s.seed
            ),
            "temperature": lambda: llama.llama_sampler_init_temp_ext(
                s.temperature, s.dynatemp_range, s.dynatemp_exp
            ),
        }

    def _penalties(self) -> Any:
        s = self._sampling
        return self._llama.llama_sampler_init_penalties(
            len(self._tokenizer),
            self._window(s.repeat_last_n),
            s.repeat_penalty,
            s.frequency_penalty,
            s.presence_penalty,
        )

    def _dry(self) -> Any:
        s = self._sampling
        breakers = [text.encode() for text in s.dry_sequence_breakers]
        return self._llama.llama_sampler_init_dry(
            self._tokenizer.vocabulary,
            s.dry_multiplier,
            s.dry_base,
            s.dry_allowed_length,
            self._window(s.dry_penalty_last_n),
            (ctypes.c_char_p * len(breakers))(*breakers),
            len(breakers),
        )

    def _mirostat(self) -> Any:
        s, llama = self._sampling, self._llama
        if s.mirostat == 1:
            return llama.llama_sampler_init_mirostat(
                len(self._tokenizer), s.seed, s.mirostat_ent, s.mirostat_lr, 100
            )
        return llama.llama_sampler_init_mirostat_v2(s.seed, s.mirostat_ent, s.mirostat_lr)

    def _biases(self) -> list[tuple[int, float]]:
        """The user's, the vocabulary's suppressed tokens, and the end tokens if ignored."""
        biases = list(self._sampling.logit_bias)
        count = ctypes.c_int32()
        suppressed = self._llama.llama_vocab_get_suppress_tokens(
            self._tokenizer.vocabulary, ctypes.byref(count)
        )
        biases += [(suppressed[index], -math.inf) for index in range(count.value)]
        if self._sampling.ignore_eos:
            biases += [(token, -math.inf) for token in self._tokenizer.end_tokens()]
        return biases

    def _logit_bias(self, biases: list[tuple[int, float]]) -> Any:
        bias = self._llama.llama_logit_bias
        entries = (bias * len(biases))(*(bias(token, value) for token, value in biases))
        return self._llama.llama_sampler_init_logit_bias(len(self._tokenizer), len(biases), entries)
