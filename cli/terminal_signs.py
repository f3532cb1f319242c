"""The characters that diagrams in a terminal are made of, and which of them it can show."""

from __future__ import annotations

from dataclasses import astuple, dataclass

BRAILLE = 0x2800
"""The cell without a dot; its low eight bits are the dots."""


@dataclass(frozen=True, kw_only=True)
class Signs:
    """One set of characters."""

    bars: str = " ▁▂▃▄▅▆▇█"
    """From nothing to a full cell."""
    density: str = ""
    """For one, two, and more points in a cell; empty: braille, with eight dots to a cell."""
    loud: str = "×"
    side: str = "│"
    tick: str = "┤"
    corner: str = "└"
    line: str = "─"
    notch: str = "┬"
    arrow: str = "▲"
    dot: str = "·"
    ellipsis: str = "…"
    then: str = "→"


UNICODE = Signs()
ASCII = Signs(
    bars=" .:|", density=".:#", loud="x", side="|", tick="+", corner="+", line="-", notch="+",
    arrow="^", dot="-", ellipsis="~", then="->",
)  # fmt: skip


def signs_for(encoding: str, terminal: str = "") -> Signs:
    """What an encoding has, and a terminal of that kind (its TERM) can show."""
    try:
        "".join((*astuple(UNICODE), chr(BRAILLE))).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return ASCII if terminal == "linux" else UNICODE  # that console's fonts have no braille
