"""What a chat leaves behind, what can be had of it again, and what becomes of damage."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.chat_file import ChatFile, read_records
from nextok.backends.chat_folder import ChatFolder
from nextok.cli.chat.keeping import Keeping
from nextok.cli.console import Console
from nextok.generation.conversation import Conversation

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60
EMOJI = "Hi 😀 bye"
KILLS = 50
UNANSWERED = (
    b"nextok: warning: the message that was not answered stays in a branch: /branches has it\n"
)

Ask = Callable[..., Any]
Build = Callable[..., Path]


@pytest.fixture
def chat(ask_alone: Ask) -> Ask:
    """`chat(*arguments, input=b"...")`: a chat through a pipe."""

    def run(*arguments: str | Path, input: bytes, **options: Any) -> Any:
        return ask_alone("chat", *arguments, input=input, **options)

    return run


@pytest.fixture(scope="session")
def letters_gguf(scripted: Build) -> Path:
    """Says "xyxy" and never ends; what it said is read as the same tokens."""
    return scripted(["x", "y"], loop=True, stem="letters")


def kv_files() -> list[Path]:
    return sorted((Path(os.environ["XDG_CACHE_HOME"]) / "nextok" / "kv").glob("*"))


def cached(chat: Ask, *arguments: str | Path, input: bytes = b"on\n") -> tuple[int, int]:
    """Of the prompt of one more turn: how many tokens were there, and how many it has."""
    done = chat("--jsonl", "-n", "4", *arguments, input=input)
    assert (done.code, done.err) == (0, "")
    return done.lines[-1]["cached_tokens"], done.lines[-1]["prompt_tokens"]


# What is kept.


def test_a_chat_is_kept_for_its_owner_alone(chat: Ask, saved: Any, letters_gguf: Path) -> None:
    assert chat("-m", letters_gguf, "-n", "80", input=b"Sing, please!\n").code == 0
    (name,) = saved.names()
    assert name.endswith("-sing-please")
    (state,) = kv_files()
    for path in (saved.path(), state):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    lines = [json.loads(line) for line in saved.path().read_text().splitlines()]
    assert [line["type"] for line in lines] == ["chat", "model", "message", "message"]


@pytest.mark.parametrize("how", ["flag", "variable", "config"])
def test_who_does_not_want_it_leaves_nothing(
    chat: Ask,
    state_folder: Path,
    letters_gguf: Path,
    config_file: Callable[[str], Path],
    how: str,
) -> None:
    if how == "config":
        config_file("[commands.chat]\nsave = false\n")
    flags = ("--no-save",) if how == "flag" else ()
    env = {"NEXTOK_SAVE": "0"} if how == "variable" else {}
    done = chat("-m", letters_gguf, "-n", "80", *flags, input=b"one\ntwo\n", env=env)
    assert (done.code, len(done.out)) == (0, 162)
    assert not {"chats", "history"} & {path.name for path in state_folder.iterdir()}
    assert kv_files() == []


def test_a_person_who_does_not_want_it_leaves_nothing(
    talk: Callable[..., Any], state_folder: Path, letters_gguf: Path
) -> None:
    screen = talk(letters_gguf, "--no-save", "-n", "80")
    screen.send("sing\r")
    screen.wait_for("xyxy")
    screen.wait_for("80 tokens")
    screen.key("ctrl-d")
    assert screen.wait() == 0
    assert not {"chats", "history"} & {path.name for path in state_folder.iterdir()}
    assert kv_files() == []


def test_who_only_looks_on_changes_nothing(chat: Ask, saved: Any, letters_gguf: Path) -> None:
    """Also while somebody else goes on with it."""
    assert chat("-m", letters_gguf, "-n", "80", input=b"one\n").code == 0
    before = saved.path().read_bytes()
    with subprocess.Popen([NEXTOK, "chat", "-C"], stdin=subprocess.PIPE) as other:
        there, asked = cached(chat, "-C", "--no-save")
        assert there > 80
        assert asked > there
        assert saved.path().read_bytes() == before
        assert other.stdin is not None
        other.stdin.close()
        assert other.wait(timeout=HANG) == 0


def test_two_that_begin_with_the_same_words_at_once(saved: Any) -> None:
    command = [NEXTOK, "chat", "-m", "toy", "-n", "3"]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"hello\n")
    for process in running:
        out, _ = process.communicate(timeout=HANG)
        assert (process.returncode, len(out)) == (0, 4)
    assert len(saved.names()) == 4
    assert {saved.said(name)[0] for name in saved.names()} == {("user", "hello")}


class Crowded(ChatFolder):
    """Whatever name it says is free, somebody else takes it at the same moment, twice."""

    rivals = 2

    def new_name(self, first_words: str, now: datetime) -> str:
        name = super().new_name(first_words, now)
        if self.rivals:
            self.rivals -= 1
            with ChatFile.create(self.path(name)) as rival:
                rival.append({"type": "system", "text": "a rival"})
        return name


def test_a_name_that_somebody_else_was_faster_to_take(saved: Any) -> None:
    silent = Console(stream=None, terminal=False, color=False)
    keeping = Keeping(Crowded(saved.folder), silent, lambda: datetime(2026, 2, 3))
    conversation = Conversation(keeping.record)
    conversation.set_model("toy")
    conversation.say("hello")
    keeping.close()
    assert keeping.name == "2026-02-03-hello-3"
    assert saved.said("2026-02-03-hello-3") == [("user", "hello")]
    for rival in ("2026-02-03-hello", "2026-02-03-hello-2"):
        assert saved.conversation(rival).system == "a rival"


def test_a_chat_that_could_not_be_saved_is_kept_whole_later(saved: Any) -> None:
    """In a file of its own: the old one has its beginning already."""
    silent = Console(stream=None, terminal=False, color=False)
    keeping = Keeping(ChatFolder(saved.folder), silent, lambda: datetime(2026, 2, 3))
    conversation = Conversation(keeping.record)
    conversation.say("hello")
    saved.path("2026-02-03-hello").unlink()  # from now on it cannot be written any more
    conversation.reply("hi", finish="eos")
    assert not keeping.wanted
    keeping.begin(conversation, None)
    conversation.say("and you?")
    keeping.close()
    assert saved.names() == [keeping.name]
    assert saved.said() == [("user", "hello"), ("assistant", "hi"), ("user", "and you?")]


def feed(lines: Path, output: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with open(lines, "rb") as source, open(output, "wb") as sink:
        return subprocess.Popen(
            [NEXTOK, "chat", "-m", "toy", "-n", "5", "--temp", "0", *arguments],
            stdin=source,
            stdout=sink,
            stderr=subprocess.PIPE,
        )


@pytest.mark.slow
def test_killed_at_any_instant(saved: Any, tmp_path: Path) -> None:
    """Every file can be read, and of every conversation at most the last turn is unfinished."""
    dice, lines, output = random.Random(1), tmp_path / "lines", tmp_path / "output"
    lines.write_text("".join(f"message {number}\n" for number in range(20_000)))
    turns = 0
    for kill in range(KILLS):
        process = feed(lines, output, *(["-C"] if kill % 3 else []))
        answers = dice.randrange(4)
        while output.read_bytes().count(b"\n") < answers and process.poll() is None:
            time.sleep(0.001)
        time.sleep(dice.random() * 0.01)
        process.kill()
        _, err = process.communicate(timeout=HANG)
        assert process.returncode == -signal.SIGKILL
        assert err in (b"", UNANSWERED)  # of the run before
        if answers:
            turns += check_cut_chat(saved.path(saved.names()[0]), output)
    assert turns  # how many depends on the machine


def check_cut_chat(path: Path, output: Path) -> int:
    """How many turns it holds, of the last run no fewer than were heard."""
    conversation = Conversation()
    reading = read_records(path, conversation.apply)
    assert reading.bad_count == 0
    entries = conversation.entries()
    roles = [entry.role for entry in entries]
    assert roles == [("user", "assistant")[place % 2] for place in range(len(roles))]
    assert all(entry.finish for entry in entries[1::2])
    heard = output.read_bytes().count(b"\n")
    begun = max(place for place, one in enumerate(entries) if one.content == "message 0")
    kept = len(entries[begun + 1 :: 2])
    assert kept >= heard - 1, "the last one may have been on its way"
    return kept


def test_no_place_for_it_is_said_once(chat: Ask, state_folder: Path, emoji_gguf: Path) -> None:
    state_folder.mkdir(exist_ok=True)
    (state_folder / "chats").write_text("in the way")
    done = chat("-m", emoji_gguf, input=b"one\ntwo\n")
    assert (done.code, done.out) == (0, f"{EMOJI}\n{EMOJI}\n".encode())
    done.check_line("warning", "cannot be written", "the chat goes on without being saved")


def test_a_folder_that_is_a_link_to_nothing_is_called_so(
    chat: Ask, state_folder: Path, emoji_gguf: Path
) -> None:
    state_folder.mkdir(exist_ok=True)
    (state_folder / "chats").symlink_to("nowhere")
    done = chat("-m", emoji_gguf, input=b"one\n")
    assert (done.code, done.out) == (0, f"{EMOJI}\n".encode())
    done.check_line("warning", "its folder is a link that leads nowhere", "without being saved")


def test_a_disk_that_gets_full_is_said_once(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    """What was saved until then can be read."""
    limit = 600
    done = chat(
        "-m", emoji_gguf, input=b"one\ntwo\nthree\nfour\n",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert (done.code, done.out) == (0, f"{EMOJI}\n".encode() * 4)
    done.check_line("warning", "cannot be written", "the chat goes on without being saved")
    assert saved.path().stat().st_size <= limit
    assert saved.said()[:2] == [("user", "one"), ("assistant", EMOJI)]


# Taken up again.


def test_the_last_one_or_one_by_its_name(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    for words in (b"About foxes\n", b"About owls\n"):
        assert chat("-m", emoji_gguf, input=words).code == 0
    owls, foxes = saved.names()
    assert chat("-C", input=b"go on\n").out == f"{EMOJI}\n".encode()
    assert [text for _, text in saved.said(owls)[::2]] == ["About owls", "go on"]
    assert chat("--resume", "FOXES", input=b"go on\n").code == 0
    assert [text for _, text in saved.said(foxes)[::2]] == ["About foxes", "go on"]
    chat("--resume", "about", input=b"x\n").check_failed(2, "may be any of", foxes, owls)
    chat("--resume", "foxs", input=b"x\n").check_failed(2, "no chat is called", foxes)


def test_there_is_no_last_one(chat: Ask, emoji_gguf: Path) -> None:
    chat("-m", emoji_gguf, "-C", input=b"x\n").check_failed(2, "none is saved yet")


def test_the_second_one_is_told(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    assert chat("-m", emoji_gguf, input=b"one\n").code == 0
    command = [NEXTOK, "chat", "-t", "1", "-C"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdin is not None and first.stdout is not None
        first.stdin.write(b"two\n")
        first.stdin.flush()
        assert first.stdout.readline() == f"{EMOJI}\n".encode()
        second = chat("-C", input=b"three\n")
        second.check_failed(2, saved.names()[0], f"process {first.pid}", "close it there")
        first.stdin.close()
        assert first.wait(timeout=HANG) == 0
    assert chat("-C", input=b"three\n").code == 0
    assert [text for _, text in saved.said()[::2]] == ["one", "two", "three"]


def test_its_model_is_found_from_another_folder(
    chat: Ask, saved: Any, emoji_gguf: Path, letters_gguf: Path, tmp_path: Path
) -> None:
    assert chat("-m", emoji_gguf.name, input=b"one\n", cwd=emoji_gguf.parent).code == 0
    assert saved.conversation().model == str(emoji_gguf)
    done = chat("-C", input=b"two\n", cwd=tmp_path, env={"NEXTOK_MODEL": str(letters_gguf)})
    assert done.out == f"{EMOJI}\n".encode()
    done = chat("-C", "-m", letters_gguf, "-n", "2", input=b"three\n")
    assert done.out == b"xy\n"
    assert saved.conversation().model == str(letters_gguf)
    assert chat("-C", "-n", "2", input=b"four\n").out == b"xy\n"


def test_its_model_is_gone(
    chat: Ask, ask_alone: Ask, saved: Any, emoji_gguf: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.gguf"
    shutil.copy(emoji_gguf, gone)
    assert chat("-m", gone, input=b"one\n").code == 0
    gone.unlink()
    before = saved.path().read_bytes()
    chat("-C", input=b"two\n").check_failed(1, "model of this chat is gone", str(gone), "-m names")
    ask_alone("-C", "two").check_failed(1, "model of this chat is gone", str(gone), "-m names")
    assert saved.path().read_bytes() == before
    assert chat("-C", "-m", emoji_gguf, input=b"two\n").code == 0
    assert len(saved.said()) == 4


# Damaged files.


def test_damage_is_counted_and_the_original_kept(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    assert chat("-m", emoji_gguf, input=b"one\ntwo\nthree\n").code == 0
    path = saved.path()
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = [*lines[:4], b"no JSON\n", *lines[4:6], b"\0" * 100 + b"\n", *lines[6:], b'{"type":']
    original = b"".join(damaged)
    path.write_bytes(original)
    done = chat("-C", input=b"four\n")
    assert (done.code, done.out) == (0, f"{EMOJI}\n".encode())
    backup = path.with_name(f"{path.name}.bak")
    done.check_line("warning", "3 damaged lines left out (5, 8, 11)", str(backup))
    assert backup.read_bytes() == original
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [text for _, text in saved.said()[::2]] == ["one", "two", "three", "four"]
    assert chat("-C", input=b"five\n").err == "", "it is mended"


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"\n\n", b"[1, 2]\nnull\n"])
def test_a_file_with_nothing_in_it_can_be_gone_on_with(
    chat: Ask, saved: Any, emoji_gguf: Path, content: bytes
) -> None:
    saved.folder.mkdir(parents=True)
    path = saved.folder / "wreck.jsonl"
    path.write_bytes(content)
    done = chat("-m", emoji_gguf, "-C", input=b"one\n")
    assert (done.code, done.out) == (0, f"{EMOJI}\n".encode())
    assert saved.said() == [("user", "one"), ("assistant", EMOJI)]
    backup = saved.folder / "wreck.jsonl.bak"
    assert backup.exists() == bool(content.strip())
    assert not backup.exists() or backup.read_bytes() == content


def test_a_file_of_a_newer_version_is_left_alone(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    saved.folder.mkdir(parents=True)
    path = saved.folder / "future.jsonl"
    path.write_text('{"type":"chat","version":2}\n{"type":"thought"}\n')
    before = path.read_bytes()
    done = chat("-m", emoji_gguf, "-C", input=b"one\n")
    done.check_failed(2, "future", "newer nextok", "update it")
    assert path.read_bytes() == before


# What the model has read.


def test_a_resumed_chat_reads_only_what_is_new(chat: Ask, letters_gguf: Path) -> None:
    assert chat("-m", letters_gguf, "-n", "80", input=b"one\ntwo\n").code == 0
    there, asked = cached(chat, "-C")
    assert there > 160
    assert asked - there < 10
    assert cached(chat, "-C")[0] > asked, "the turn since then is kept too"


@pytest.mark.slow
def test_a_state_that_does_not_fit_is_read_again(
    chat: Ask, ask_alone: Ask, starter_gguf: Path, letters_gguf: Path, saved: Any
) -> None:
    """Without a word, and the answer is the same."""
    greedy = ("--temp", "0", "-fa", "on", "-b", "32", "-ub", "32", "-n", "4")
    words = b"The fox saw the owl, and the owl saw the fox, and both said: " * 3
    assert chat("-m", starter_gguf, *greedy, input=words + b"\n").code == 0
    (state,) = kv_files()
    whole, before = state.read_bytes(), saved.path().read_bytes()

    def go_on(*arguments: str | Path, put: bytes = whole) -> tuple[str, bool]:
        state.write_bytes(put)
        saved.path().write_bytes(before)
        done = chat("--jsonl", *greedy, "-C", *arguments, input=b"Why?\n")
        assert (done.code, done.err) == (0, "")
        return done.lines[-1]["text"], done.lines[-1]["cached_tokens"] > 50

    text, was_there = go_on()
    assert was_there
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    assert go_on(put=flipped) == (text, False)
    assert go_on("-ctk", "q8_0")[1] is False
    assert go_on("-m", letters_gguf) == ("xyxy", False)


def test_none_is_kept_when_there_is_no_room_for_it(chat: Ask, letters_gguf: Path) -> None:
    none = ("-m", letters_gguf, "-n", "80", "--state-cap", "0")
    assert chat(*none, input=b"one\n").code == 0
    assert kv_files() == []
    assert cached(chat, "-C")[0] == 0


def test_all_of_them_share_one_cap(chat: Ask, saved: Any, letters_gguf: Path) -> None:
    """What was used longest ago goes first."""
    long = ("-m", letters_gguf, "-n", "80")
    assert chat(*long, input=b"one\n").code == 0
    (state,) = kv_files()
    cap = state.stat().st_size * 5 // 2
    for words in (b"two\n", b"three\n"):
        assert chat(*long, "--state-cap", str(cap), input=words).code == 0
        assert sum(path.stat().st_size for path in kv_files()) <= cap
    assert len(kv_files()) == 2
    one, two, three = sorted(saved.names(), key=lambda name: saved.path(name).stat().st_mtime)
    there = {name: cached(chat, "--no-save", "--resume", name)[0] for name in (one, two, three)}
    assert there[one] == 0
    assert min(there[two], there[three]) > 80
