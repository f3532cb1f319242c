"""Builds tiny GGUF models whose reply is scripted: the next token depends on the last one alone.

One layer, attention and feed-forward outputs zeroed, one-hot embeddings: the real engine runs
them, and the answer is known to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import gguf
import numpy as np

Piece: TypeAlias = str | bytes | tuple[str, str]

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
HEAD = 64
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<|sys|>' if m['role'] == 'system' else '<|user|>' if m['role'] == 'user' else '<|go|>' }}"
    "{{ m['content'] }}<|end|>{% endfor %}{% if add_generation_prompt %}<|go|>{% endif %}"
)


class Vocabulary:
    """SentencePiece-like: three specials, the 256 bytes, then what the script needs."""

    def __init__(self, extra_control: Sequence[str]) -> None:
        self.tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
        self.tokens += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
        self.ids = {text: index for index, (text, _) in enumerate(self.tokens)}
        for text in ("<|go|>", "<|user|>", "<|sys|>", "<|end|>", *extra_control):
            self.add(text, CONTROL)
        self.add("\u2581", NORMAL)

    def add(self, text: str, kind: int) -> int:
        if text not in self.ids:
            self.ids[text] = len(self.tokens)
            self.tokens.append((text, kind))
        return self.ids[text]

    def of_piece(self, piece: Piece) -> list[int]:
        if isinstance(piece, bytes):
            return [self.ids[f"<0x{byte:02X}>"] for byte in piece]
        if isinstance(piece, tuple):
            return [self.add(piece[1], CONTROL)]
        return [self.add(piece.replace(" ", "\u2581"), NORMAL)]

    def pad(self, multiple: int) -> None:
        while len(self.tokens) % multiple:
            self.tokens.append((f"<pad{len(self.tokens)}>", CONTROL))


def build(
    path: Path,
    script: Sequence[Piece],
    *,
    template: str | None = None,
    eos: str = "</s>",
    end: str | None = None,
    add_bos: bool = True,
    loop: bool = False,
    nan_at: int | None = None,
    fault: str = "nan",
    choices: Mapping[str, float] | None = None,
    ctx_train: int = 4096,
    extra_control: Sequence[str] = (),
    name: str = "scripted",
    meta: Mapping[str, Any] | None = None,
    big_mb: int = 0,
    weights: str = "F32",
    split_tensors: int = 0,
) -> dict[str, int]:
    """Write a model that says `script`; the token ids by text.

    A piece is str (one token), bytes (a byte token each) or ("ctl", text) for a control token; no
    token may come twice. The first follows <|go|> and every other token outside the script. `end`
    is the text of the token after it (default: eos); `loop` starts again instead. `choices` are
    texts of tokens, with the logits they have wherever the script would begin (all others have
    0); the end follows each. `template` "" is none. `nan_at` is the place in the script (in
    tokens) from where logits are NaN: all of them, or with the `fault` "first" that of token 0,
    with "next" that of the token to come; with "-inf" they all are minus infinity. `meta` adds
    or replaces metadata: str, bool, int (uint32), float (float32), list, or (GGUFValueType,
    value); None removes. `big_mb` appends a hole the engine never reads. `weights` is F32 or
    Q8_0. `split_tensors` cuts the model into files of so many tensors: STEM-00001-of-0000N.gguf.
    """
    vocabulary = Vocabulary(extra_control)
    chain = [token for piece in script for token in vocabulary.of_piece(piece)]
    if len(set(chain)) != len(chain):
        raise ValueError("each token may be used once in a script")
    after = chain[0] if loop else vocabulary.ids[end or eos]
    chosen = {vocabulary.of_piece(text)[0]: logit for text, logit in (choices or {}).items()}
    ids = dict(vocabulary.ids)
    vocabulary.pad(32)
    size = len(vocabulary.tokens)
    width = (size // HEAD + 1) * HEAD  # at least one dimension is nobody's
    metadata = _metadata(vocabulary, width, ctx_train, name, ids[eos], add_bos)
    if template != "":
        metadata["tokenizer.chat_template"] = TEMPLATE if template is None else template
    metadata |= dict(meta or {})
    tensors = _tensors(size, width, chain, after, chosen)
    if nan_at is not None:
        spoil(tensors, chain[nan_at], fault, [*chain, after][nan_at + 1])
    write(
        path,
        metadata,
        tensors,
        big_mb=big_mb,
        weights=weights,
        split_tensors=split_tensors,
    )
    return ids


def _metadata(
    vocabulary: Vocabulary, width: int, ctx_train: int, name: str, eos: int, add_bos: bool
) -> dict[str, Any]:
    return {
        "general.architecture": "llama",
        "general.name": name,
        "general.alignment": 32,
        "llama.context_length": ctx_train,
        "llama.embedding_length": width,
        "llama.block_count": 1,
        "llama.feed_forward_length": 64,
        "llama.attention.head_count": width // HEAD,
        "llama.attention.head_count_kv": width // HEAD,
        "llama.rope.dimension_count": HEAD,
        "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "llama.vocab_size": len(vocabulary.tokens),
        **tokenizer_metadata(vocabulary, eos, add_bos),
    }


def tokenizer_metadata(vocabulary: Vocabulary, eos: int, add_bos: bool) -> dict[str, Any]:
    """What a GGUF of any architecture says of this vocabulary."""
    size, integers = len(vocabulary.tokens), gguf.GGUFValueType.INT32
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [text for text, _ in vocabulary.tokens],
        "tokenizer.ggml.scores": [-1.0] * size,
        "tokenizer.ggml.token_type": (integers, [kind for _, kind in vocabulary.tokens]),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": eos,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": add_bos,
        "tokenizer.ggml.add_space_prefix": False,
    }


def _tensors(
    size: int, width: int, chain: Sequence[int], after: int, chosen: Mapping[int, float]
) -> dict[str, np.ndarray[Any, Any]]:
    embedding = np.eye(size, width, dtype=np.float32)
    output = np.zeros((size, width), np.float32)
    if chain:
        output[chain[0]] = 3.0
    for token, logit in chosen.items():
        output[token] = logit / width**0.5  # what the norm makes of a one-hot row
    ends = dict.fromkeys(chosen, after) | dict(zip(chain, [*chain, after][1:], strict=True))
    for token, successor in ends.items():
        output[:, token] = 0.0
        output[successor, token] = 3.0
    ones, square = np.ones(width, np.float32), np.zeros((width, width), np.float32)
    up = np.zeros((64, width), np.float32)
    blocks = {"attn_norm": ones, "attn_q": square, "attn_k": square, "attn_v": square}
    blocks |= {"attn_output": square, "ffn_norm": ones, "ffn_gate": up, "ffn_up": up}
    blocks |= {"ffn_down": np.zeros((width, 64), np.float32)}
    tensors = {"token_embd.weight": embedding, "output_norm.weight": ones, "output.weight": output}
    return tensors | {f"blk.0.{name}.weight": tensor for name, tensor in blocks.items()}


def spoil(tensors: dict[str, np.ndarray[Any, Any]], token: int, fault: str, successor: int) -> None:
    """Make the logits after `token` what `build` calls a fault."""
    embedding, output = tensors["token_embd.weight"], tensors["output.weight"]
    huge, spare = np.float32(3e38), output.shape[1] - 1
    if fault == "nan":
        embedding[token] = np.nan
    elif fault == "-inf":
        output[:, token] = -huge
    else:  # infinity minus infinity, and of no other token's row: NaN times 0 is NaN
        embedding[token, spare] = 1.0
        row = {"first": 0, "next": successor}[fault]
        output[:, spare] = 0.0
        output[row, token], output[row, spare] = huge, -huge


def write(
    path: Path,
    metadata: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray[Any, Any]],
    *,
    big_mb: int = 0,
    weights: str = "F32",
    split_tensors: int = 0,
) -> None:
    """Write any GGUF. Arguments as in `build`."""
    writer = gguf.GGUFWriter(path, arch="", split_max_tensors=split_tensors)
    writer.kv_data = [{}]
    for key, value in metadata.items():
        if value is not None:
            _add(writer, key, value)
    for name, tensor in tensors.items():
        _add_tensor(writer, name, tensor, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if big_mb:
        os.truncate(path, path.stat().st_size + (big_mb << 20))


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    kinds = gguf.GGUFValueType
    if isinstance(value, tuple):
        kind, plain = value
        if isinstance(plain, list):
            writer.add_key_value(key, plain, kinds.ARRAY, sub_type=kind)
        else:
            writer.add_key_value(key, plain, kind)
    elif isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    else:
        writer.add_string(key, value)


def _add_tensor(
    writer: gguf.GGUFWriter, name: str, tensor: np.ndarray[Any, Any], weights: str
) -> None:
    kind = gguf.GGMLQuantizationType[weights]
    block = gguf.GGML_QUANT_SIZES[kind][0]
    if tensor.ndim < 2 or tensor.shape[-1] % block or kind == gguf.GGMLQuantizationType.F32:
        writer.add_tensor(name, tensor)
        return
    data = gguf.quants.quantize(tensor, kind)
    writer.add_tensor(name, data, raw_dtype=kind)
