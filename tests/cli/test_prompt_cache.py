"""What one run has read, the next need not read again; and nobody's answer changes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]

TEXT = "The quick brown fox jumps over the lazy dog; then it sleeps until noon. " * 20
GREEDY = ("--json", "--temp", "0", "-n", "6")


@pytest.fixture
def kv() -> Path:
    """Where states are kept."""
    return Path(os.environ["XDG_CACHE_HOME"]) / "nextok" / "kv"


@pytest.fixture
def tell(ask: Ask, sliding_gguf: Path) -> Ask:
    """`tell(*arguments)`: what a tiny model says to the text, as an object."""

    def run(*arguments: str | Path, text: str = TEXT, model: Path = sliding_gguf) -> Any:
        done = ask("-m", model, *GREEDY, *arguments, input=text.encode())
        assert (done.code, done.err) == (0, ""), done
        return done.object

    return run


def states(kv: Path) -> list[Path]:
    return sorted(kv.glob("*.kv"))


def cut(answer: Any) -> int:
    """The most of the prompt that can come from the cache."""
    return int((answer["prompt_tokens"] - 1) // 128 * 128)


def test_the_third_run_reads_what_differs(ask: Ask, starter_gguf: Path, kv: Path) -> None:
    """Q4_1 with passes of more than 63 rows, where it matters how the work is cut."""

    def answer(question: str) -> Any:
        done = ask("-m", starter_gguf, *GREEDY, question, input=TEXT.encode())
        assert (done.code, done.err) == (0, "")
        return done.object

    first = answer("Who sleeps?")
    assert first["cached_tokens"] == 0 and first["prompt_tokens"] > 256
    (seen,) = kv.iterdir()
    assert seen.stat().st_size < 100
    second = answer("Who sleeps?")
    (state,) = states(kv)
    third, other = answer("Who sleeps?"), answer("Until when?")
    assert [second["cached_tokens"], third["cached_tokens"]] == [0, cut(first)]
    assert other["cached_tokens"] == cut(first)
    assert first["text"] == second["text"] == third["text"]
    assert states(kv) == [state]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (state, seen)} == {0o600}


@pytest.mark.parametrize("kind", ["recurrent", "hybrid", "sliding"])
def test_every_kind_of_memory(tell: Ask, request: pytest.FixtureRequest, kind: str) -> None:
    model = request.getfixturevalue(f"{kind}_gguf")
    plain = tell("--no-cache", "Who?", model=model)
    answers = [tell("Who?", model=model) for _ in range(3)]
    assert [answer["cached_tokens"] for answer in answers] == [0, 0, cut(plain)]
    assert {answer["text"] for answer in answers} == {plain["text"]}


def test_a_document_and_its_questions(tell: Ask, kv: Path) -> None:
    """The second question shows where the document ends."""
    questions = ["Who sleeps?", "Until when does it sleep? " * 20, "Why?"]
    plain = [tell("--no-cache", question) for question in questions]
    assert not kv.exists()
    answers = [tell(question) for question in questions]
    assert [answer["cached_tokens"] for answer in answers] == [0, 0, cut(plain[0])]
    assert [one["text"] for one in answers] == [one["text"] for one in plain]


def test_at_once(tell: Ask, kv: Path) -> None:
    first = tell("--cache", "Who?")
    assert len(states(kv)) == 1
    assert tell("Who?")["cached_tokens"] == cut(first)


def test_the_environment_may_say_so(ask: Ask, sliding_gguf: Path, kv: Path) -> None:
    for cached, value in ((0, "1"), (1, "1"), (0, "0")):
        done = ask("-m", sliding_gguf, *GREEDY, TEXT, env={"NEXTOK_CACHE": value})
        assert (done.object["cached_tokens"] > 0) == cached


def test_what_was_cached_is_in_the_events_and_the_figures(ask: Ask, sliding_gguf: Path) -> None:
    run = ("-m", sliding_gguf, "--temp", "0", "-n", "2", "--cache", TEXT)
    total = ask(*run, "--json").object["prompt_tokens"]
    kept = (total - 1) // 128 * 128
    read = [event for event in ask(*run, "--jsonl").lines if event["type"] == "prefill"]
    assert read == [
        {"type": "prefill", "done": done, "total": total, "cached": kept} for done in (kept, total)
    ]
    assert f"({kept} cached)" in ask(*run, "--stats").err


def test_other_settings_and_other_beginnings_are_not_taken_up(tell: Ask) -> None:
    first = tell("--cache", "Who?")
    for others in (
        ("--cache-type-k", "q8_0", "-fa", "on"), ("-fa", "off"), ("-ub", "64"), ("-b", "64"),
    ):  # fmt: skip
        assert tell(*others, "Who?")["cached_tokens"] == 0, others
    assert tell("Who?", text="T" + TEXT[1:].replace("quick", "slow", 1))["cached_tokens"] == 0
    assert tell("-b", "300", "Who?")["cached_tokens"] == cut(first)


@pytest.mark.parametrize(
    "flags",
    [("--no-cache",), ("--private", "--cache"), ("--state-cap", "0", "--cache"), ("-n", "0")],
)
def test_what_is_not_to_be_kept_leaves_nothing(tell: Ask, kv: Path, flags: tuple[str, ...]) -> None:
    for _ in range(2):
        assert tell(*flags, "Who?")["cached_tokens"] == 0
    assert not kv.exists()
    first = tell("--cache", "Who?")
    assert first["cached_tokens"] == 0
    assert tell(*flags, "Who?")["cached_tokens"] == 0, "nor is what others kept taken up"
    assert len(states(kv)) == 1


def test_the_cap_is_that_of_all_states(tell: Ask, kv: Path) -> None:
    tell("--cache", "Who?")
    (state,) = states(kv)
    room = str(state.stat().st_size * 3 // 2)
    tell("--cache", "--state-cap", room, "Who?", text="Another text. " * 100)
    assert len(states(kv)) == 1 and states(kv) != [state]


def test_a_short_prompt_has_nothing_to_do_with_it(ask: Ask, sliding_gguf: Path, kv: Path) -> None:
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from nextok.cli.entry import main\n"
        "sys.exit(main())\n"
    )

    def imported(prompt: str) -> set[str]:
        command = [sys.executable, "-c", script, "-m", sliding_gguf, "-t", "1", "--raw", "-n", "1"]
        done = subprocess.run(
            [*command, prompt], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        return {name for name in done.stderr.decode().split() if "nextok" in name}

    ours = {f"nextok.backends.{name}" for name in ("kv_store", "prompt_prefixes", "llama_identity")}
    ours |= {"nextok.cli.prompt_reuse", "nextok.generation.stopover"}
    assert not imported("x" * 200) & ours
    assert not kv.exists()
    assert imported("x" * 300) >= ours


def test_what_is_damaged_is_dropped_in_silence(tell: Ask, kv: Path) -> None:
    plain = tell("--cache", "Who?")
    (state,) = states(kv)
    whole = state.read_bytes()
    for content in (whole[:-1] + bytes([whole[-1] ^ 1]), b"garbage", whole[:5000]):
        state.write_bytes(content)
        again = tell("Who?")
        assert (again["cached_tokens"], again["text"]) == (0, plain["text"])
        assert tell("Who?")["cached_tokens"] == cut(plain), "it was kept anew"


def test_verbose_says_what_is_dropped(tell: Ask, ask: Ask, sliding_gguf: Path, kv: Path) -> None:
    tell("--cache", "Who?")
    (state,) = states(kv)
    state.write_bytes(b"garbage")
    done = ask("-m", sliding_gguf, *GREEDY, "-v", "Who?", input=TEXT.encode())
    assert "dropped a KV state on disk: cut short" in done.err.splitlines()


KILLED = """
import os, signal, sys
from nextok.backends import draft_file
draft_file.sync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
from nextok.cli.entry import main
sys.exit(main())
"""


def test_a_run_that_is_killed_while_it_writes(
    tell: Ask, sliding_gguf: Path, kv: Path, known_models: Path
) -> None:
    plain = tell("--no-cache", "Who?")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, "-m", sliding_gguf, "-t", "1", "--cache", *GREEDY, "Who?"],
        input=TEXT.encode(),
        env={**os.environ, "XDG_STATE_HOME": str(known_models)},
        stdout=subprocess.PIPE,
    )
    assert done.returncode == -signal.SIGKILL
    assert states(kv) == [] and len(list(kv.glob(".*.draft"))) == 1
    answers = [tell("Who?") for _ in range(2)]
    assert [answer["cached_tokens"] for answer in answers] == [0, cut(plain)]
    assert {answer["text"] for answer in answers} == {plain["text"]}
    assert list(kv.glob(".*.draft")) == []


def test_a_chat_that_grows_from_run_to_run(ask_alone: Ask, sliding_gguf: Path) -> None:
    """Each prompt begins with the one before it, and the answer to that."""
    run = ("-m", sliding_gguf, *GREEDY, "--save")
    assert ask_alone(*run, TEXT).code == 0
    answers = [ask_alone(*run, "-C", f"And {word}?").object for word in ("who", "why", "when")]
    cached = [answer["cached_tokens"] for answer in answers]
    assert cached[0] == 0 and 256 < cached[1] == cached[2]
