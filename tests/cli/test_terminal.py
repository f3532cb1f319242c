"""What a person sees: runs in a pseudo-terminal, read through a screen emulator."""

from __future__ import annotations

import os
import re
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60

Build = Callable[..., Path]
Terminal = Callable[..., "pexpect.spawn[bytes]"]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """`terminal(*arguments, **environment)`: nextok in a pseudo-terminal of 80 x 24."""
    spawned: list[pexpect.spawn[bytes]] = []

    def spawn(*arguments: str, **environment: str) -> pexpect.spawn[bytes]:
        child = pexpect.spawn(
            NEXTOK,
            ["-t", "1", *arguments],
            env={**os.environ, "TERM": "xterm-256color", **environment},
            dimensions=(24, 80),
            timeout=HANG,
        )
        spawned.append(child)
        return child

    yield spawn
    for child in spawned:
        child.close(force=True)


def read_all(child: pexpect.spawn[bytes]) -> str:
    """Everything up to the end of the process."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.before is not None
    return child.before.decode()


def on_screen(output: str) -> list[str]:
    """The lines that are left on the screen."""
    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(output)
    return [line.rstrip() for line in screen.display if line.strip()]


def test_an_answer_and_nothing_else(terminal: Terminal, emoji_gguf: Path) -> None:
    child = terminal("-m", str(emoji_gguf), "hi")
    assert read_all(child) == "Hi 😀 bye\r\n"
    assert child.exitstatus == 0


def test_an_end_by_a_limit_is_noted(terminal: Terminal, loop_gguf: Path) -> None:
    output = read_all(terminal("-m", str(loop_gguf), "-n", "4", "hi"))
    assert on_screen(output) == ["la li la li", "nextok: stopped after 4 tokens (--max-tokens)"]
    assert "\x1b[2m" in output
    quiet = read_all(terminal("-m", str(loop_gguf), "-n", "4", "-q", "hi"))
    assert quiet == "la li la li \r\n"


def test_a_full_context_is_noted(terminal: Terminal, loop_gguf: Path) -> None:
    child = terminal("-m", str(loop_gguf), "-c", "32", "hi")
    lines = on_screen(read_all(child))
    assert lines[-1] == "nextok: stopped: the context of 32 tokens is full (--ctx-size)"
    assert child.exitstatus == 3


def test_the_starter_says_once_that_it_answers(terminal: Terminal) -> None:
    lines = on_screen(read_all(terminal("-n", "1", "hi")))
    assert lines[0].startswith("nextok: answering with SmolLM2-135M-Instruct")
    assert sum("answering with" in line for line in lines) == 1


def test_the_model_cannot_drive_the_terminal(terminal: Terminal, esc_gguf: Path) -> None:
    output = read_all(terminal("-m", str(esc_gguf), "hi"))
    assert output == "a\u241b[31m red\u2407\ufffdend\r\n"


def test_a_lone_carriage_return_is_shown_and_a_paired_one_is_not(
    terminal: Terminal, scripted: Build
) -> None:
    model = scripted(["over", b"\r", "written", ("ctl", "<|x|>"), "a"], stem="cr")
    assert read_all(terminal("-m", str(model), "hi")) == "over\u240dwrittena\r\n"
    model = scripted(["line", b"\r", "\n", "next"], stem="crlf")
    assert on_screen(read_all(terminal("-m", str(model), "hi"))) == ["line", "next"]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_no_escape_code_where_none_is_wanted(
    terminal: Terminal, loop_gguf: Path, environment: dict[str, str]
) -> None:
    output = read_all(terminal("-m", str(loop_gguf), "-n", "2", "--stats", "hi", **environment))
    assert "\x1b" not in output
    assert "stopped after 2 tokens" in output
    assert "\x1b" not in read_all(terminal("-m", "/nowhere.gguf", "hi", **environment))


def test_color_can_be_forced_and_forbidden(terminal: Terminal, loop_gguf: Path) -> None:
    arguments = ("-m", str(loop_gguf), "-n", "2", "hi")
    assert "\x1b" not in read_all(terminal("--color", "never", *arguments))
    assert "\x1b[2m" in read_all(terminal("--color", "always", *arguments, NO_COLOR="1"))
    assert "\x1b[2m" in read_all(terminal(*arguments, NO_COLOR=""))


def test_reasoning_is_dim_and_set_off(terminal: Terminal, scripted: Build) -> None:
    model = scripted(["<think>", "so so", "</think>", "\n\n", "yes"], stem="think")
    output = read_all(terminal("-m", str(model), "hi"))
    assert re.fullmatch("\x1b\\[2mso so\x1b\\[0m\r\n\r\nyes\r\n", output)
    assert read_all(terminal("-m", str(model), "--think", "hide", "hi")) == "yes\r\n"
    shown = read_all(terminal("-m", str(model), "--think", "show", "hi"))
    assert shown == "<think>so so</think>\r\n\r\nyes\r\n"
    plain = read_all(terminal("-m", str(model), "hi", NO_COLOR="1"))
    assert plain == shown


def test_an_interrupted_thought_leaves_no_colour(terminal: Terminal, scripted: Build) -> None:
    model = scripted(["<think>", "on ", "and "], loop=True, stem="endless-thought", ctx_train=65536)
    child = terminal("-m", str(model), "-c", "0", "hi")
    child.expect("and")
    child.sendintr()
    output = read_all(child)
    assert child.signalstatus == signal.SIGINT
    assert re.findall("\x1b\\[[0-9;]*m", output)[-1] == "\x1b[0m"
    assert on_screen(output)[-1] == "nextok: interrupted"


@pytest.mark.parametrize("how", ["interrupt", "terminate", "hang up", "nan"])
def test_the_terminal_is_left_as_it_was_found(
    terminal: Terminal, scripted: Build, nan_gguf: Path, how: str
) -> None:
    endless = scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)
    child = terminal("-m", str(nan_gguf if how == "nan" else endless), "-c", "0", "hi")
    before = termios.tcgetattr(child.child_fd)
    child.expect("one" if how == "nan" else "la")
    if how == "interrupt":
        child.sendintr()
    elif how != "nan":
        child.kill(signal.SIGTERM if how == "terminate" else signal.SIGHUP)
    child.expect(pexpect.EOF)
    assert termios.tcgetattr(child.child_fd) == before
    child.close()
    number = {"interrupt": 2, "terminate": 15, "hang up": 1}.get(how)
    assert (child.signalstatus, child.exitstatus) == (number, 1 if how == "nan" else None)


def test_it_can_be_suspended(terminal: Terminal, scripted: Build) -> None:
    model = scripted(["la ", "li "], loop=True, stem="endless", ctx_train=65536)
    child = terminal("-m", str(model), "-c", "0", "-n", "3000", "hi")
    child.expect("la")
    child.kill(signal.SIGTSTP)
    child.kill(signal.SIGCONT)
    assert on_screen(read_all(child))[-1] == "nextok: stopped after 3000 tokens (--max-tokens)"
    assert child.exitstatus == 0


def test_a_long_prefill_says_how_far_it_is(
    terminal: Terminal, starter_gguf: Path, tmp_path: Path
) -> None:
    prompt = tmp_path / "long.txt"
    prompt.write_text("The quick brown fox jumps over the lazy dog and runs away. " * 100)
    batch = ("-b", "64", "-ub", "64")
    output = read_all(
        terminal("-m", str(starter_gguf), *batch, "-f", str(prompt), "-n", "1", "--temp", "0")
    )
    assert re.search(r"reading the prompt: \d+ of \d+ tokens", output)
    lines = on_screen(output)
    assert not any("reading the prompt" in line for line in lines)
    assert len(lines) == 2


def test_characters_appear_with_their_own_token(terminal: Terminal, scripted: Build) -> None:
    """Nothing waits for a space: a text of one long word is written piece by piece."""
    pieces = [chr(0x4E00 + number) for number in range(30)]
    model = scripted(pieces, stem="cjk")
    assert read_all(terminal("-m", str(model), "hi")) == "".join(pieces) + "\r\n"


def test_an_ascii_terminal_gets_placeholders(terminal: Terminal, emoji_gguf: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    child = terminal("-m", str(emoji_gguf), "hi", **locale)
    assert read_all(child) == "Hi ? bye\r\n"
    assert child.exitstatus == 0


def test_a_piped_answer_of_a_terminal_session_stays_exact(emoji_gguf: Path, tmp_path: Path) -> None:
    """stdin and stderr a terminal, stdout a file."""
    answer = tmp_path / "answer"
    child = pexpect.spawn(
        "/bin/sh", ["-c", f"{NEXTOK} -t 1 -m {emoji_gguf} hi > {answer}"], timeout=HANG
    )
    assert read_all(child) == ""
    assert answer.read_bytes() == "Hi 😀 bye\n".encode()


def test_bare_nextok_prints_the_help(terminal: Terminal) -> None:
    child = pexpect.spawn(NEXTOK, [], timeout=HANG, dimensions=(50, 80))
    output = read_all(child)
    assert child.exitstatus == 0
    assert "Usage" in output
    assert "generate" in output
