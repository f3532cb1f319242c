"""Vocabularies the engine would end the process on, or be unable to use.

Promises the engine's own view of a token: C strings, so a NUL ends one (src/llama-vocab.cpp).
"""

from __future__ import annotations

from nextok.backends.gguf_header import Header
from nextok.backends.shown_text import shown

_TOKENS = "tokenizer.ggml.tokens"
_UNSET = (-1, 0xFFFFFFFF)
"""What converters write for "this model has no such token"."""


def vocabulary_fault(header: Header) -> str | None:
    """What is wrong with the tokenizer, in words; None when nothing is."""
    model = header.text("tokenizer.ggml.model")
    if model is None or model in ("none", "no_vocab"):
        return "it has no tokenizer"
    if model == "bert":
        return "its tokenizer (bert) is one of embedding models"
    if model == "rwkv" and "rwkv" not in header.architecture:
        return f"its tokenizer (rwkv) is not one of {shown(header.architecture, 40)} models"
    array = header.array(_TOKENS)
    if array is None or not array.is_text or array.length == 0:
        return f"it has no list of tokens ({_TOKENS})"
    return (
        _lengths(header, array.length)
        or _special_tokens(header, array.length)
        or _texts(model, array.strings())
    )


def _lengths(header: Header, tokens: int) -> str | None:
    """The engine reads a score and a type for every token; a longer list does no harm."""
    for key in ("scores", "token_type"):
        array = header.array(f"tokenizer.ggml.{key}")
        if array is not None and array.length < tokens:
            return f"it has {tokens} tokens and only {array.length} entries in {key}"
    return None


def _special_tokens(header: Header, tokens: int) -> str | None:
    """Padding and the like are out of range in real files and not used; begin and end are."""
    for name in ("bos", "eos"):
        key = f"tokenizer.ggml.{name}_token_id"
        token = header.integer(key)
        if token is not None and token not in _UNSET and not 0 <= token < tokens:
            return f"its {name}_token_id is {token}, and there are {tokens} tokens"
    return None


def _texts(model: str, tokens: list[bytes]) -> str | None:
    seen = _as_the_engine_sees(tokens)
    if len(seen) != len(tokens):
        return _first_double(tokens)
    if model in ("llama", "plamo2"):
        return _missing_byte(seen, whole_characters=model == "llama")
    return None


def _as_the_engine_sees(tokens: list[bytes]) -> set[bytes]:
    """The distinct texts; an empty one is given a name by its place."""
    seen = set(tokens)
    if b"" not in seen and b"\0" not in b"".join(seen):
        return seen
    return {_c_text(index, token) for index, token in enumerate(tokens)}


def _c_text(index: int, token: bytes) -> bytes:
    return token.partition(b"\0")[0] or b"[EMPTY_%d]" % index


def _first_double(tokens: list[bytes]) -> str:
    places: dict[bytes, int] = {}
    for index, token in enumerate(tokens):
        text = _c_text(index, token)
        if text in places:
            name = shown(text.decode("utf-8", "replace"), 40)
            return f"its tokens {places[text]} and {index} have the same text '{name}'"
        places[text] = index
    return "two of its tokens have the same text"


def _missing_byte(tokens: set[bytes], *, whole_characters: bool) -> str | None:
    """Text the vocabulary cannot spell is spelled in bytes, and a missing one is fatal."""
    for byte in range(256):
        alone = whole_characters and byte and bytes([byte]) in tokens
        if b"<0x%02X>" % byte not in tokens and not alone:
            return f"its vocabulary lacks the byte <0x{byte:02X}>, so some texts would crash it"
    return None
