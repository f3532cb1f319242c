"""The picture: what is drawn where, the same bytes each time, and nothing global."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import numpy
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from PIL import Image

from nextok.lab.latency_figures import Series, all_series
from nextok.lab.latency_marks import spread_out
from nextok.lab.latency_plot import distinct_looks, draw_latency, latency_picture
from nextok.lab.picture import MARK
from nextok.lab.sheet import Sheet, looks
from nextok.lab.trace_file import read_trace

Trace = Callable[..., Path]
GAPS = [20.0, 21.0, 20.5, 22.0, 19.5, 200.0, 20.25, 21.75]


def series_of(*paths: Path) -> list[Series]:
    return all_series([read_trace(str(path)) for path in paths])


def drawn(series: list[Series]) -> tuple[Figure, Axes, Axes]:
    figure = Figure(figsize=(12, 7))
    draw_latency(Sheet(figure=figure, width=12, height=7), series)
    tokens, counts = figure.axes
    return figure, tokens, counts


def points(panel: Axes) -> list[list[tuple[float, float]]]:
    found = [one for one in panel.collections if isinstance(one, PathCollection)]
    return [[tuple(map(float, at)) for at in numpy.asarray(one.get_offsets())] for one in found]


def heights(panel: Axes) -> list[float]:
    """Of the lines that lie."""
    lines = [one for one in panel.collections if isinstance(one, LineCollection)]
    return [float(one.get_segments()[0][0][1]) for one in lines]


def test_every_gap_is_a_point_and_every_stall_has_a_ring(trace: Trace) -> None:
    _, tokens, _ = drawn(series_of(trace(GAPS)))
    every, ringed = points(tokens)
    assert every == list(enumerate(GAPS, 1))
    assert ringed == [(6, 200.0)]
    assert tokens.get_title(loc="right") == "○ stall: a gap over 5 × the median"


def test_a_change_of_threads_is_marked(trace: Trace) -> None:
    path = trace(GAPS, threads=2)
    start, *rest = path.read_text().splitlines()
    path.write_text("\n".join([start, '{"type": "threads", "i": 3, "threads": 1}', *rest]))
    (one,) = series_of(path)
    _, tokens, _ = drawn([one])
    (mark,) = [line for line in tokens.lines if list(line.get_xdata()) == [3, 3]]
    assert [text.get_text() for text in tokens.texts] == ["1 thread"]
    _, tokens, _ = drawn([one, one])
    assert len([line for line in tokens.lines if list(line.get_xdata()) == [3, 3]]) == 2
    assert [text.get_text() for text in tokens.texts] == []


def test_the_panels_have_units_and_one_axis_of_gaps(trace: Trace) -> None:
    _, tokens, counts = drawn(series_of(trace(GAPS)))
    assert tokens.get_xlabel() == "token index"
    assert tokens.get_ylabel() == "gap between tokens (ms, log scale)"
    assert counts.get_xlabel() == "share of the gaps (%)"
    assert tokens.get_yscale() == counts.get_yscale() == "log"
    assert tokens.get_ylim() == counts.get_ylim()
    assert [label.get_text() for label in tokens.get_yticklabels()] == ["20", "50", "100", "200"]


def test_the_histogram_is_all_gaps_and_the_lines_are_percentiles(trace: Trace) -> None:
    (one,) = series_of(trace(GAPS))
    _, tokens, counts = drawn([one])
    (steps,) = [patch for patch in counts.patches if isinstance(patch, StepPatch)]
    assert sum(steps.get_data().values) == pytest.approx(100)
    assert heights(counts) == heights(tokens) == [value for _, value in one.percentiles_ms]
    assert [text.get_text() for text in counts.texts] == [
        "p50 20.8 ms", "p95 138 ms", "p99 188 ms"
    ]  # fmt: skip


def test_the_texts_are_title_settings_and_figures(trace: Trace) -> None:
    figure, _, _ = drawn(series_of(trace(GAPS)))
    texts = [text.get_text() for text in figure.texts]
    assert texts[0] == "Inter-token latency of m.Q4_1"
    assert texts[1].startswith("1 thread · context of 2,048 tokens · temperature 0.8")
    assert texts[2:11] == [
        "tokens", "prefill ms", "TTFT ms", "p50 ms", "p95 ms", "p99 ms", "max ms", "stalls", "end"
    ]  # fmt: skip
    assert texts[11:] == ["t.jsonl", "9", "380", "500", "20.8", "138", "188", "200", "1", "length"]


def test_several_series_are_overlaid_with_a_legend(trace: Trace) -> None:
    both = series_of(trace([20, 21, 22], name="a"), trace([30, 31, 33], name="b", threads=2))
    figure, tokens, counts = drawn(both)
    assert [len(one) for one in points(tokens)] == [3, 3]
    colors = [one.get_facecolor()[0][:3] for one in tokens.collections]  # type: ignore[index]
    assert tuple(colors[0]) != tuple(colors[1])
    assert len([patch for patch in counts.patches if isinstance(patch, StepPatch)]) == 2
    assert heights(counts) == [value for one in both for _, value in one.percentiles_ms]
    texts = {text.get_text() for text in figure.texts}
    assert {"a · 1 thread", "b · 2 threads"} <= texts
    assert [text.get_text() for text in counts.texts] == ["p50", "p95", "p99"]


def test_more_series_than_rows_are_counted(trace: Trace) -> None:
    figure, tokens, _ = drawn(series_of(*(trace([20, 21], name=f"{n:02}") for n in range(30))))
    texts = [text.get_text() for text in figure.texts]
    assert ("23" in texts, "24" in texts, texts[-1]) == (True, False, "and 6 more")
    assert len(points(tokens)) == 30


@pytest.mark.parametrize("count", [1, 6, 7, 40])
def test_every_series_looks_different(count: int) -> None:
    assert len({(look.color, look.marker) for look in looks(count)}) == count


@pytest.mark.parametrize("count", [7, 12, 36, 40])
def test_many_series_have_looks_of_their_own(count: int) -> None:
    found = [(look.color, look.marker) for look in distinct_looks(count)]
    assert len(set(found)) == count
    if count <= 36:  # neighbours differ in both
        pairs = list(zip(found, found[1:], strict=False))
        assert all(one[0] != two[0] and one[1] != two[1] for one, two in pairs)


def test_a_long_label_keeps_its_model_and_threads(trace: Trace) -> None:
    name = "a-rather-long-name-of-a-trace-of-yesterday-evening"
    one = trace(GAPS, name=f"{name}-1.jsonl", model="SmolLM2-135M-Instruct.Q4_1", threads=2)
    two = trace(GAPS, name=f"{name}-2.jsonl", model="SmolLM2-135M-Instruct.Q8_0", threads=1)
    figure, _, _ = drawn(series_of(one, two))
    texts = [text.get_text() for text in figure.texts]
    labels = [text for text in texts if text.endswith(("2 threads", "1 thread"))]
    assert len(labels) == 2
    assert all(len(label) <= 41 for label in labels)
    assert [label.split(" · ")[0] for label in labels] == ["…ing-1…", "…ing-2…"]
    assert [label.count(kind) for label, kind in zip(labels, ("Q4_1", "Q8_0"), strict=True)] == [
        1,
        1,
    ]


def test_a_zero_is_drawn_at_the_foot_of_a_logarithmic_axis(trace: Trace) -> None:
    _, tokens, _ = drawn(series_of(trace([0, 1, 1, 100])))
    assert points(tokens)[0][0] == (1, tokens.get_ylim()[0])


def test_names_of_percentiles_do_not_overlap() -> None:
    assert spread_out([0.1, 0.11, 0.5], 0.05) == pytest.approx([0.1, 0.15, 0.5])
    assert spread_out([0.3, 0.3, 0.3], 0.05) == pytest.approx([0.3, 0.35, 0.4])


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def test_a_png_opens_and_is_twice_1200_wide(trace: Trace) -> None:
    data = latency_picture(series_of(trace(GAPS)), "png")
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        assert image.size[0] == 2400 and 1300 < image.size[1] < 1500
        assert image.getpixel((0, 0))[:3] == (255, 255, 255)  # type: ignore[index]
        assert len(image.getcolors(1 << 20)) > 10
    kinds = {kind for kind, _ in chunks(data)}
    assert b"tIME" not in kinds
    assert [text for kind, text in chunks(data) if kind == b"tEXt"] == [
        b"Software\0" + MARK.encode()
    ]  # fmt: skip
    assert zlib.crc32(b"IEND").to_bytes(4, "big") == data[-4:]


def test_an_svg_has_its_words_and_no_date(trace: Trace) -> None:
    path = trace(GAPS, name="<b>&$x$.jsonl")
    data = latency_picture(series_of(path), "svg")
    words = {
        text.text for text in ElementTree.fromstring(data).iter() if text.tag.endswith("}text")
    }
    assert {
        "Inter-token latency of m.Q4_1", "token index", "share of the gaps (%)", "p99 188 ms",
        "gap between tokens (ms, log scale)", "TTFT ms", "500", "<b>&$x$.jsonl",
    } <= words  # fmt: skip
    assert b"dc:date" not in data and MARK.encode() in data[:4096]


def test_no_text_breaks_a_picture(trace: Trace) -> None:
    model = "\x1b[31m\x00\ud800 \u202e 模型 😀 " + "long" * 100
    for form in ("png", "svg"):
        data = latency_picture(series_of(trace(GAPS, model=model)), form)  # type: ignore[arg-type]
    ElementTree.fromstring(data)


def test_many_points_are_one_image_in_an_svg(trace: Trace) -> None:
    data = latency_picture(series_of(trace([20 + n % 7 for n in range(6000)])), "svg")
    assert len(data) < 500_000 and b"<image" in data


_DRAW = """
import hashlib, sys
from nextok.lab.latency_figures import all_series
from nextok.lab.latency_plot import latency_picture
from nextok.lab.trace_file import read_trace
series = all_series([read_trace(sys.argv[1])])
for form in ("svg", "png"):
    print(hashlib.sha256(latency_picture(series, form)).hexdigest())
print("matplotlib.pyplot" in sys.modules)
"""


def test_equal_figures_are_equal_bytes_whatever_the_users_settings(
    tmp_path: Path, trace: Trace
) -> None:
    path = trace(GAPS)
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\nfont.size: 30\nfigure.dpi: 33\n")
    told = subprocess.run(
        [sys.executable, "-c", _DRAW, str(path)],
        env={**os.environ, "PYTHONHASHSEED": "77", "MPLCONFIGDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    series = series_of(path)
    here = [hashlib.sha256(latency_picture(series, form)).hexdigest() for form in ("svg", "png")]
    assert told.stdout.split() == [*here, "False"]
    assert told.stderr == ""


def test_drawing_changes_nothing_for_others(trace: Trace) -> None:
    before = dict(matplotlib.rcParams)
    latency_picture(series_of(trace(GAPS)), "png")
    assert dict(matplotlib.rcParams) == before
