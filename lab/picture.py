"""A picture in bytes: matplotlib's objects, drawn without a window, a global or a date.

Promises that the same figures give the same bytes (with the same matplotlib and fonts), and that
nothing but an error of ours comes from a missing or noisy matplotlib. Knows no data.
"""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nextok.generation.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Form: TypeAlias = Literal["png", "svg"]

MARK = "nextok lab"
"""In the metadata of every picture: `nextok.lab.picture_file` knows by it what may be replaced."""
PIXELS_PER_INCH = 200
_BETWEEN = " · "
_BIT = 4
"""Characters before those that tell names apart."""
_SHORTEST_PART = 9
"""Characters that are left of a file's name before anything else is cut."""
_OTHER_LETTERS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "IPAexGothic", "Hiragino Sans", "PingFang SC",
    "Noto Sans Arabic", "Noto Sans Devanagari", "Noto Sans Hebrew", "Noto Sans Thai",
)  # fmt: skip
"""Fonts for what the first has not, where they are installed."""

_STYLE: dict[str, Any] = {
    "font.family": ["sans-serif"],
    # The first comes with matplotlib; where an SVG is shown without it, the second is as wide.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 11,
    "text.parse_math": False,  # a dollar sign in a file's name is a dollar sign
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": "#333333",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "xtick.labelcolor": "#333333",
    "ytick.labelcolor": "#333333",
    "svg.fonttype": "none",  # words stay words: they can be found, copied and restyled
    "svg.hashsalt": "nextok",
}


def picture(draw: Callable[[Figure], None], *, inches: tuple[float, float], form: Form) -> bytes:
    """The file that holds what `draw` put on an empty figure of that size.

    Raises OutputError without matplotlib.
    """
    # Else its word about a slow font cache or an unwritable home would land on standard error.
    logging.getLogger("matplotlib").addHandler(logging.NullHandler())
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise OutputError("a picture needs matplotlib: pip install 'nextok[lab]'") from error
    with style.context(["default", _STYLE, _fallbacks(form)]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters its fonts do not have are drawn as boxes
        figure = Figure(figsize=inches, dpi=PIXELS_PER_INCH, facecolor="white")
        draw(figure)
        return _saved(figure, form)


def _fallbacks(form: Form) -> dict[str, Any]:
    """An SVG's words are drawn by who shows it, with fonts of its own."""
    if form == "svg":
        return {}
    from matplotlib.font_manager import fontManager

    installed = {one.name for one in fontManager.ttflist}
    others = [name for name in _OTHER_LETTERS if name in installed]
    return {"font.family": ["sans-serif", *others]}


def _saved(figure: Figure, form: Form) -> bytes:
    """No date and no version among the metadata, so that equal pictures are equal bytes."""
    data = io.BytesIO()
    if form == "png":
        figure.savefig(data, format="png", metadata={"Software": MARK})
    else:
        figure.savefig(data, format="svg", metadata={"Creator": MARK, "Date": None})
    return data.getvalue()


def drawable(text: str) -> str:
    """The text without what no picture can hold: control characters and halves of others."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def fitted_labels(labels: Sequence[str], most: int) -> list[str]:
    """Each in no more characters. Where one is too long, what all files' names begin and end with
    goes before anything else."""
    names = [label.split(_BETWEEN)[0] for label in labels]
    shared = min(map(len, names), default=0) > _SHORTEST_PART and len(set(names)) > 1
    if shared and max(map(len, labels)) > most:
        told = _told_apart(names)
        labels = [
            new + label[len(old) :] for new, old, label in zip(told, names, labels, strict=True)
        ]
    return [fitted(label, most) for label in labels]


def _told_apart(names: Sequence[str]) -> list[str]:
    """Without what they have in common at both ends, but for a bit of it."""
    start = len(os.path.commonprefix(names))
    rests = [name[start:][::-1] for name in names]
    end = len(os.path.commonprefix(rests))
    start = max(0, start - _BIT)
    return [
        ("…" if start else "") + name[start : len(name) - end] + ("…" if end else "")
        for name in names
    ]


def fitted(label: str, most: int) -> str:
    """Parts with ` · ` between them, in no more characters: the first, a file's name, gives way
    before the others, and the short ones stay whole."""
    parts = label.split(_BETWEEN)
    lengths = [len(part) for part in parts]
    over = sum(lengths) + len(_BETWEEN) * (len(parts) - 1) - most
    while over > 0:
        place = 0 if lengths[0] > _SHORTEST_PART else lengths.index(max(lengths))
        if lengths[place] <= 1:
            break
        lengths[place] -= 1
        over -= 1
    return _BETWEEN.join(map(shortened, parts, lengths))


def shortened(text: str, most: int) -> str:
    """The text with its middle left out, if it has more characters."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"
