"""`nextok plot`, from a real trace to a line, a page and a picture."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from nextok.cli.app import run
from nextok.cli.start import Start

from .conftest import SCRIPT, Answered, Ask, Terminal

Plot = Callable[..., Answered]


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """What a run left, for all tests: the first that needs it makes it."""
    return {}


@pytest.fixture
def traced(ask: Ask, loop_gguf: Path, tmp_path: Path, made: dict[str, bytes]) -> Path:
    """A trace of 30 tokens."""
    path = tmp_path / "t.jsonl"
    if not made:
        run = ("-t", "1", "-m", loop_gguf, "-n", "30", "--seed", "4", "--trace", path)
        assert ask(*run, "hi").code == 0
        made["trace"] = path.read_bytes()
    path.write_bytes(made["trace"])
    return path


@pytest.fixture
def plot(capfdbinary: pytest.CaptureFixture[bytes]) -> Plot:
    """`plot(*arguments)`: the command in this process, which takes no time to start."""

    def run_here(*arguments: str | Path) -> Answered:
        start = Start(at=0, stdin_closed=False, stdout_closed=False, stderr_closed=False)
        code = run(["plot", *map(str, arguments)], start)
        out, err = capfdbinary.readouterr()
        return Answered(code=code, out=out, err=err.decode())

    return run_here


def end_of(trace: Path) -> dict[str, Any]:
    end: dict[str, Any] = json.loads(trace.read_text().splitlines()[-1])
    return end


def test_a_pipe_gets_a_line_a_trace_with_the_runs_own_figures(ask: Ask, traced: Path) -> None:
    shown = ask("plot", traced)
    assert (shown.code, shown.err) == (0, "")
    first, line = shown.out.decode().splitlines()
    assert first.startswith("Inter-token latency of loop · 1 thread · context of ")
    assert " · temperature 0.8 · seed 4 · prompt of " in first
    said = dict(re.findall(r"(p50|p95|p99|max) ([0-9.]+) ms", line))
    known = {name: float(value) for name, value in said.items()}
    gaps = end_of(traced)["timings"]["itl_ms"]
    del gaps["mean"]
    assert known == pytest.approx(gaps, rel=0.01, abs=0.0015)  # a trace has microseconds
    assert line.startswith("t.jsonl: 30 tokens · prefill ")
    assert line.endswith("· length")


def test_standard_input_is_a_trace(
    ask: Ask, terminal: Callable[..., Terminal], traced: Path
) -> None:
    told = ask("plot", "-", input=traced.read_bytes())
    named = ask("plot", traced).out.decode()
    assert (told.code, told.err) == (0, "")
    assert told.out.decode() == named.replace("t.jsonl:", "standard input:")
    ask("plot", "-", input=b"").check_failed(2, "standard input is empty")
    assert "standard input: nextok --jsonl" in terminal("plot", "-").rest()


def test_the_starter_is_plotted_like_any_model(
    ask: Ask, plot: Plot, starter_gguf: Path, tmp_path: Path
) -> None:
    trace, picture = tmp_path / "s.jsonl", tmp_path / "s.svg"
    run = ("-t", "1", "-m", starter_gguf, "-n", "30", "--ignore-eos", "--seed", "1")
    assert ask(*run, "--trace", trace, "Why is the sky blue?").code == 0
    (_, line) = plot(trace).out.decode().splitlines()
    assert line.startswith("s.jsonl: 30 tokens · prefill ")
    drawn = plot(trace, "-o", picture)
    assert (drawn.code, drawn.out, drawn.err) == (0, b"", "")
    words = {part.text for part in ElementTree.parse(picture).iter()}
    p50 = re.findall(r"p50 \S+ ms", line)
    assert {f"Inter-token latency of {starter_gguf.stem}", *p50, "s.jsonl"} <= words


def test_a_png_is_drawn_and_drawn_again_the_same(
    ask: Ask, plot: Plot, traced: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "out.png"
    assert plot("-o", picture, traced).code == 0
    before = picture.read_bytes()
    with Image.open(picture) as image:
        assert image.size[0] == 2400
    # Where no home can be written to, matplotlib has a lot to say: not on our standard error.
    elsewhere = {"HOME": "/dev/null", "XDG_CONFIG_HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    again = ask("plot", "--output", picture, traced, env=elsewhere)
    assert (again.code, again.out, again.err) == (0, b"", "")
    assert picture.read_bytes() == before


def test_a_chats_turns_are_series(ask: Ask, plot: Plot, emoji_gguf: Path, tmp_path: Path) -> None:
    trace = tmp_path / "chat.jsonl"
    chat = ("chat", "-t", "1", "-m", emoji_gguf, "--trace", trace, "--no-save")
    assert ask(*chat, input=b"one\ntwo\n").code == 0
    lines = plot(trace).out.decode().splitlines()
    assert [line.partition(":")[0] for line in lines[1:]] == ["turn 1", "turn 2"]


@pytest.mark.parametrize("width", [40, 120])
def test_a_terminal_gets_a_page_of_its_width(
    terminal: Callable[..., Terminal], traced: Path, width: int
) -> None:
    size: dict[str, Any] = {"dimensions": (50, width), "COLUMNS": str(width)}
    lines = terminal("plot", str(traced), **size).lines()
    assert lines[0].startswith("Inter-token latency of loop")
    page = "\n".join(lines)
    assert all(word in page for word in ("gap between tokens (ms", "token index", "share of the"))
    assert all(name in page for name in ("▲ p50", "p95", "p99", "gap (ms)"))
    rulers = [line for line in lines if "└" in line]
    assert [len(line) for line in rulers] == [width, width]


def test_a_terminal_without_unicode_gets_ascii(
    terminal: Callable[..., Terminal], traced: Path
) -> None:
    output = terminal("plot", str(traced), PYTHONIOENCODING="ascii", TERM="vt100").rest()
    assert "token index" in output and "^ p50" in output
    output.encode("ascii")


def test_colour_is_for_who_wants_it(terminal: Callable[..., Terminal], traced: Path) -> None:
    assert "\x1b[36m" in terminal("plot", str(traced)).rest()
    assert "\x1b[" not in terminal("plot", str(traced), "--color", "never").rest()


def test_a_window_too_narrow_for_a_page_gets_lines(
    terminal: Callable[..., Terminal], traced: Path
) -> None:
    output = terminal("plot", str(traced), dimensions=(24, 39), COLUMNS="39").rest()
    assert "t.jsonl: 30 tokens · prefill" in output and "└" not in output


def test_a_trace_that_ended_early_is_plotted_as_far_as_it_goes(plot: Plot, traced: Path) -> None:
    lines = traced.read_bytes().splitlines(keepends=True)
    traced.write_bytes(b"".join(lines[:13]) + lines[13][:20])
    shown = plot(traced)
    assert shown.code == 0 and shown.out.decode().endswith("· unfinished\n")
    shown.check_line("warning", str(traced), "last line is cut off")


def test_bad_lines_are_counted_and_named(plot: Plot, traced: Path) -> None:
    start, *rest = traced.read_bytes().splitlines(keepends=True)
    traced.write_bytes(b"".join([start, b"what?\n", *rest[:5], b"{}\n" * 6, *rest[5:]]))
    shown = plot(traced)
    assert shown.code == 0 and b"30 tokens" in shown.out
    shown.check_line(
        "warning", str(traced), "7 lines that belong into no trace", "2, 8, 9, 10, 11, …"
    )
    assert plot("-q", traced).err == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"Once upon a time\n", "is no trace"),
        (b'{"type": "start", "model": "m"}\n', "has no gap"),
        (b'{"type": "token", "i": 0, "t_ms": 5, "gap_ms": null}\n', "has no gap"),
    ],
)
def test_what_cannot_be_plotted_is_one_line(
    plot: Plot, tmp_path: Path, data: bytes | None, words: str
) -> None:
    path = tmp_path / "odd.jsonl"
    if data is not None:
        path.write_bytes(data)
    plot(path, "-o", tmp_path / "out.png").check_failed(2, "odd.jsonl", words)
    assert not (tmp_path / "out.png").exists()


def test_traces_are_files(plot: Plot) -> None:
    plot().check_failed(2, "which file", "--trace")


def test_a_picture_replaces_nothing_else(plot: Plot, traced: Path, tmp_path: Path) -> None:
    before = traced.read_bytes()
    for name in ("-", tmp_path / "out.pdf", traced):
        plot(traced, "-o", name).check_failed(2, ".png or .svg")
    photo = tmp_path / "photo.png"
    photo.write_bytes(b"a photo")
    plot(traced, "-o", photo).check_failed(2, "photo.png", "was not drawn by nextok")
    plot(traced, "-o", tmp_path / "none" / "a.png").check_failed(1, "No such file")
    assert (photo.read_bytes(), traced.read_bytes()) == (b"a photo", before)


def test_without_the_extra_a_picture_says_what_to_install(
    ask: Ask, traced: Path, tmp_path: Path
) -> None:
    """An installation without matplotlib is one in which importing it fails."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "matplotlib.py").write_text("raise ImportError('No module named matplotlib')\n")
    env = {"PYTHONPATH": str(hidden)}
    drawn = ask("plot", traced, "-o", tmp_path / "out.png", env=env)
    drawn.check_failed(1, "pip install 'nextok[lab]'")
    assert not (tmp_path / "out.png").exists()
    assert ask("plot", traced, env=env).code == 0


def test_without_a_picture_nothing_heavy_is_imported(traced: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", str(SCRIPT), "plot", str(traced)],
        capture_output=True,
        text=True,
        timeout=60,
    ).stderr
    names = {line.split("|")[2].strip() for line in told.splitlines() if line.count("|") == 2}
    assert "nextok.lab.latency_figures" in names
    assert not names & {"matplotlib", "numpy", "scipy", "llama_cpp", "huggingface_hub"}


def test_a_reader_that_leaves_is_left_alone(traced: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [str(SCRIPT), "plot", str(traced)], stdout=writer, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (-13, b"")
