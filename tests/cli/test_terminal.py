"""What a person sees: runs in a pseudo-terminal, read through a screen emulator."""

from __future__ import annotations

import re
import shlex
import signal
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60

Build = Callable[..., Path]
Terminal = Callable[..., Any]


def test_an_answer_and_nothing_else(terminal: Terminal, emoji_gguf: Path) -> None:
    child = terminal("-m", str(emoji_gguf), "hi")
    assert child.rest() == "Hi 😀 bye\r\n"
    assert child.exitstatus == 0


def test_an_end_by_a_limit_is_noted(terminal: Terminal, loop_gguf: Path) -> None:
    child = terminal("-m", str(loop_gguf), "-n", "4", "hi")
    output = child.rest()
    assert child.on_screen(output) == [
        "la li la li",
        "nextok: stopped after 4 tokens (--max-tokens)",
    ]
    assert "\x1b[2m" in output
    quiet = terminal("-m", str(loop_gguf), "-n", "4", "-q", "hi").rest()
    assert quiet == "la li la li \r\n"


def test_a_full_context_is_noted(terminal: Terminal, loop_gguf: Path) -> None:
    child = terminal("-m", str(loop_gguf), "-c", "32", "hi")
    lines = child.lines()
    assert lines[-1] == "nextok: stopped: the context of 32 tokens is full (--ctx-size)"
    assert child.exitstatus == 3


def test_the_starter_says_once_that_it_answers(terminal: Terminal) -> None:
    lines = terminal("-n", "1", "hi").lines()
    assert lines[0].startswith("nextok: answering with SmolLM2-135M-Instruct")
    assert sum("answering with" in line for line in lines) == 1


def test_the_model_cannot_drive_the_terminal(terminal: Terminal, esc_gguf: Path) -> None:
    output = terminal("-m", str(esc_gguf), "hi").rest()
    assert output == "a\u241b[31m red\u2407\ufffdend\r\n"


def test_a_lone_carriage_return_is_shown_and_a_paired_one_is_not(
    terminal: Terminal, scripted: Build
) -> None:
    model = scripted(["over", b"\r", "written", ("ctl", "<|x|>"), "a"], stem="cr")
    assert terminal("-m", str(model), "hi").rest() == "over\u240dwrittena\r\n"
    model = scripted(["line", b"\r", "\n", "next"], stem="crlf")
    assert terminal("-m", str(model), "hi").lines() == ["line", "next"]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_no_escape_code_where_none_is_wanted(
    terminal: Terminal, loop_gguf: Path, environment: dict[str, str]
) -> None:
    output = terminal("-m", str(loop_gguf), "-n", "2", "--stats", "hi", **environment).rest()
    assert "\x1b" not in output
    assert "stopped after 2 tokens" in output
    assert "\x1b" not in terminal("-m", "/nowhere.gguf", "hi", **environment).rest()


def test_color_can_be_forced_and_forbidden(terminal: Terminal, loop_gguf: Path) -> None:
    arguments = ("-m", str(loop_gguf), "-n", "2", "hi")
    assert "\x1b" not in terminal("--color", "never", *arguments).rest()
    assert "\x1b[2m" in terminal("--color", "always", *arguments, NO_COLOR="1").rest()
    assert "\x1b[2m" in terminal(*arguments, NO_COLOR="").rest()


def test_reasoning_is_dim_and_set_off(terminal: Terminal, scripted: Build) -> None:
    model = scripted(["<think>", "so so", "</think>", "\n\n", "yes"], stem="think")
    output = terminal("-m", str(model), "hi").rest()
    assert re.fullmatch("\x1b\\[2mso so\x1b\\[0m\r\n\r\nyes\r\n", output)
    assert terminal("-m", str(model), "--think", "hide", "hi").rest() == "yes\r\n"
    shown = terminal("-m", str(model), "--think", "show", "hi").rest()
    assert shown == "<think>so so</think>\r\n\r\nyes\r\n"
    plain = terminal("-m", str(model), "hi", NO_COLOR="1").rest()
    assert plain == shown


def test_an_interrupted_thought_leaves_no_colour(terminal: Terminal, scripted: Build) -> None:
    model = scripted(["<think>", "on ", "and "], loop=True, stem="endless-thought", ctx_train=65536)
    child = terminal("-m", str(model), "-c", "0", "hi")
    child.expect("and")
    child.sendintr()
    output = child.rest()
    assert child.signalstatus == signal.SIGINT
    assert re.findall("\x1b\\[[0-9;]*m", output)[-1] == "\x1b[0m"
    assert child.on_screen(output)[-1] == "nextok: interrupted"


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
    assert child.lines()[-1] == "nextok: stopped after 3000 tokens (--max-tokens)"
    assert child.exitstatus == 0


def test_a_long_prefill_says_how_far_it_is(
    terminal: Terminal, starter_gguf: Path, tmp_path: Path
) -> None:
    prompt = tmp_path / "long.txt"
    prompt.write_text("The quick brown fox jumps over the lazy dog and runs away. " * 100)
    batch = ("-b", "64", "-ub", "64")
    child = terminal("-m", str(starter_gguf), *batch, "-f", str(prompt), "-n", "1", "--temp", "0")
    output = child.rest(waiting=True)
    assert re.search(r"reading the prompt: \d+ of \d+ tokens", output)
    lines = child.on_screen(output)
    assert not any("reading the prompt" in line for line in lines)
    assert len(lines) == 2


def test_characters_appear_with_their_own_token(terminal: Terminal, scripted: Build) -> None:
    """Nothing waits for a space: a text of one long word is written piece by piece."""
    pieces = [chr(0x4E00 + number) for number in range(30)]
    model = scripted(pieces, stem="cjk")
    assert terminal("-m", str(model), "hi").rest() == "".join(pieces) + "\r\n"


def test_an_ascii_terminal_gets_placeholders(terminal: Terminal, emoji_gguf: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    child = terminal("-m", str(emoji_gguf), "hi", **locale)
    assert child.rest() == "Hi ? bye\r\n"
    assert child.exitstatus == 0


def test_a_piped_answer_of_a_terminal_session_stays_exact(emoji_gguf: Path, tmp_path: Path) -> None:
    """stdin and stderr a terminal, stdout a file."""
    answer = tmp_path / "answer"
    command = ["/bin/sh", "-c", f"{NEXTOK} -t 1 -m {emoji_gguf} hi > {answer}"]
    assert pexpect.run(shlex.join(command), timeout=HANG) == b""
    assert answer.read_bytes() == "Hi 😀 bye\n".encode()
