"""`nextok lab`: its list, its words, its files, and what it refuses."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAMES = ["loop", "cache", "divergence", "abandonment", "lengths"]
SCRIPT = Path(sys.executable).with_name("nextok")
CHOICES = {letter: 18 + math.log(weight) for letter, weight in (("A", 60), ("B", 30), ("C", 10))}
TWO = (
    "import nextok.cli.lab as lab; lab.EXPERIMENTS = lab.EXPERIMENTS[:2];"
    "import sys; from nextok.cli.entry import main; sys.exit(main())"
)
"""A process in which `all` means the two quick ones."""


@pytest.fixture
def abc(scripted: Callable[..., Path]) -> Path:
    """Says A, B or C: 60, 30 and 10 percent."""
    return scripted([], choices=CHOICES, stem="abc")


def found(ran: Any) -> dict[str, Any]:
    """What is on standard output, all went well."""
    assert (ran.code, ran.err) == (0, ""), ran
    (line,) = ran.lines
    assert isinstance(line, dict)
    return line


def without_times(value: dict[str, Any]) -> dict[str, Any]:
    """What no clock has a say in."""
    return {key: one for key, one in value.items() if key != "times"}


def test_without_a_word_the_experiments_are_listed(ask: Any) -> None:
    ran = ask("lab")
    assert [line.split()[0].decode() for line in ran.out.splitlines()] == NAMES
    listed = found(ask("lab", "--json"))
    assert [one["experiment"] for one in listed["experiments"]] == NAMES


def test_loop_says_what_the_model_is_known_to_do(ask: Any, abc: Path) -> None:
    line = found(ask("lab", "loop", "-m", abc, "--json", "--temp", "1", "--draws", "1000"))
    assert (line["experiment"], line["model"]) == ("loop", "abc")
    assert len(line["sentences"]) == 3
    letter, end = line["tokens"]
    share = {"A": 0.6, "B": 0.3, "C": 0.1}[letter["text"]]
    assert letter["probability"] == pytest.approx(share, rel=1e-3)
    assert (end["text"], letter["nucleus_size"]) == ("</s>", 3)
    assert line["agreement"]["same_candidates"]


def test_the_command_in_the_data_finds_the_same(ask: Any, abc: Path) -> None:
    first = found(ask("lab", "loop", "-m", abc, "--json", "--top-p", "0.7", "--at", "0",
                      "--logit-bias", "C=-inf", "--draws", "100"))  # fmt: skip
    words = first["command"].split()
    assert words[:2] == ["nextok", "lab"]
    assert words[2:] == [
        "loop", "-m", str(abc), "-t", "1", "--top-p", "0.7", "--logit-bias", "C=-inf",
        "--at", "0", "--draws", "100",
    ]  # fmt: skip
    again = found(ask(*words[1:], "--json"))
    assert without_times(again) == without_times(first)


def test_cache_finds_the_same_twice_but_for_the_times(ask: Any, loop_gguf: Path) -> None:
    runs = [found(ask("lab", "cache", "-m", loop_gguf, "-n", "12", "--json")) for _ in "ab"]
    assert without_times(runs[0]) == without_times(runs[1])
    assert runs[0]["text"] == 6 * "la li "
    assert runs[0]["same_output"] is True
    assert len(runs[0]["times"]["recomputing"]["latency_ms"]) == 12


def test_another_seed_draws_others(ask: Any, abc: Path) -> None:
    letters = {
        found(ask("lab", "loop", "-m", abc, "--json", "--draws", "100", "--seed", str(seed)))[
            "tokens"
        ][0]["text"]
        for seed in range(3)
    }
    assert len(letters) > 1


def test_in_a_pipe_the_sentences_are_lines(ask: Any, loop_gguf: Path) -> None:
    ran = ask("lab", "cache", "-m", loop_gguf, "-n", "12")
    lines = ran.out.decode().splitlines()
    assert (ran.code, ran.err, len(lines)) == (0, "", 4)
    assert lines[0] == "Why the KV cache matters: loop · 1 thread"
    assert lines[3].endswith("the greedy outputs are the same, token for token.")


def test_explain_walks_through_each_token(ask: Any, abc: Path) -> None:
    ran = ask("lab", "loop", "-m", abc, "--explain", "--draws", "100", "--temp", "0.5")
    text = ran.out.decode()
    assert ran.code == 0
    assert "token 0: " in text and "token 1: '</s>'" in text
    assert "· the model: 'A' 60.0 %, 'B' 30.0 %, 'C' 10.0 %" in text
    assert "· top-k: " in text and "· temperature: entropy " in text
    assert text.index("token 1: ") < text.index("The loop taken apart")


@pytest.mark.slow
def test_pictures_and_data_go_into_the_folder(ask: Any, loop_gguf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    ran = ask("lab", "cache", "-m", loop_gguf, "-n", "12", "-o", folder)
    assert (ran.code, ran.err) == (0, "")
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        "cache-latency.png", "cache-latency.svg", "cache-total.png", "cache-total.svg",
        "cache.json",
    ]  # fmt: skip
    data = json.loads((folder / "cache.json").read_text())
    assert data["command"] == f"nextok lab cache -m {loop_gguf} -t 1 -n 12"
    assert ask("lab", "cache", "-m", loop_gguf, "-n", "6", "-o", folder).code == 0  # replaced
    assert json.loads((folder / "cache.json").read_text())["tokens"] == 6


def run_two(*words: str | Path, env: dict[str, str] | None = None) -> Any:
    environ = {**os.environ, "NEXTOK_THREADS": "1", **(env or {})}
    return subprocess.run(
        [sys.executable, "-c", TWO, "lab", *words], env=environ, capture_output=True, timeout=60
    )


@pytest.mark.slow
def test_all_of_them_make_one_page(loop_gguf: Path, tmp_path: Path) -> None:
    ran = run_two("all", "-m", loop_gguf, "-n", "8", "--draws", "100", "-o", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, b"")
    page = (tmp_path / "index.html").read_text()
    assert page.count("<section") == 2 and page.count("<svg") >= 6
    assert f"nextok lab loop -m {loop_gguf} -t 1 -n 8 --draws 100" in page
    assert f"nextok lab cache -m {loop_gguf} -t 1 -n 8<" in page  # --draws means nothing to it
    for link in ("loop.json", "cache.json", "cache-latency.png"):
        assert (tmp_path / link).exists() and f'href="{link}"' in page


def test_one_that_fails_does_not_end_the_others(loop_gguf: Path, tmp_path: Path) -> None:
    ran = run_two("all", "-m", loop_gguf, "-c", "64", "-n", "200", "--json", "-o", tmp_path)
    assert ran.returncode == 3
    assert ran.stderr.decode().count("nextok: error: lab ") == 2
    assert not (tmp_path / "index.html").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("lop",), 2, ("lop", "did you mean loop?")),
        (("quite-another",), 2, ("loop, cache, divergence, abandonment, lengths, all",)),
        (("loop", "cache"), 2, ("takes one NAME",)),
        (("cache", "--explain"), 2, ("nextok lab cache", "--explain")),
        (("loop", "--patience", "3"), 2, ("nextok lab loop", "--patience")),
        (("loop", "--at", "40"), 2, ("--at 40", "raise -n")),
        (("loop", "--explain", "--json"), 2, ("exclude each other",)),
        (("loop", "-n", "1"), 2, ("-n must be a whole number from 2",)),
        (("cache", "--patience", "0"), 2, ("--patience must be a number above 0",)),
        (("cache", "-n", "9000"), 3, ("--ctx-size",)),
        (("cache", "-o", "/dev/null"), 2, ("/dev/null is no folder",)),
        (("cache", "-o", "/proc/none"), 1, ("cannot make /proc/none",)),
        (("cache", "-m", "no-such-model"), 1, ("no-such-model",)),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(
    ask: Any, words: tuple[str, ...], code: int, said: tuple[str, ...]
) -> None:
    model = () if "-m" in words else ("-m", "toy")
    ran = ask("lab", *words, *model)
    assert ran.code == code, ran
    assert ran.err.count("\n") == 1 and all(word in ran.err for word in said), ran.err


@pytest.mark.parametrize("name", ["cache.json", "index.html"])
def test_somebody_elses_file_stays(ask: Any, loop_gguf: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    ran = ask("lab", "cache", "-m", loop_gguf, "-n", "4", "-o", tmp_path)
    assert ran.code == 2 and "was not written by nextok" in ran.err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_without_matplotlib_it_is_said_before_anything_is_done(
    ask: Any, loop_gguf: Path, tmp_path: Path
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\nfound = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'matplotlib' else found(name, *a)\n"
    )
    env = {"PYTHONPATH": str(hidden)}
    ran = ask("lab", "cache", "-m", loop_gguf, "-o", tmp_path / "out", env=env)
    assert ran.code == 1 and "pip install 'nextok[lab]'" in ran.err
    assert not (tmp_path / "out").exists()
    assert ask("lab", "cache", "-m", loop_gguf, "-n", "4", env=env).code == 0


def test_a_seed_that_was_drawn_is_in_the_command(ask: Any, loop_gguf: Path) -> None:
    """Else it would not make the same data again."""
    told = ask("lab", "loop", "-m", loop_gguf, "-n", "3", "--seed", "-1", "--json").object
    words = told["command"].split()
    assert int(words[words.index("--seed") + 1]) == told["sampling"]["seed"] >= 0


def test_an_interrupt_before_anything_is_done_is_told(
    terminal: Callable[..., Any], loop_gguf: Path
) -> None:
    child = terminal("lab", "abandonment", "-m", str(loop_gguf), "-n", "2000")
    child.expect(b"lab abandonment: ")
    child.sendintr()
    assert "stopped before there was anything to show" in child.rest()


def test_an_interrupt_leaves_what_is_done(loop_gguf: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [SCRIPT, "lab", "loop", "-m", loop_gguf, "-n", "4000", "--explain", "-o", tmp_path],
        stdout=subprocess.PIPE, env={**os.environ, "NEXTOK_THREADS": "1"}, encoding="utf-8",
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("token 3:"):
            process.send_signal(signal.SIGINT)
            break
    out, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    data = json.loads((tmp_path / "loop.json").read_text())
    assert data["complete"] is False and 4 <= len(data["tokens"]) < 4000
    assert (tmp_path / "loop-entropy.png").exists()
    assert "(cut short)" in out


def test_a_reader_who_goes_away_ends_it(loop_gguf: Path) -> None:
    process = subprocess.Popen(
        [SCRIPT, "lab", "loop", "-m", loop_gguf, "-n", "4000", "--explain"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "NEXTOK_THREADS": "1"},
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == -signal.SIGPIPE
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_terminal_shows_the_charts_without_matplotlib(terminal: Any, loop_gguf: Path) -> None:
    size = {"dimensions": (90, 80), "COLUMNS": "80"}
    lines = terminal("lab", "cache", "-m", str(loop_gguf), "-n", "12", **size).lines()
    assert lines[0].startswith("nextok: this will take about ")
    assert lines[1] == "Why the KV cache matters: loop · 1 thread"
    assert lines[2].startswith("nextok lab cache -m ")
    page = "\n".join(lines)
    assert "█ with the KV cache" in page and "time of the token (ms)" in page
    assert len([line for line in lines if "└" in line]) == 2
    assert " ".join(lines).endswith("token for token.")


def test_the_list_has_a_head_and_a_foot_on_a_terminal(terminal: Any) -> None:
    lines = terminal("lab").lines()
    assert lines[0].split() == ["experiment", "what", "it", "shows"]
    assert " ".join(lines).endswith(
        "nextok lab NAME runs one; nextok lab all -o FOLDER writes a page with all of them"
    )


@pytest.mark.parametrize(("name", "kind"), [
    ("loop", "recurrent_gguf"), ("loop", "no_template_gguf"),
    ("cache", "recurrent_gguf"), ("cache", "hybrid_gguf"), ("cache", "sliding_gguf"),
])  # fmt: skip
def test_every_kind_of_model_can_be_studied(
    ask: Any, request: pytest.FixtureRequest, kind: str, name: str
) -> None:
    own = ("--draws", "100") if name == "loop" else ()
    model = request.getfixturevalue(kind)
    line = found(ask("lab", name, "-m", model, "-n", "6", "--json", *own))
    said = line["times"] if name == "cache" else line
    assert line["complete"] and len(said["sentences"]) == 3


def test_two_runs_differ_in_times_alone(ask: Any) -> None:
    words = ("lab", "cache", "-m", "toy", "-n", "5", "--json")
    first, second = found(ask(*words)), found(ask(*words))
    assert first["times"] != second["times"]
    assert json.dumps(without_times(first)) == json.dumps(without_times(second))
    assert len(first["times"]["sentences"]) == 3 and "sentences" not in first


@pytest.mark.parametrize("name", ["loop", "cache", "lengths", "divergence"])
def test_what_no_context_holds_is_refused_before_its_time_is_told(
    ask: Any, abc: Path, name: str
) -> None:
    """One line, of what cannot be: none of how long it would take."""
    flags = ("--against", abc) if name == "divergence" else ()
    ran = ask("lab", name, "-m", abc, "-n", "99999", *flags)
    assert ran.code != 0 and ran.out == b""
    ran.check_line("error", "this needs a context of", "--ctx-size")


def test_a_model_whose_numbers_are_none_is_one_line(ask: Any, nan_gguf: Path) -> None:
    for name in ("loop", "cache"):
        ask("lab", name, "-m", nan_gguf).check_failed(1, "NaN")
