"""The line below the prompt: model, context and the last turn's figures, in the room there is.

Pure text: it knows no terminal. What does not fit is left out, the least important first, and
nothing wraps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nextok.cli.chat.editor import Fragments
from nextok.cli.console import one_line

_GAP = 2
"""Columns between parts."""
_CELLS = 8
"""Of the bar."""
_NEARLY_FULL = 0.85
"""Share of the context from which the bar stands out."""
_SHORTEST_NAME = 6
"""Columns of a model's name: below that it says nothing."""


@dataclass(frozen=True, kw_only=True)
class BottomState:
    """What there is to say."""

    model: str
    context_used: int
    context_size: int
    """Tokens; a size of 0 is not known."""
    ttft_seconds: float | None = None
    tokens_per_second: float | None = None
    branch: str | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class _Signs:
    """The characters that not every terminal can show."""

    full: str = "▰"
    empty: str = "▱"
    dot: str = "·"
    ellipsis: str = "…"


_ASCII = _Signs(full="#", empty="-", dot="|", ellipsis="~")


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """Which parts are shown."""

    ttft: bool = True
    rate: bool = True
    bar: bool = True
    branch: bool = True
    note: bool = True
    model: bool = True


def fragments(state: BottomState, width: int, *, encoding: str = "utf-8") -> Fragments:
    """The line in at most `width` columns; ASCII where the encoding has no other signs."""
    signs, state = _signs(encoding), _on_one_line(state)
    for choice in _choices():
        left, right = _left(state, choice, signs), _right(state, choice, signs)
        room = width - _columns(left) - _columns(right)
        if right and room >= _GAP:
            return [*left, ("", " " * room), *right]
        if not right and room >= 0:
            return left
        if not right and choice.model and _wide(state.model) + room >= _SHORTEST_NAME:
            name = _cut(state.model, _wide(state.model) + room, signs)
            return _left(replace(state, model=name), choice, signs)
    return []


def _choices() -> Iterator[_Choice]:
    """From everything to almost nothing."""
    yield _Choice()
    yield _Choice(ttft=False)
    yield _Choice(ttft=False, rate=False)
    yield _Choice(ttft=False, rate=False, bar=False)
    yield _Choice(ttft=False, rate=False, bar=False, branch=False)
    yield _Choice(ttft=False, rate=False, bar=False, branch=False, note=False)
    yield _Choice(ttft=False, rate=False, bar=False, branch=False, note=False, model=False)


def _left(state: BottomState, choice: _Choice, signs: _Signs) -> list[tuple[str, str]]:
    parts = []
    if choice.model:
        parts.append([("class:bottom-line.model", state.model)])
    if choice.branch and state.branch:
        parts.append([("class:bottom-line.branch", state.branch)])
    if state.context_size:
        parts.append(_context(state, choice, signs))
    if choice.note and state.note:
        parts.append([("class:bottom-line.note", state.note)])
    joined: list[tuple[str, str]] = []
    for part in parts:
        joined += [("", " " * _GAP), *part] if joined else part
    return joined


def _context(state: BottomState, choice: _Choice, signs: _Signs) -> list[tuple[str, str]]:
    share = state.context_used / state.context_size
    name = "nearly-full" if share >= _NEARLY_FULL else "context"
    text = f"{state.context_used:,}/{state.context_size:,}"
    if choice.bar:
        full = min(_CELLS, max(round(share * _CELLS), 1 if state.context_used else 0))
        text = f"{signs.full * full}{signs.empty * (_CELLS - full)} {text}"
    return [(f"class:bottom-line.{name}", text)]


def _right(state: BottomState, choice: _Choice, signs: _Signs) -> list[tuple[str, str]]:
    parts = []
    if choice.ttft and state.ttft_seconds is not None:
        parts.append(f"TTFT {_figure(state.ttft_seconds, 2)} s")
    if choice.rate and state.tokens_per_second is not None:
        parts.append(f"{_figure(state.tokens_per_second, 1)} tokens/s")
    return [("class:bottom-line.figures", f" {signs.dot} ".join(parts))] if parts else []


def _figure(number: float, places: int) -> str:
    """0.21, 4.7 or 47: a digit less for each place before the point."""
    places -= (number >= 9.95) + (number >= 99.5)
    return f"{number:.{max(0, places)}f}"


def _on_one_line(state: BottomState) -> BottomState:
    """Its texts come from files and from people: nothing in them can drive a terminal."""
    return replace(
        state,
        model=one_line(state.model),
        branch=one_line(state.branch or ""),
        note=one_line(state.note),
    )


def _signs(encoding: str) -> _Signs:
    signs = _Signs()
    try:
        (signs.full + signs.empty + signs.dot + signs.ellipsis).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return signs


def _columns(parts: list[tuple[str, str]]) -> int:
    return sum(_wide(text) for _, text in parts)


def _wide(text: str) -> int:
    from wcwidth import wcswidth

    return max(0, wcswidth(text))


def _cut(text: str, columns: int, signs: _Signs) -> str:
    while text and _wide(text + signs.ellipsis) > columns:
        text = text[:-1]
    return text + signs.ellipsis
