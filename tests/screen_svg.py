"""A terminal's screen as a picture, and as text with styles that can be compared.

What a run measures (seconds, tokens a second) differs from run to run: it is in the picture and
masked in the comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT, _EDGE, _TOP = 8.43, 19, 16, 40
_INK, _PAPER, _BAR = "#d8dee9", "#1e222a", "#2b303b"
_COLORS = {
    "black": "#3b4252", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b",
    "yellow": "#e5c07b", "blue": "#61afef", "magenta": "#c678dd", "cyan": "#56b6c2",
    "white": "#d8dee9", "brightblack": "#7f8796", "brightred": "#ff8b94",
    "brightgreen": "#b5e08c", "brightbrown": "#ffd68a", "brightyellow": "#ffd68a",
    "brightblue": "#8cc8ff", "brightmagenta": "#dfa0f0", "brightcyan": "#7fd7e2",
    "brightwhite": "#ffffff",
}  # fmt: skip
_FIGURES = re.compile(r"[0-9][0-9,.]*(?= (?:s|ms|tokens|tokens/s)\b|/[0-9])")
_SVG = "{http://www.w3.org/2000/svg}"

Run = tuple[str, str]
"""A style and the text that has it."""


def runs_of(buffer: Any, columns: int, rows: int) -> list[list[Run]]:
    """The screen's rows as runs of equal style. Cells that blink are taken for faint ones."""
    found = []
    for row in range(rows):
        runs: list[Run] = []
        for column in range(columns):
            cell = buffer[row][column]
            style = _style(cell)
            if runs and runs[-1][0] == style:
                runs[-1] = (style, runs[-1][1] + cell.data)
            else:
                runs.append((style, cell.data))
        while runs and not runs[-1][1].strip():
            runs.pop()
        found.append(runs)
    while found and not found[-1]:
        found.pop()
    return found


def _style(cell: Any) -> str:
    words = [] if cell.fg == "default" else [f"fill:{_COLORS.get(cell.fg, '#' + cell.fg)}"]
    words += ["font-weight:bold"] if cell.bold else []
    words += ["font-style:italic"] if cell.italics else []
    words += ["text-decoration:underline"] if cell.underscore else []
    words += ["opacity:.6"] if cell.blink else []
    return ";".join(words)


def write(path: Path, title: str, rows: list[list[Run]], columns: int) -> None:
    """Draw a window around them."""
    width = columns * _WIDTH + 2 * _EDGE
    height = len(rows) * _HEIGHT + _TOP + _EDGE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}">',
        f'<rect width="{width:.0f}" height="{height}" rx="9" fill="{_PAPER}"/>',
        f'<path d="M0 28V9a9 9 0 0 1 9-9h{width - 18:.0f}a9 9 0 0 1 9 9v19z" fill="{_BAR}"/>',
        *(
            f'<circle cx="{18 + 18 * number}" cy="14" r="5.5" fill="{fill}"/>'
            for number, fill in enumerate(("#e06c75", "#e5c07b", "#98c379"))
        ),
        f'<text x="{width / 2:.0f}" y="18.5" text-anchor="middle" font-family="sans-serif" '
        f'font-size="12" fill="#9aa3b2">{escape(title)}</text>',
        '<g font-family="DejaVu Sans Mono, Menlo, Consolas, ui-monospace, '
        f'monospace" font-size="14" fill="{_INK}" xml:space="preserve">',
        *(_line(number, runs) for number, runs in enumerate(rows)),
        "</g>",
        "</svg>",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _line(number: int, runs: list[Run]) -> str:
    column, spans = 0, []
    for style, text in runs:
        at = f'x="{_EDGE + column * _WIDTH:.1f}"'
        length = f'textLength="{len(text) * _WIDTH:.1f}"'
        mark = f' style="{style}"' if style else ""
        spans.append(f"<tspan {at} {length}{mark}>{escape(text)}</tspan>")
        column += len(text)
    return f'<text y="{_TOP + 14 + number * _HEIGHT}">{"".join(spans)}</text>'


def read(path: Path) -> list[list[Run]]:
    """The rows of a picture that `write` has made."""
    group = ElementTree.parse(path).getroot().find(f"{_SVG}g")
    assert group is not None
    return [
        [(span.get("style", ""), span.text or "") for span in line.iter(f"{_SVG}tspan")]
        for line in group.iter(f"{_SVG}text")
    ]


def comparable(rows: list[list[Run]]) -> Iterator[list[Run]]:
    """The rows without what was measured, and without the space that its width moves."""
    for runs in rows:
        yield [(style, re.sub(" {2,}", " ", _FIGURES.sub("#", text))) for style, text in runs]
