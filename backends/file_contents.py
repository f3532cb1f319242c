"""What a file is that is no GGUF, from its first bytes: so that a message can say what to do."""

from __future__ import annotations

import re

#: Enough for every signature below.
HEAD_BYTES = 512

_AGAIN = "download the file itself (on huggingface.co its link has /resolve/ in it, not /blob/)"
_CONVERT = "get a GGUF version of the model, or convert it with llama.cpp's convert_hf_to_gguf.py"
_UNPACK = "unpack it first"
_SIGNATURES = (
    (b"version https://git-lfs", "a git-LFS pointer, not the file: run `git lfs pull` there"),
    (b"PK\x03\x04", f"a zip archive (PyTorch weights?), not a GGUF: {_CONVERT}"),
    (b"\x80[\x02-\x05]", f"a Python pickle (PyTorch weights?), not a GGUF: {_CONVERT}"),
    (b"ggml|lmgg|fmgg|tjgg|algg|ggla", f"a GGML file from before GGUF: {_CONVERT}"),
    (rb"\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf", f"compressed, not a GGUF: {_UNPACK}"),
    (b"\x89HDF", f"an HDF5 file, not a GGUF: {_CONVERT}"),
    (rb"\s*(?i:<!doctype html|<html|<\?xml|<head)", f"a web page, not a model: {_AGAIN}"),
    (rb"\s*[{\[]", "JSON text, not a model (a server's error message?): download it again"),
    (b"\0{16}", "not a GGUF, it begins with zeros (an unfinished download?): download it again"),
)


def what_else(head: bytes) -> str:
    """What a file that begins like this is, and what to do about it."""
    if _is_safetensors(head):
        return f"a safetensors file, not a GGUF: {_CONVERT}"
    for pattern, what in _SIGNATURES:
        if re.match(pattern, head):
            return what
    if _is_text(head):
        return "a text file, not a model: give the path of a .gguf file"
    return f"not a GGUF file (it begins with {head[:4].hex(' ')}): give the path of a .gguf file"


def _is_safetensors(head: bytes) -> bool:
    """Eight bytes of length, then JSON of that length."""
    length = int.from_bytes(head[:8], "little")
    return head[8:10] in (b'{"', b"{ ", b"{}") and 0 < length < 1 << 32


def _is_text(head: bytes) -> bool:
    text = head.decode("utf-8", "ignore")
    return all(c.isprintable() or c.isspace() for c in text) and len(text) > len(head) / 2
