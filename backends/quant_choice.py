"""Which files of a repository are the model that is meant.

Promises whole sets of parts, and never a projector, an importance matrix or a draft head.
Knows names and sizes only.
"""

from __future__ import annotations

from dataclasses import dataclass

from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.hub_reference import HubReference
from nextok.generation.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One model of a repository: a file, or a set of parts in order."""

    name: str
    """The path of the first part."""
    quant: str | None
    """As in the name, in upper case: Q4_K_M, UD-Q4_K_XL; None when the name has none."""
    parts: tuple[HubFile, ...]
    bytes: int
    fits: bool | None
    """Whether it runs in this machine's memory; None when that is not known."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The model to fetch."""

    quant: str | None
    parts: tuple[HubFile, ...]
    fits: bool | None

    @property
    def bytes(self) -> int:
        return sum(part.size for part in self.parts)


class Ambiguous(UsageError):
    """Several models are meant by the reference, or none of many; the message is one line."""

    def __init__(self, message: str, candidates: list[Candidate]) -> None:
        super().__init__(message)
        self.candidates = candidates
        """Nearest first for an unknown quant, else by size."""


class UnknownQuant(Ambiguous):
    """No model of the repository has the quant asked for."""


def choose(listing: Listing, reference: HubReference, memory_bytes: int | None) -> Choice:
    """The model that the reference means.

    Raises Ambiguous, UnknownQuant, FileNotInRepo, UsageError (a projector named), and HubError
    (no GGUF at all, a part missing).
    """
    raise NotImplementedError


def candidates(listing: Listing, memory_bytes: int | None) -> list[Candidate]:
    """All models of the repository, smallest first."""
    raise NotImplementedError
