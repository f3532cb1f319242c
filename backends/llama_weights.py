"""A model file in memory: weights, vocabulary, metadata. Contexts and samplers are made from it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.llama_library import (
    has_amx,
    library,
    log,
    supports_gpu,
    takes_halves_by_128,
)
from nextok.backends.llama_tokenizer import LlamaTokenizer
from nextok.backends.memory import available_bytes
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.recommended_sampling import recommended_sampling
from nextok.generation.abort import Abort
from nextok.generation.errors import ModelError

_LOAD_MODES = {  # (mmap, mlock): llama.h, enum llama_load_mode
    (False, False): 0,
    (True, False): 1,
    (False, True): 2,
    (True, True): 3,
}

#: llama.h, enum llama_ftype: Q4_0, Q4_1, Q8_0.
_EXACT_FILE_TYPES = frozenset((2, 3, 7))


# What is made from weights is imported when they are there: it is not needed to load them.
if TYPE_CHECKING:
    from nextok.backends.llama_model import LlamaModel
    from nextok.backends.llama_sampler import LlamaSampler
    from nextok.generation.sampling import Sampling


class LlamaWeights:
    """Loaded weights. `close` frees them; everything made from them must be closed before."""

    def __init__(self, model: object, path: Path, *, gpu_layers: int) -> None:
        """gpu_layers: how many were asked for; 0 where there is no GPU."""
        self._llama = library()
        self.model = model
        self.name = path.stem
        self._path = path
        self._gpu_layers = gpu_layers
        self._fingerprint: str | None = None
        vocabulary = self._llama.llama_model_get_vocab(model)
        self.tokenizer = LlamaTokenizer(vocabulary)
        self.can_offload = supports_gpu()
        self._spell_out_reasoning_tags()
        self.metadata: Mapping[str, str] = dict(self._read_metadata())

    @classmethod
    def load(
        cls,
        path: Path,
        options: LoadOptions,
        abort: Abort,
        progress: Callable[[float], None] | None = None,
    ) -> LlamaWeights:
        """Load a checked file. Raises Aborted, ModelError with the engine's reason."""
        llama = library()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = options.gpu_layers if supports_gpu() else 0
        params.load_mode = _LOAD_MODES[options.mmap, options.mlock]
        params.vocab_only = options.vocabulary_only
        # AMX kernels that GCC 12 has compiled end the process: it drops what their tile
        # configuration is filled with. Weights in plain buffers are multiplied without them.
        params.use_extra_bufts = not has_amx()
        callback = llama.llama_progress_callback(_Progress(abort, progress))
        params.progress_callback = callback
        log.clear()
        model = llama.llama_model_load_from_file(bytes(path), params)
        abort.check()
        if not model:
            raise ModelError(f"{path}: the engine cannot load it: {log.reason()}")
        return cls(model, path, gpu_layers=params.n_gpu_layers)

    @property
    def trained_context(self) -> int:
        """Tokens the model was trained to see at once."""
        architecture = self.metadata.get("general.architecture", "")
        length = self.metadata.get(f"{architecture}.context_length", "")
        return int(length) if length.isdigit() else 0

    @property
    def chat_template(self) -> str | None:
        """The jinja source the file carries."""
        source = self._llama.llama_model_chat_template(self.model, None)
        return source.decode("utf-8", errors="replace") if source else None

    @property
    def recommended_sampling(self) -> dict[str, str]:
        """The file's own sampling defaults, as texts, by the names of our settings."""
        return recommended_sampling(self.metadata)

    @property
    def quantization(self) -> str | None:
        """By the file's own word; also when the weights are freed."""
        from nextok.backends.ggml_types import FILE_TYPES

        number = self.metadata.get("general.file_type", "")
        return FILE_TYPES.get(int(number)) if number.isdigit() else None

    @property
    def description(self) -> str:
        """Architecture, size and quantisation in the engine's words: `llama 135M Q4_1`."""
        buffer = ctypes.create_string_buffer(128)
        self._llama.llama_model_desc(self.model, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    @property
    def computes_exactly(self) -> bool:
        """Whether its kernels give a row the same logits alone and in a batch of up to 63 rows."""
        return int(self._llama.llama_model_ftype(self.model)) in _EXACT_FILE_TYPES

    @property
    def weight_bytes(self) -> int:
        """All tensors together."""
        return int(self._llama.llama_model_size(self.model))

    @property
    def memory_can_be_cut(self) -> bool:
        """Not where layers keep a state instead of keys and values."""
        llama = self._llama
        return not (
            llama.llama_model_is_recurrent(self.model) or llama.llama_model_is_hybrid(self.model)
        )

    def open(self, options: ContextOptions, abort: Abort) -> LlamaModel:
        """A context over these weights. EngineError when memory is too small for it."""
        from nextok.backends.llama_model import LlamaModel

        self._check_memory(options)
        return LlamaModel(
            self.model,
            options._replace(flash_attention=self.flash_attention(options)),
            abort,
            vocabulary_size=len(self.tokenizer),
            keeps_partial_memory=self.memory_can_be_cut,
        )

    def flash_attention(self, options: ContextOptions) -> str:
        """What `auto` comes to in such a context: `on`, `off`, or the engine's own choice."""
        if self._gpu_layers != 0:
            return options.flash_attention
        from nextok.backends.llama_attention import flash_attention, heads_of

        return flash_attention(
            options,
            heads_of(self.model, self.metadata),
            computes_exactly=self.computes_exactly,
            takes_halves_by_128=takes_halves_by_128(),
        )

    def state_identity(self, options: ContextOptions) -> str:
        """Of the model, the engine and the options. The file is looked at once."""
        from nextok.backends.llama_identity import state_identity
        from nextok.backends.model_fingerprint import model_fingerprint

        self._fingerprint = self._fingerprint or model_fingerprint(self._path)
        return state_identity(
            self._fingerprint,
            options._replace(flash_attention=self.flash_attention(options)),
            self.metadata,
            gpu_layers=self._gpu_layers,
            computes_exactly=self.computes_exactly,
        )

    def sampler(
        self, sampling: Sampling, *, context_size: int, history: Sequence[int]
    ) -> LlamaSampler:
        """The native chain for these settings."""
        from nextok.backends.llama_sampler import LlamaSampler

        return LlamaSampler(self.tokenizer, sampling, context_size=context_size, history=history)

    def close(self) -> None:
        """Free the weights."""
        if self.model:
            self._llama.llama_model_free(self.model)
            self.model = None

    def _check_memory(self, options: ContextOptions) -> None:
        """Estimate first: the engine would allocate, and the kernel would end us for it."""
        llama = self._llama
        width = llama.llama_model_n_layer(self.model) * llama.llama_model_n_embd(self.model)
        available = available_bytes()
        # Generous enough to be above every layout; only near the limit is the exact figure read.
        if available is not None and 16 * width * options.context_size > available:
            from nextok.backends.context_fit import check_context_fits
            from nextok.backends.gguf_header import read_header

            check_context_fits(
                read_header(self._path),
                options.context_size,
                type_k=options.cache_type_k,
                type_v=options.cache_type_v,
                available=available,
            )

    def _spell_out_reasoning_tags(self) -> None:
        """Where a model fences its reasoning with control tokens, the text must show them."""
        from nextok.generation.reasoning import STYLES

        for style in STYLES:
            opening = self.tokenizer.encode(style.opening, special=True)
            if any(map(self.tokenizer.is_control, opening)):
                self.tokenizer.spell_out((style.opening, style.closing, *style.reopenings))
                self.tokenizer.spell_out(style.answers)

    def _read_metadata(self) -> Iterator[tuple[str, str]]:
        """Every scalar and string; the engine leaves arrays out."""
        for index in range(self._llama.llama_model_meta_count(self.model)):
            key = self._read(self._llama.llama_model_meta_key_by_index, index)
            yield key, self._read(self._llama.llama_model_meta_val_str_by_index, index)

    def _read(self, function: Callable[[object, int, object, int], int], index: int) -> str:
        length = function(self.model, index, None, 0)
        buffer = ctypes.create_string_buffer(max(length, 0) + 1)
        function(self.model, index, buffer, len(buffer))
        return buffer.value.decode("utf-8", errors="replace")


class _Progress:
    """Asked by the engine before each tensor; False cancels the load."""

    def __init__(self, abort: Abort, listener: Callable[[float], None] | None) -> None:
        self._abort = abort
        self._listener = listener

    def __call__(self, done: float, _data: object) -> bool:
        if self._listener is not None:
            self._listener(done)
        return self._abort.reason is None
