"""Header values on which the engine does not report an error but ends the process.

Each rule below is an assertion in llama.cpp (src/llama-model.cpp, load_hparams; src/models/*;
ggml-cpu/ops.cpp), asked here first. What the engine itself refuses with a text is left to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from nextok.backends.architectures import FULL_ROTARY, RECURRENT
from nextok.backends.gguf_header import Header
from nextok.backends.shown_text import shown

MAX_LAYERS, MAX_EXPERTS = 512, 1024
_MAX_EMBEDDING = 1 << 20
_MAX_CONTEXT = (1 << 31) - 1
_MAX_WINDOW = 1 << 30
_MAX_HEADS = 1 << 14
_ROPE_SCALINGS = ("none", "linear", "yarn", "longrope")
_EPSILONS = ("layer_norm_epsilon", "layer_norm_rms_epsilon", "group_norm_epsilon")


class Values:
    """A header's values, asked for by the short names they have within one architecture."""

    def __init__(self, header: Header) -> None:
        self._header = header

    def integer(self, key: str) -> int | None:
        """A whole number, None when absent."""
        return self._header.integer(self._header.of_architecture(key))

    def real(self, key: str) -> float | None:
        """Any number, None when absent."""
        value = self._header.metadata.get(self._header.of_architecture(key))
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, key: str) -> str | None:
        """A string, None when absent."""
        return self._header.text(self._header.of_architecture(key))

    def per_layer(self, key: str) -> list[int] | None:
        """One number a layer, as an array or a single one for all; None when absent."""
        array = self._header.array(self._header.of_architecture(key))
        if array is not None:
            short = array.length <= MAX_LAYERS
            return [int(n) for n in array.numbers() if math.isfinite(n)] if short else None
        single = self.integer(key)
        return None if single is None else [single] * min(self.layers, MAX_LAYERS)

    @property
    def layers(self) -> int:
        """How many blocks the model has."""
        return self.integer("block_count") or 0

    def head_sizes(self) -> tuple[int, int] | None:
        """Length of one head's key and value; None without attention heads."""
        heads = self.per_layer("attention.head_count")
        if not heads or heads[0] < 1:
            return None
        default = (self.integer("embedding_length") or 0) // heads[0]
        key, value = self.integer("attention.key_length"), self.integer("attention.value_length")
        return default if key is None else key, default if value is None else value


def value_fault(header: Header) -> str | None:
    """The first value the engine would not survive, in words; None when there is none."""
    values = Values(header)
    for check in _CHECKS:
        for fault in check(values, header.architecture):
            return fault
    return None


def _sizes(values: Values, _: str) -> Iterator[str]:
    for key, limit in (("embedding_length", _MAX_EMBEDDING), ("context_length", _MAX_CONTEXT)):
        value = values.integer(key)
        if value is not None and not 1 <= value <= limit:
            yield f"its {key} is {value}"


def _layers(values: Values, _: str) -> Iterator[str]:
    layers, nextn = values.integer("block_count"), values.integer("nextn_predict_layers") or 0
    if layers is None:
        yield "its header does not say how many layers there are (block_count)"
    elif not 1 <= layers <= MAX_LAYERS:
        yield f"its block_count is {layers}, and 1 to {MAX_LAYERS} are supported"
    elif not 0 <= nextn < layers:
        yield f"{nextn} of its {layers} layers are said to predict further tokens"


def _experts(values: Values, architecture: str) -> Iterator[str]:
    count = values.integer("expert_count") or 0
    if count <= 1 and architecture in ("hunyuan_vl", "hunyuan-dense"):
        return
    used = max(values.per_layer("expert_used_count") or [0])
    groups = values.integer("expert_group_count") or 0
    if not 0 <= count <= MAX_EXPERTS:
        yield f"its expert_count is {count}, and at most {MAX_EXPERTS} are supported"
    elif count == 0 and (used or groups):
        yield "it uses experts and has none (expert_count)"
    elif count and not 0 < used <= count:
        yield f"it uses {used} of {count} experts (expert_used_count)"
    elif groups > 1 and not (
        groups < count
        and count % groups == 0
        and 0 < (values.integer("expert_group_used_count") or 0) < groups
    ):
        yield f"its {count} experts do not go into {groups} groups (expert_group_count)"
    elif count and groups >= count:
        yield f"it has {groups} groups for {count} experts (expert_group_count)"


def _rope_scaling(values: Values, _: str) -> Iterator[str]:
    scaling = values.text("rope.scaling.type")
    if scaling is not None and scaling not in _ROPE_SCALINGS:
        names = ", ".join(_ROPE_SCALINGS)
        yield f"its rope.scaling.type is '{shown(scaling, 40)}', and known are {names}"


def _epsilons(values: Values, _: str) -> Iterator[str]:
    for key in _EPSILONS:
        epsilon = values.real(f"attention.{key}")
        if epsilon is not None and not epsilon >= 0:  # NaN is not either
            yield f"its {key} is {epsilon}"


def _heads(values: Values, architecture: str) -> Iterator[str]:
    if architecture in RECURRENT:
        return
    heads = values.per_layer("attention.head_count") or [0]
    groups = values.per_layer("attention.head_count_kv") or heads
    if heads[0] < 1 and max(heads) < 1:
        yield "it has no attention heads (head_count)"
    elif max(groups) < 1:
        yield "it has no key-value heads (head_count_kv)"
    elif max(heads) > _MAX_HEADS:
        yield f"it has {max(heads)} attention heads (head_count)"
    elif any(k < 0 or (k and h % k) for h, k in zip(heads, groups, strict=False)):
        yield f"its {max(heads)} heads do not go into {max(groups)} key-value heads"


def _rotary(values: Values, architecture: str) -> Iterator[str]:
    sizes = values.head_sizes()
    if sizes is None:
        return
    key, value = sizes
    dimensions = values.integer("rope.dimension_count")
    whole = architecture in FULL_ROTARY
    if not (0 < key <= _MAX_EMBEDDING and 0 < value <= _MAX_EMBEDDING):
        yield f"its heads are {key} and {value} wide (key_length, value_length)"
    elif whole and key != value:
        yield f"its keys are {key} wide and its values {value} (key_length, value_length)"
    elif whole and (key if dimensions is None else dimensions) != key:
        yield f"its rope.dimension_count is {dimensions} where {key} is needed"
    elif (dimensions is not None and dimensions > key) or (dimensions or 0) % 2:
        yield f"its rope.dimension_count is {dimensions} with heads {key} wide"
    elif whole and key % 2:
        yield f"its heads have the odd width {key}"


def _sliding(values: Values, architecture: str) -> Iterator[str]:
    """Layers that see only a window may have heads and rotary dimensions of their own."""
    sizes = values.head_sizes() or (0, 0)
    width = values.integer("attention.key_length_swa")
    width = sizes[0] if width is None else width
    dimensions = values.integer("rope.dimension_count_swa")
    whole = architecture in FULL_ROTARY
    if dimensions is not None and (
        dimensions > width or dimensions % 2 or (whole and dimensions != width)
    ):
        yield f"its rope.dimension_count_swa is {dimensions} with heads {width} wide"
    window = values.integer("attention.sliding_window") or 0
    if not 0 <= window <= _MAX_WINDOW:
        yield f"its sliding_window is {window}"


_CHECKS = (_sizes, _layers, _experts, _rope_scaling, _epsilons, _heads, _rotary, _sliding)
