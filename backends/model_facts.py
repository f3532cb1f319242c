"""What a model says about itself, for people: from its header alone, on any size of file.

Promises plain values or None. Trusts nothing: a key of the wrong type is an absent key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nextok.backends.ggml_types import FILE_TYPES, TYPES
from nextok.backends.gguf_header import Header, read_header
from nextok.backends.header_values import Values
from nextok.backends.kv_size import kv_bytes_per_token
from nextok.backends.recommended_sampling import recommended_sampling
from nextok.backends.split_files import part_paths


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """Sizes in bytes, lengths in tokens. None: the file does not say."""

    name: str | None
    architecture: str
    parameters: int
    """Numbers in all tensors."""
    quantization: str | None
    file_bytes: int
    """Of all parts."""
    files: int
    context_tokens: int | None
    """The context it was trained for."""
    layers: int | None
    heads: int | None
    """The most of any layer."""
    kv_heads: int | None
    embedding: int | None
    vocabulary: int | None
    tokenizer: str | None
    pre_tokenizer: str | None
    kv_bytes_per_token: int | None
    """None also where no formula holds: recurrent, hybrid or latent attention."""
    sliding_window: int | None
    sampling: Mapping[str, object]
    """Recommended settings, by the field names of Sampling."""
    chat_template: str | None
    license: str | None


def model_facts(path: Path, *, type_k: str = "f16", type_v: str = "f16") -> ModelFacts:
    """Read the facts from a model file, the first part first. Raises ModelError and OSError."""
    parts = [read_header(part) for part in part_paths(path)]
    return facts_of(parts, type_k=type_k, type_v=type_v)


def facts_of(parts: Sequence[Header], *, type_k: str = "f16", type_v: str = "f16") -> ModelFacts:
    """The facts of headers already read, in the order of the parts."""
    first = parts[0]
    values = Values(first)
    tokens = first.array("tokenizer.ggml.tokens")
    kv_heads = "attention.head_count_kv"
    return ModelFacts(
        name=first.text("general.name"),
        architecture=first.architecture,
        parameters=sum(tensor.elements for part in parts for tensor in part.tensors),
        quantization=_quantization(parts),
        file_bytes=sum(part.file_size for part in parts),
        files=len(parts),
        context_tokens=values.integer("context_length"),
        layers=values.integer("block_count"),
        heads=_most(values, "attention.head_count"),
        kv_heads=_most(values, kv_heads) or _most(values, "attention.head_count"),
        embedding=values.integer("embedding_length"),
        vocabulary=tokens.length if tokens else values.integer("vocab_size"),
        tokenizer=first.text("tokenizer.ggml.model"),
        pre_tokenizer=first.text("tokenizer.ggml.pre"),
        kv_bytes_per_token=kv_bytes_per_token(first, type_k=type_k, type_v=type_v),
        sliding_window=values.integer("attention.sliding_window") or None,
        sampling=recommended_sampling(first.metadata),
        chat_template=first.text("tokenizer.chat_template"),
        license=first.text("general.license"),
    )


def _most(values: Values, key: str) -> int | None:
    return max(values.per_layer(key) or [], default=None)


def _quantization(parts: Sequence[Header]) -> str | None:
    """The recipe the file names, else the type most of its matrices' numbers have."""
    recipe = FILE_TYPES.get(parts[0].integer("general.file_type") or 0)
    if recipe is not None and "general.file_type" in parts[0].metadata:
        return recipe
    numbers: Counter[int] = Counter()
    for tensor in (tensor for part in parts for tensor in part.tensors):
        numbers[tensor.type] += tensor.elements
    common = numbers.most_common(1)
    kind = TYPES.get(common[0][0]) if common else None
    return kind.name.upper() if kind else None
