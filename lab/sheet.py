"""A figure as a sheet of paper: lengths in inches, from its top left corner.

Places texts, panels and a table that serves as a legend. Knows no data's meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from nextok.lab.picture import drawable, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#222222", "#6b6b6b"
_ROW = 0.27
"""Height of a legend's row."""
_MOST_ROWS = 24
"""Of more, the others are counted in a last line."""
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's, without the two that are faint on white: everybody can tell them apart."""
_MARKERS = "os^Dvp"
_Dashes: TypeAlias = tuple[float, tuple[float, ...]]
_DASHES: Sequence[_Dashes] = (
    (0, ()), (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2)), (0, (3, 3)),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Look:
    """How one series is told from the others, with or without colours."""

    color: str
    marker: str
    dashes: _Dashes = (0, ())
    """Of its line."""


def looks(count: int) -> list[Look]:
    """A look for each: colours that differ or, for many, a scale from first to last."""
    if count <= len(_COLORS):
        every = zip(_COLORS, _MARKERS, _DASHES, strict=True)
        return [Look(color=color, marker=sign, dashes=dashes) for color, sign, dashes in every][
            :count
        ]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    scale = colormaps["viridis"]
    colors = [to_hex(scale(0.9 * place / (count - 1))) for place in range(count)]
    return [Look(color=color, marker="o") for color in colors]


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A figure and its size."""

    figure: Figure
    width: float
    height: float

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 11,
        color: str = INK,
        bold: bool = False,
        right: bool = False,
    ) -> None:
        """One line of text, `y` at its middle. right: it ends at `x`."""
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            drawable(text),
            fontsize=size,
            color=color,
            fontweight="bold" if bold else "normal",
            ha="right" if right else "left",
            va="center_baseline",
        )

    def panel(self, left: float, top: float, width: float, height: float) -> Axes:
        """Empty axes of that size."""
        bottom = self.height - top - height
        return self.figure.add_axes(
            (
                left / self.width,
                bottom / self.height,
                width / self.width,
                height / self.height,
            )
        )

    def swatch(self, x: float, y: float, look: Look) -> None:
        """The mark of a series."""
        from matplotlib.lines import Line2D

        mark = Line2D(
            [x / self.width],
            [1 - y / self.height],
            color=look.color,
            marker=look.marker,
            markersize=7,
            linestyle="none",
        )
        self.figure.add_artist(mark)

    def stroke(self, left: float, right: float, y: float, look: Look) -> None:
        """The mark of a series that is a line."""
        from matplotlib.lines import Line2D

        ends, height = [left / self.width, right / self.width], 1 - y / self.height
        line = Line2D(
            ends, [height, height], color=look.color, linestyle=look.dashes, linewidth=2.2
        )
        self.figure.add_artist(line)


def legend_height(rows: int) -> float:
    """Inches of a legend for that many series."""
    return _ROW * (1 + min(rows, _MOST_ROWS + 1))


@dataclass(frozen=True, kw_only=True)
class Legend:
    """A table whose rows are series: a mark, a label, and figures under their heads."""

    heads: Sequence[str]
    rows: Sequence[tuple[Look, str, Sequence[str]]]

    def draw(self, sheet: Sheet, left: float, top: float, width: float, cell: float) -> None:
        """The label takes what the cells leave of the width."""
        ends = [left + width - cell * place for place in range(len(self.heads))][::-1]
        room = int((width - cell * len(self.heads) - 0.1) / 0.088)
        self._line(sheet, top, ends, self.heads, FAINT)
        shown = self.rows[:_MOST_ROWS]
        for place, (look, label, cells) in enumerate(shown, 1):
            y = top + place * _ROW
            sheet.swatch(left + 0.06, y, look)
            sheet.text(left + 0.22, y, shortened(label, room), size=10)
            self._line(sheet, y, ends, cells, INK)
        if len(shown) < len(self.rows):
            rest = f"and {len(self.rows) - len(shown)} more"
            y = top + (len(shown) + 1) * _ROW
            sheet.text(left + 0.22, y, rest, size=10, color=FAINT)

    @staticmethod
    def _line(
        sheet: Sheet, y: float, ends: Sequence[float], cells: Sequence[str], color: str
    ) -> None:
        for end, cell in zip(ends, cells, strict=True):
            sheet.text(end, y, cell, size=10, color=color, right=True)
