"""A single answer in a chat: kept with --save, gone on from with -C or --resume."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.chat_file import ChatFile

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60
EMOJI = "Hi 😀 bye"
REPLY = ("assistant", EMOJI)

Ask = Callable[..., Any]
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def endless_gguf(scripted: Build) -> Path:
    """Says "xyxy" for longer than any test waits."""
    return scripted(["x", "y"], loop=True, stem="endless", ctx_train=65536)


@pytest.fixture
def first(ask_alone: Ask, emoji_gguf: Path) -> Any:
    """One question and its answer, kept."""
    done = ask_alone("-m", emoji_gguf, "--save", "What is this?")
    assert (done.code, done.out, done.err) == (0, f"{EMOJI}\n".encode(), "")
    return done


def test_an_answer_belongs_to_no_chat(ask_alone: Ask, saved: Any, emoji_gguf: Path) -> None:
    assert ask_alone("-m", emoji_gguf, "What is this?").code == 0
    assert saved.names() == []
    assert ask_alone("-m", emoji_gguf, "-C", "And why?").code == 2


def test_a_kept_answer_is_gone_on_from(
    first: Any, ask_alone: Ask, saved: Any, emoji_gguf: Path, tmp_path: Path
) -> None:
    assert saved.names()[0].endswith("-what-is-this")
    done = ask_alone("-C", "--json", "And", "why?")
    assert (done.code, done.err) == (0, "")
    conversation = [("user", "What is this?"), REPLY, ("user", "And why?"), REPLY]
    assert saved.said() == conversation
    messages = tmp_path / "messages.json"
    pairs = [{"role": role, "content": text} for role, text in conversation[:3]]
    messages.write_text(json.dumps(pairs))
    fresh = ask_alone("-m", emoji_gguf, "--json", "--messages", messages).object
    told = done.object
    assert told["prompt_tokens"] == fresh["prompt_tokens"]
    assert told["text"] == EMOJI
    assert list(told) == list(fresh), "its form is that of any answer"
    exported = ask_alone("chats", "--export", "what", "--format", "json").out
    assert [one["content"] for one in json.loads(exported)["messages"]] == [
        text for _, text in conversation
    ]


def test_a_chat_and_an_answer_go_on_from_each_other(first: Any, ask_alone: Ask, saved: Any) -> None:
    assert ask_alone("chat", "-C", input=b"two\n").code == 0
    assert ask_alone("--resume", "what-is", input=b"three").code == 0
    assert [text for _, text in saved.said()[::2]] == ["What is this?", "two", "three"]


def test_it_goes_on_without_being_kept(first: Any, ask_alone: Ask, saved: Any) -> None:
    before = saved.path().read_bytes()
    done = ask_alone("-C", "--no-save", "--json", "And why?")
    assert done.object["prompt_tokens"] > 25
    assert saved.path().read_bytes() == before


def test_the_system_message_stays(ask_alone: Ask, saved: Any, emoji_gguf: Path) -> None:
    assert ask_alone("-m", emoji_gguf, "--save", "-sys", "Be brief.", "one").code == 0
    with_system = ask_alone("-C", "--json", "two").object["prompt_tokens"]
    assert saved.conversation().system == "Be brief."
    assert ask_alone("-m", emoji_gguf, "--save", "one").code == 0
    without = ask_alone("-C", "--json", "two").object["prompt_tokens"]
    assert with_system > without + 5


def test_what_was_set_in_the_chat_holds(first: Any, ask_alone: Ask, saved: Any) -> None:
    """A flag of this run outranks it, and what is no setting any more is passed over."""
    with ChatFile.open(saved.path()) as file:
        for name, value in (("max-tokens", "1"), ("temp", "0"), ("gone", "1")):
            file.append({"type": "setting", "name": name, "value": value})
    told = ask_alone("-C", "--json", "--temp", "0.5", "two").object
    assert (told["text"], told["sampling"]["temperature"]) == ("Hi ", 0.5)
    done = ask_alone("chat", "-C", "--jsonl", input=b"three\n")
    assert (done.code, done.err) == (0, "")
    assert (done.lines[-1]["text"], done.lines[-1]["sampling"]["temperature"]) == ("Hi ", 0.0)


@pytest.mark.parametrize("how", ["variable", "config"])
def test_all_answers_may_be_kept(
    ask_alone: Ask,
    saved: Any,
    emoji_gguf: Path,
    config_file: Callable[[str], Path],
    tmp_path: Path,
    how: str,
) -> None:
    if how == "config":
        config_file("[commands.generate]\nsave = true\n")
    env = {"NEXTOK_SAVE": "1"} if how == "variable" else {}
    assert ask_alone("-m", emoji_gguf, "one", env=env).code == 0
    assert saved.said() == [("user", "one"), REPLY]
    if how == "config":
        return
    messages = tmp_path / "messages.json"
    messages.write_text('[{"role": "user", "content": "hi"}]')
    others = [("--raw", "one"), ("--prefill", "Hi", "one"), ("--messages", str(messages))]
    for other in others:  # no turns of a chat, and nobody has said that they are
        assert ask_alone("-m", emoji_gguf, *other, env=env).code == 0
    assert ask_alone("-m", emoji_gguf, "--no-save", "one", env=env).code == 0
    assert len(saved.names()) == 1


@pytest.mark.parametrize("flag", ["-C", "--save", "--resume=what"])
def test_what_is_no_turn_of_a_chat(first: Any, ask_alone: Ask, saved: Any, flag: str) -> None:
    before = saved.path().read_bytes()
    for other in ("--raw", "--prefill=Hi", "--messages=-"):
        text = b'[{"role": "user", "content": "hi"}]'
        done = ask_alone(flag, other, *(["x"] if other != "--messages=-" else []), input=text)
        done.check_failed(2, other.partition("=")[0], "no turn of a chat")
    assert saved.path().read_bytes() == before
    assert len(saved.names()) == 1


# Answers that did not end well.


def test_an_interrupted_answer_is_kept(ask_alone: Ask, saved: Any, endless_gguf: Path) -> None:
    command = [NEXTOK, "-t", "1", "-m", str(endless_gguf), "-c", "0", "--save", "sing"]
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0
        )
        assert process.stdout is not None
        heard = process.stdout.read(1)
        process.send_signal(number)
        rest, _ = process.communicate(timeout=HANG)
        assert process.returncode == -number
        (_, reply) = saved.conversation(saved.names()[0]).entries()
        assert reply.finish == "interrupted"
        assert heard + rest == f"{reply.content}\n".encode()
    done = ask_alone("-C", "-n", "4", "go on")
    assert (done.code, done.out) == (0, b"xyxy\n")


def test_what_a_reader_that_is_gone_could_have_heard_is_kept(saved: Any, scripted: Build) -> None:
    """It has never read: the pipe is full when it goes away."""
    song = ["x" * 200, "y" * 200]
    wordy = scripted(song, loop=True, stem="wordy", ctx_train=65536)
    command = [NEXTOK, "-t", "1", "-m", str(wordy), "-c", "0", "--save", "sing"]
    reader, writer = os.pipe()
    capacity = fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) if sys.platform == "linux" else 1 << 16
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    while fill_of(reader) < capacity * 0.95:  # more does not go into its pages in such pieces
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.05)  # by now it waits for room
    os.close(reader)
    _, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (-signal.SIGPIPE, b"")
    (_, reply) = saved.conversation().entries()
    assert reply.finish == "disconnected"
    assert reply.content.startswith("".join(song) * 150)


def fill_of(reader: int) -> int:
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_broken_model_says_what_it_can(ask_alone: Ask, saved: Any, nan_gguf: Path) -> None:
    done = ask_alone("-m", nan_gguf, "--save", "one")
    assert (done.code, done.out) == (1, b"one two \n")
    assert saved.said() == [("user", "one"), ("assistant", "one two ")]


def test_without_an_answer_nothing_is_kept(
    first: Any, ask_alone: Ask, saved: Any, starter_gguf: Path, tmp_path: Path
) -> None:
    before = saved.path().read_bytes()
    assert ask_alone("-C", "-c", "256", "w " * 300).code == 3
    assert ask_alone("-C", "-m", "/nowhere.gguf", "x").code == 1
    assert ask_alone("--save", "-m", "/nowhere.gguf", "x").code == 1
    trace = tmp_path / "trace"
    flags = ["-t", "1", "-m", str(starter_gguf), "-b", "32", "-ub", "32", "--trace", str(trace)]
    for keep in ("--save", "-C"):
        trace.unlink(missing_ok=True)
        process = subprocess.Popen(
            [NEXTOK, *flags, keep, "Once there was a fox. " * 200], stdin=subprocess.DEVNULL
        )
        while not trace.exists() or '"prefill"' not in trace.read_text():
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HANG) == -signal.SIGINT
    assert saved.path().read_bytes() == before


def test_no_place_for_it_is_said(ask_alone: Ask, state_folder: Path, emoji_gguf: Path) -> None:
    state_folder.mkdir(exist_ok=True)
    (state_folder / "chats").write_text("in the way")
    done = ask_alone("-m", emoji_gguf, "--save", "one")
    assert (done.code, done.out) == (0, f"{EMOJI}\n".encode())
    done.check_line("warning", "cannot be written")


def test_a_chat_that_is_open_elsewhere(first: Any, ask_alone: Ask, saved: Any) -> None:
    command = [NEXTOK, "chat", "-t", "1", "-C"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write(b"two\n")
        other.stdin.flush()
        assert other.stdout.read(1)
        ask_alone("-C", "three").check_failed(2, f"open in process {other.pid}")
        other.stdin.close()
        assert other.wait(timeout=HANG) == 0
    assert [text for _, text in saved.said()[::2]] == ["What is this?", "two"]


# Longer than the context.


def test_the_oldest_messages_are_left_out(
    ask_alone: Ask, saved: Any, emoji_gguf: Path, terminal: Callable[..., Any]
) -> None:
    flags = ("-m", str(emoji_gguf), "-c", "256")
    assert ask_alone(*flags, "--save", "-sys", "Be brief.", "word " * 20).code == 0
    seen = []
    for _ in range(4):
        done = ask_alone(*flags, "-C", "--json", "word " * 10)
        assert done.code == 0
        if done.err:
            done.check_line("warning", "the context is full: the oldest ", "no longer read")
        seen.append(done.object["prompt_tokens"])
    assert max(seen) <= 192, "a quarter is left for the answer"
    assert sorted(seen) != seen, "some messages are read no more"
    assert len(saved.said()) == 10
    assert saved.conversation().messages()[0].content == "Be brief."
    screen = terminal(*flags, "-C", "word " * 20, dimensions=(24, 200))
    (note, answer) = screen.lines()
    assert note.startswith("nextok: warning: the context is full: the oldest ")
    assert "no longer read" in note
    assert answer == EMOJI


# What the settings say.


def test_the_flags_are_settings(ask_alone: Ask) -> None:
    def settings_of(*arguments: str, **options: Any) -> dict[str, Any]:
        settings: dict[str, Any] = json.loads(ask_alone(*arguments, **options).out)["settings"]
        return settings

    told = settings_of("config", "chat", "--json", env={"NEXTOK_SAVE": "0"})
    assert told["save"] == {"value": False, "origin": "environment NEXTOK_SAVE"}
    assert told["on-full"] == {"value": "drop", "origin": "built in"}
    assert told["state-cap"]["origin"] == "built in"
    assert told["think-budget"] == {"value": "none", "origin": "built in"}
    assert told["markdown"]["value"] is True
    assert not {"continue", "resume", "interactive"} & set(told), "of one run alone"
    assert settings_of("config", "--save", "--json")["save"] == {"value": True, "origin": "flag"}


def test_a_setting_that_is_out_of_range(ask_alone: Ask) -> None:
    for flags in (("--state-cap", "much"), ("--on-full", "burst"), ("--think-budget", "-2")):
        ask_alone("chat", *flags, input=b"").check_failed(2, f"{flags[0]} must be")
    for command in ((), ("chat",)):
        done = ask_alone(*command, "-C", "--resume", "x", input=b"one\n")
        done.check_failed(2, "--continue and --resume exclude each other")
    assert not os.path.exists(Path(os.environ["XDG_STATE_HOME"]) / "nextok" / "chats")
