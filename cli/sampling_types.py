"""Flag values only sampling has: an order of its steps, a bias on a token.

The same contract as the kinds of `nextok.cli.flag_types`.
"""

from __future__ import annotations

import re

from nextok.cli.flag_types import Written, text_of
from nextok.cli.number_types import DECIMAL
from nextok.cli.settings import LogitBias
from nextok.generation.sampling import SAMPLERS

_BIAS_BY_ID = re.compile(r"([0-9]+)([+-].+)", re.ASCII)
#: llama.cpp's own other names for its steps.
_SAMPLER_ALIASES = {
    "top-k": "top_k",
    "top-p": "top_p",
    "nucleus": "top_p",
    "min-p": "min_p",
    "typical": "typ_p",
    "typical-p": "typ_p",
    "typical_p": "typ_p",
    "typ": "typ_p",
    "typ-p": "typ_p",
    "top-n-sigma": "top_n_sigma",
    "top-nsigma": "top_n_sigma",
    "temp": "temperature",
}


class Samplers:
    """Names of sampling steps in the order they are to run."""

    metavar = "A;B;…"
    expected = f"names out of {', '.join(SAMPLERS)}, with ; between them"

    def parse(self, text: str) -> object:
        return self._known(text.replace(",", ";").split(";"))

    def accept(self, value: object) -> object:
        return self._known(value) if isinstance(value, list) else self.parse(text_of(value))

    def _known(self, names: list[str]) -> tuple[str, ...]:
        written = [text_of(name).strip().lower() for name in names]
        known = tuple(_SAMPLER_ALIASES.get(name, name) for name in written)
        if not set(known) <= set(SAMPLERS) or len(set(known)) < len(known):
            raise ValueError
        return known


class Bias(Written):
    """A token, by id or by its text, and what is added to its score."""

    metavar = "ID±X|TEXT=X"
    expected = "ID+X, ID-X or TEXT=X, where X is a number (or -inf, to ban the token)"

    def parse(self, text: str) -> object:
        by_id = _BIAS_BY_ID.fullmatch(text)
        if by_id and int(by_id[1]) < 2**31:
            return LogitBias(token=int(by_id[1]), value=self._score(by_id[2]))
        token, equals, score = text.rpartition("=")
        if not equals or not token:
            raise ValueError
        return LogitBias(token=token, value=self._score(score))

    def _score(self, text: str) -> float:
        if text == "-inf":
            return float("-inf")
        if not DECIMAL.fullmatch(text) or abs(float(text)) > 1e6:
            raise ValueError
        return float(text)
