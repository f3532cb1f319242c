"""A trace as `--trace` writes it, read back: generations, and the gaps between their tokens.

Takes what is there: a trace that ended early is read as far as it goes, and lines that are none
are counted. Types of lines it does not know are none of its business. Knows no plots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from nextok.generation.errors import UsageError
from nextok.lab.trace_fields import Fields, fields_of, inner, number, text, whole
from nextok.lab.traced_generation import Generation, RunSettings, ThreadChange

_PATIENCE = 100
"""Lines without one of a trace's own after which a file is taken for something else."""
_REASON = re.compile("[a-z_]{1,16}")
_LONGEST = 1 << 26
"""Bytes of a line: the longest of a trace holds the whole answer."""


@dataclass(frozen=True, kw_only=True)
class TraceFile:
    """What a file held."""

    path: str
    generations: tuple[Generation, ...]
    bad_lines: tuple[int, ...]
    """The numbers, from 1, of lines that belong into no trace."""
    cut: bool
    """Whether the last line ends in its middle: somebody is writing it, or was killed."""


def read_trace(path: str, stream: BinaryIO | None = None) -> TraceFile:
    """Read a trace. UsageError for a file that cannot be read, is empty, or is something else.

    stream: is read instead, and stays open; `path` is only what it is called then.
    """
    try:
        with nullcontext(stream) if stream else open(path, "rb") as file:
            lines = iter(lambda: file.readline(_LONGEST), b"")
            return _Reading(path).read(lines)
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read {path}: {reason}") from error


@dataclass(kw_only=True)
class _Draft:
    """A generation while its lines are read."""

    known: Generation
    tokens: int = 0
    drafted_tokens: int = 0
    indexes: list[int] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def finished(self) -> Generation:
        return replace(
            self.known,
            tokens=self.tokens,
            drafted_tokens=self.drafted_tokens,
            indexes=tuple(self.indexes),
            gaps=tuple(self.gaps),
        )


class _Reading:
    """One walk over the lines of a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._drafts: list[_Draft] = []
        self._bad: list[int] = []
        self._known = 0
        self._cut = False

    def read(self, lines: Iterable[bytes]) -> TraceFile:
        count = 0
        for count, raw in enumerate(lines, 1):
            self._line(count, raw)
            if self._known == 0 and (count >= _PATIENCE or len(raw) >= _LONGEST):
                raise self._no_trace()
        if count == 0:
            raise UsageError(f"{self._path} is empty: nextok --trace FILE writes a trace")
        if self._known == 0:
            raise self._no_trace()
        return TraceFile(
            path=self._path,
            generations=tuple(draft.finished() for draft in self._drafts),
            bad_lines=tuple(self._bad),
            cut=self._cut,
        )

    def _no_trace(self) -> UsageError:
        return UsageError(f"{self._path} is no trace: nextok --trace FILE writes one")

    def _line(self, count: int, raw: bytes) -> None:
        stripped = raw.strip().removeprefix(b"\xef\xbb\xbf")
        if not stripped:
            return
        fields = fields_of(stripped)
        if fields is None and not raw.endswith(b"\n"):
            self._cut = True
        elif fields is None or not self._take(fields):
            self._bad.append(count)

    def _take(self, fields: Fields) -> bool:
        """Use a line; whether it may stand in a trace."""
        kind = fields.get("type")
        if kind not in _KINDS:
            return isinstance(kind, str)
        self._known += 1
        draft = self._draft(kind == "start", whole(fields, "turn"))
        if kind == "token":
            return _token(draft, fields)
        draft.known = _LEARN[kind](draft.known, fields)
        return True

    def _draft(self, begins: bool, turn: int | None) -> _Draft:
        """The generation a line belongs to: the last one, unless it is over or another's."""
        last = self._drafts[-1] if self._drafts else None
        if last is None or begins or last.known.ending is not None or last.known.turn != turn:
            last = _Draft(known=Generation(turn=turn))
            self._drafts.append(last)
        return last


def _start(known: Generation, fields: Fields) -> Generation:
    settings = RunSettings(
        model=text(fields, "model"),
        quantization=text(fields, "quantization"),
        threads=whole(fields, "threads"),
        context_tokens=whole(fields, "ctx"),
        temperature=number(inner(fields, "sampling"), "temperature"),
        seed=whole(fields, "seed"),
    )
    return replace(known, settings=settings, prompt_tokens=whole(fields, "prompt_tokens"))


def _prefill(known: Generation, fields: Fields) -> Generation:
    return replace(
        known, prompt_tokens=whole(fields, "total"), cached_tokens=whole(fields, "cached")
    )  # fmt: skip


def _end(known: Generation, fields: Fields) -> Generation:
    reason = text(fields, "finish_reason") or "error"
    seconds = number(inner(fields, "timings"), "prefill_s")
    return replace(
        known, ending=reason if _REASON.fullmatch(reason) else "unknown", prefill_seconds=seconds
    )  # fmt: skip


def _threads(known: Generation, fields: Fields) -> Generation:
    index, threads = whole(fields, "i"), whole(fields, "threads")
    before = known.thread_counts
    if index is None or not threads or before[-1:] == (threads,):
        return known
    change = ThreadChange(index=index, threads=threads)
    return replace(known, thread_changes=(*known.thread_changes, change))


_LEARN: Mapping[str, Callable[[Generation, Fields], Generation]] = {
    "start": _start, "prefill": _prefill, "threads": _threads, "end": _end, "error": _end,
}  # fmt: skip
_KINDS = ("token", *_LEARN)


def _token(draft: _Draft, fields: Fields) -> bool:
    """Add a token; whether it is one."""
    index, at, gap = whole(fields, "i"), number(fields, "t_ms"), number(fields, "gap_ms")
    if index is None or (gap is None and index > 0):
        return False
    if index == 0 and at is not None:
        draft.known = replace(draft.known, ttft_seconds=at / 1000)
    elif index > 0 and gap is not None:
        draft.indexes.append(index)
        draft.gaps.append(gap / 1000)
    draft.tokens += 1
    draft.drafted_tokens += fields.get("drafted") is True
    return True
