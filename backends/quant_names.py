"""What the name of a model file says: its quantisation, and whether it is a model at all.

Knows names only, in the manner of those who publish GGUF files.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_QUANT = re.compile(
    r"(?<![A-Za-z0-9])"
    r"(?P<kind>(?:UD-)?)"
    r"(?P<type>IQ\d(?:_[A-Z0-9]+)*|T?Q\d(?:_[A-Z0-9]+)*|I2_S|BF16|F16|F32|FP16|FP32|[MN][XV]FP4(?:_MOE)?)"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^.\-_ ]+")
_TOKEN = re.compile(r"[^.\- ]+")
_PART_SUFFIX = re.compile(r"-\d{5}-of-\d{5}$")

NEVER = {"mmproj": "the part that sees images", "imatrix": "an importance matrix"}
"""Words in the names of files that no engine runs alone, and what they are."""
HEADS = ("mtp", "eagle3", "dflash", "dspark", "draft")
"""Words in the names of files that help another model; to be had by their own name alone."""
FLOATS = ("F32", "BF16", "F16", "FP16", "FP32")
"""Not quantised: larger than it is worth to most."""


def stem(path: str) -> str:
    """The file's name without ending and without the number of a part."""
    name = PurePosixPath(path).name
    return _PART_SUFFIX.sub("", name[: -len(".gguf")] if name.lower().endswith(".gguf") else name)


def quant_of(path: str) -> str | None:
    """The last quantisation that the name has, else its folder's, in upper case."""
    folder = PurePosixPath(path).parent.name
    for text in (stem(path), folder):
        found = list(_QUANT.finditer(text))
        if found:
            return found[-1][0].upper()
    return None


def word_for(path: str, words: tuple[str, ...]) -> str | None:
    """The first word of the file's name that is one of these."""
    own = (word.lower() for word in _WORD.findall(PurePosixPath(path).name))
    return next((word for word in own if word in words), None)


def has_tokens(path: str, tag: str) -> bool:
    """Whether the tag is in the name or its folder's as whole tokens, without regard to case."""
    wanted = [token.lower() for token in _TOKEN.findall(tag)]
    return any(
        wanted == tokens[at : at + len(wanted)]
        for tokens in (_tokens(stem(path)), _tokens(PurePosixPath(path).parent.name))
        for at in range(len(tokens))
    )


def is_variant(path: str) -> bool:
    """Whether the name marks a special recipe (UD-, I-), to be had only by naming it."""
    tokens = _tokens(stem(path))
    return "ud" in tokens or "i" in tokens


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)]
