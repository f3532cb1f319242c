"""`nextok chat` through a pipe: lines are turns, whatever comes in and whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NEXTOK = str(Path(sys.executable).with_name("nextok"))
HANG = 60
EMOJI = "Hi 😀 bye"
REFUSES_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "<|user|>{{ m['content'] }}<|end|>{% endfor %}<|go|>"
)
THINKS: list[Any] = [("ctl", "<think>"), "why", ("ctl", "</think>"), "\n\n", "answer"]

Ask = Callable[..., Any]
Build = Callable[..., Path]
Process = subprocess.Popen[bytes]
Start = Callable[..., Process]


def answers(count: int, text: str = EMOJI) -> bytes:
    return (text + "\n").encode() * count


@pytest.fixture
def chat(ask_alone: Ask) -> Ask:
    """`chat(*arguments, input=b"...")`: a chat through a pipe."""

    def run(*arguments: str | Path, input: bytes, **options: Any) -> Any:
        return ask_alone("chat", *arguments, input=input, **options)

    return run


@pytest.fixture
def start(state_folder: Path) -> Iterator[Start]:
    """`start(*arguments)`: a chat with pipes that the test writes to and reads from."""
    running: list[Process] = []

    def run(*arguments: str | Path, **options: Any) -> Process:
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [NEXTOK, "chat", "-t", "1", *map(str, arguments)]
        running.append(subprocess.Popen(command, bufsize=0, **(streams | options)))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def say(process: Process, line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def events(process: Process, until: str = "end") -> Iterator[dict[str, Any]]:
    """As they come, up to the first of that type."""
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        yield event
        if event["type"] == until:
            return
    pytest.fail(f"no {until} came")


def finish(process: Process) -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=HANG)
    return process.returncode, out, err.decode()


@pytest.fixture(scope="session")
def endless_gguf(scripted: Build) -> Path:
    """Says "xyxy" for longer than any test waits; what it said is read as the same tokens."""
    return scripted(["x", "y"], loop=True, stem="endless", ctx_train=65536)


@pytest.fixture(scope="session")
def refusing_gguf(scripted: Build) -> Path:
    """Says "Hi"; its template takes no system message."""
    return scripted(["Hi"], template=REFUSES_SYSTEM, stem="refusing")


# What comes in.


def test_without_a_line_nothing_is_loaded(chat: Ask, saved: Any) -> None:
    done = chat("-m", "/nowhere.gguf", input=b"")
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert chat("-m", "/nowhere.gguf", input=b"\n  \n").code == 0
    assert saved.names() == []


@pytest.mark.parametrize("text", [b"one\ntwo\n", b"\none\n\n \t\ntwo", b"one\r\n\r\ntwo\r\n"])
def test_each_line_gets_an_answer(chat: Ask, saved: Any, emoji_gguf: Path, text: bytes) -> None:
    done = chat("-m", emoji_gguf, input=text)
    assert (done.code, done.out, done.err) == (0, answers(2), "")
    reply = ("assistant", EMOJI)
    assert saved.said() == [("user", "one"), reply, ("user", "two"), reply]


def test_words_of_the_command_line_come_first(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    done = chat("-m", emoji_gguf, "what", "is this", input=b"and that\n")
    assert (done.code, done.out) == (0, answers(2))
    assert [text for _, text in saved.said()[::2]] == ["what is this", "and that"]


def test_a_line_can_hold_several_when_it_is_escaped(
    chat: Ask, saved: Any, emoji_gguf: Path
) -> None:
    assert chat("-m", emoji_gguf, "-e", r"a\tb", input=rb"one\ntwo\\").code == 0
    assert [text for _, text in saved.said()[::2]] == ["a\tb", "one\ntwo\\"]
    assert chat("-m", emoji_gguf, "-C", input=rb"one\ntwo").code == 0
    assert saved.said()[-2] == ("user", r"one\ntwo")


def test_bytes_that_are_no_text(chat: Ask, emoji_gguf: Path) -> None:
    done = chat("-m", emoji_gguf, input=b"one\nb\xe9d\nthree\n")
    assert (done.code, done.out) == (2, answers(1))
    done.check_line("error", "not utf-8", "0xe9 at offset 5", "line 2", "--encoding latin-1")


def test_other_encodings(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    text = "é\nдва\n"
    chat("-m", emoji_gguf, input=text.encode("utf-16")).check_failed(2, "--encoding utf-16")
    done = chat("-m", emoji_gguf, "--encoding", "utf-16", input=text.encode("utf-16"))
    assert (done.code, done.out) == (0, answers(2))
    assert [text for _, text in saved.said()[::2]] == ["é", "два"]
    assert chat("-m", emoji_gguf, "-C", "--encoding", "latin-1", input=b"\xe9").code == 0
    assert saved.said()[-2] == ("user", "é")
    assert chat("-m", emoji_gguf, "-C", input=b"\xef\xbb\xbfmarked\n").code == 0
    assert saved.said()[-2] == ("user", "marked")


def test_a_line_that_never_ends(chat: Ask, emoji_gguf: Path) -> None:
    done = chat("-m", emoji_gguf, input=b"one\n" + b"w" * (65 << 20))
    assert (done.code, done.out) == (2, answers(1))
    done.check_line("error", "a line of standard input is over 64 MiB")


def test_closed_streams(emoji_gguf: Path, state_folder: Path) -> None:
    for closed, code in (("<&-", 0), (">&-", 1)):
        script = f"{NEXTOK} chat -m {emoji_gguf} -t 1 {closed}"
        done = subprocess.run(
            ["bash", "-c", script], input=b"one\n", capture_output=True, timeout=HANG, check=False
        )
        assert (done.returncode, done.stdout) == (code, b"")


# What comes out.


def test_an_answer_without_words_is_an_empty_line(
    chat: Ask, scripted: Build, emoji_gguf: Path
) -> None:
    assert chat("-m", emoji_gguf, "-n", "0", input=b"one\ntwo\n").out == b"\n\n"
    thinks = scripted(THINKS, stem="thinks")
    assert chat("-m", thinks, "-n", "2", input=b"one\n").out == b"\n"
    assert chat("-m", thinks, "-n", "2", "--think", "show", input=b"one\n").out == b"<think>why\n"
    assert chat("-m", thinks, input=b"one\n").out == b"answer\n"


def test_lines_of_json_as_things_happen(start: Start, emoji_gguf: Path) -> None:
    """A coprocess: the second message is written when the first has its end."""
    process = start("-m", emoji_gguf, "--jsonl")
    for turn, message in ((1, b"one\n"), (2, b"two\n")):
        say(process, message)
        heard = list(events(process))
        assert {event["turn"] for event in heard} == {turn}
        kinds = list(dict.fromkeys(event["type"] for event in heard))
        assert kinds == ["start", "prefill", "token", "end"]
        tokens = [event["text"] for event in heard if event["type"] == "token"]
        assert "".join(tokens) == EMOJI
        assert (heard[-1]["text"], heard[-1]["finish_reason"]) == (EMOJI, "eos")
    assert finish(process) == (0, b"", "")


def test_a_coprocess_gets_plain_answers_too(start: Start, emoji_gguf: Path) -> None:
    process = start("-m", emoji_gguf)
    for _ in range(2):
        say(process, b"go on\n")
        assert process.stdout is not None
        assert process.stdout.readline() == answers(1)
    assert finish(process) == (0, b"", "")


def test_a_trace_has_the_same_lines(chat: Ask, emoji_gguf: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    long = b"word " * 400
    lines = b"one\n" + long + b"\ntwo\n"
    done = chat("-m", emoji_gguf, "-c", "256", "--jsonl", "--trace", trace, input=lines)
    assert trace.read_bytes() == done.out
    assert [line["turn"] for line in done.lines if line["type"] != "token"] == [
        1, 1, 1, 1, 2, 3, 3, 3, 3
    ]  # fmt: skip
    plain = chat("-m", emoji_gguf, "--trace", trace, input=b"one\n")
    assert plain.out == answers(1)
    assert json.loads(trace.read_text().splitlines()[-1])["type"] == "end"


def test_figures_after_each_turn(chat: Ask, emoji_gguf: Path) -> None:
    done = chat("-m", emoji_gguf, "--stats", "--seed", "7", input=b"one\ntwo\n")
    assert (done.code, done.out) == (0, answers(2))
    assert [line.count("seed 7") for line in done.err.splitlines()] == [1, 0, 1, 0]


def test_what_a_person_at_the_other_end_sees(
    terminal: Callable[..., Any], state_folder: Path, scripted: Build
) -> None:
    thinks = scripted(THINKS, stem="thinks")
    command = f"echo one | {NEXTOK} chat -t 1 -m {thinks} -n 5"
    screen = terminal("bash", "-c", command)
    assert screen.wait() == 0
    assert screen.lines() == ["why", "", "answer", "nextok: answer 1 was cut: length"]
    assert b"\x1b[2mwhy\x1b[0m" in screen.raw


# What goes wrong.


def test_a_message_that_is_too_long(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    lines = b"one\n" + b"word " * 400 + b"\n" + b"word " * 400_000 + b"\ntwo\n"
    done = chat("-m", emoji_gguf, "-c", "256", input=lines)
    assert (done.code, done.out) == (3, (EMOJI + "\n\n\n" + EMOJI + "\n").encode())
    assert [line.count("the context holds 256") for line in done.err.splitlines()] == [1, 1]
    reply = ("assistant", EMOJI)
    assert saved.said() == [("user", "one"), reply, ("user", "two"), reply]
    assert saved.path().stat().st_size < 20_000, "what no context can hold is not written"


def test_errors_are_lines_with_their_turn(chat: Ask, emoji_gguf: Path) -> None:
    def failures(*arguments: str | Path, input: bytes) -> list[tuple[int, int]]:
        done = chat("--jsonl", *arguments, input=input)
        assert done.err.count("\n") == 1
        errors = [line for line in done.lines if line["type"] == "error"]
        assert all(f"nextok: error: {line['error']}\n" == done.err for line in errors)
        assert done.code == errors[0]["code"]
        return [(line["turn"], line["code"]) for line in errors]

    assert failures("-m", "/nowhere.gguf", input=b"one\n") == [(1, 1)]
    assert failures("--resume", "nothing", input=b"one\n") == [(1, 2)]
    assert failures("-m", emoji_gguf, input=b"one\n\xff\n") == [(2, 2)]
    assert failures("-m", emoji_gguf, "-c", "256", input=b"one\n" + b"w " * 400) == [(2, 3)]


def test_a_broken_model(chat: Ask, saved: Any, emoji_gguf: Path, nan_gguf: Path) -> None:
    """Its words are out, and kept in a branch of their own: who goes on does so without them."""
    done = chat("-m", nan_gguf, input=b"one\ntwo\n")
    assert (done.code, done.out) == (1, b"one two \n")
    done.check_line("error", "NaN")
    assert saved.said() == []
    assert [branch.last for branch in saved.conversation().branches()] == ["", "one two "]
    done = chat("-m", emoji_gguf, "-C", "--jsonl", input=b"three\n")
    assert done.code == 0
    fresh = chat("-m", emoji_gguf, "--jsonl", input=b"three\n")
    assert done.lines[-1]["prompt_tokens"] == fresh.lines[-1]["prompt_tokens"]


def test_a_model_that_breaks_later(chat: Ask, saved: Any, nan_gguf: Path, emoji_gguf: Path) -> None:
    """What was said before it failed is what is gone on with."""
    assert chat("-m", emoji_gguf, input=b"zero\n").code == 0
    assert chat("-m", nan_gguf, "-C", input=b"one\ntwo\n").code == 1
    assert saved.said() == [("user", "zero"), ("assistant", EMOJI)]


def test_a_broken_model_in_lines_of_json(chat: Ask, nan_gguf: Path) -> None:
    lines = chat("-m", nan_gguf, "--jsonl", input=b"one\ntwo\n").lines
    assert lines[-1]["type"] == "end"
    assert (lines[-1]["text"], lines[-1]["finish_reason"]) == ("one two ", "error")
    assert "NaN" in lines[-1]["error"]


def test_a_full_disk(start: Start, emoji_gguf: Path) -> None:
    for form in ((), ("--jsonl",)):
        with open("/dev/full", "wb") as full:
            process = start("-m", emoji_gguf, *form, stdout=full)
            _, err = process.communicate(b"one\ntwo\n", timeout=HANG)
        assert process.returncode == 1
        assert err == b"nextok: error: cannot write the answer: No space left on device\n"


def test_a_template_that_takes_no_system_message(
    chat: Ask, saved: Any, refusing_gguf: Path
) -> None:
    done = chat("-m", refusing_gguf, "-sys", "Be brief.", input=b"one\n")
    done.check_failed(1, "takes no system message", "--fold-system")
    assert saved.names() == []
    done = chat("-m", refusing_gguf, "-sys", "Be brief.", "--fold-system", input=b"one\n")
    assert (done.code, done.out, done.err) == (0, b"Hi\n", "")


def test_the_system_message_is_the_chats(chat: Ask, saved: Any, emoji_gguf: Path) -> None:
    first, second = (
        chat("-m", emoji_gguf, "--jsonl", *more, input=b"one\n").lines[0]["prompt_tokens"]
        for more in ((), ("-sys", "Be brief."))
    )
    assert second > first
    assert saved.conversation(saved.names()[0]).system == "Be brief."


# What ends it from outside.


def test_each_turn_has_its_time(chat: Ask, saved: Any, endless_gguf: Path) -> None:
    done = chat("-m", endless_gguf, "-c", "0", "--timeout", "1.5", input=b"one\ntwo\n")
    assert (done.code, done.err) == (124, "")
    assert [line.startswith(b"xy") for line in done.out.splitlines()] == [True, True]
    replies = saved.conversation().entries()[1::2]
    assert [entry.finish for entry in replies] == ["timeout", "timeout"]


def test_a_full_context_is_an_ending(chat: Ask, saved: Any, loop_gguf: Path) -> None:
    done = chat("-m", loop_gguf, "-c", "256", input=b"one\ntwo\n")
    assert done.code == 3
    cut, full, again = done.err.splitlines()
    assert cut == "nextok: warning: answer 1 was cut: context"
    assert full.startswith("nextok: warning: the context is full: the oldest 2 messages")
    assert again == "nextok: warning: answer 2 was cut: context"
    replies = saved.conversation().entries()[1::2]
    assert [entry.finish for entry in replies] == ["context", "context"]
    assert done.out == "".join(f"{entry.content}\n" for entry in replies).encode()


def test_the_reader_takes_one_line(saved: Any, emoji_gguf: Path) -> None:
    script = f"yes one | {NEXTOK} chat -t 1 -m {emoji_gguf} | head -1; echo ${{PIPESTATUS[1]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=HANG, check=True)
    assert (done.stdout, done.stderr) == (answers(1) + b"141\n", b"")
    assert saved.said()[:2] == [("user", "one"), ("assistant", EMOJI)]


def loading(start: Start, slow_gguf: Any) -> Process:
    """A chat that is loading its model, and has been for a while."""
    process = start("-m", slow_gguf.path, env={**os.environ, **slow_gguf.environ})
    say(process, b"one\n")
    while not slow_gguf.began.exists():
        assert process.poll() is None
        time.sleep(0.005)
    return process


def test_a_reader_that_goes_away_while_the_model_is_loaded(
    start: Start, saved: Any, slow_gguf: Any
) -> None:
    process = loading(start, slow_gguf)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (-signal.SIGPIPE, b"")
    assert saved.names() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_model_is_loaded(
    start: Start, saved: Any, slow_gguf: Any, number: int
) -> None:
    process = loading(start, slow_gguf)
    process.send_signal(number)
    assert finish(process) == (-number, b"", "")
    assert saved.names() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_the_words_so_far(
    start: Start, saved: Any, endless_gguf: Path, number: int
) -> None:
    process = start("-m", endless_gguf, "-c", "0")
    say(process, b"sing\n")
    assert process.stdout is not None
    heard = process.stdout.read(6)
    process.send_signal(number)
    code, rest, err = finish(process)
    assert (code, err) == (-number, "")
    song = (heard + rest).decode()
    (_, reply) = saved.conversation().entries()
    assert reply.finish == "interrupted"
    assert reply.content.startswith("x")
    assert song == reply.content + "\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_two_turns(
    start: Start, saved: Any, emoji_gguf: Path, number: int
) -> None:
    process = start("-m", emoji_gguf, "--jsonl")
    say(process, b"one\n")
    assert [event["type"] for event in events(process)][-1] == "end"
    process.send_signal(number)
    assert finish(process) == (-number, b"", "")
    assert saved.said()[0] == ("user", "one")


def test_a_signal_while_a_long_message_is_read(
    start: Start, saved: Any, starter_gguf: Path
) -> None:
    """It was not answered: the chat is as it was before."""
    process = start("-m", starter_gguf, "--jsonl", "-n", "2", "-b", "32", "-ub", "32")
    say(process, b"hello\n")
    assert [event["type"] for event in events(process)][-1] == "end"
    say(process, b"Once there was a fox. " * 200 + b"\n")
    reading = [event["type"] for event in events(process, until="prefill")]
    assert reading == ["start", "prefill"]
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, err) == (-signal.SIGINT, "")
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["finish_reason"], last["text"]) == ("end", "interrupted", "")
    assert [role for role, _ in saved.said()] == ["user", "assistant"]


def test_a_context_that_fills_up_in_the_reasoning_is_said(chat: Ask, scripted: Build) -> None:
    """There is no word of an answer."""
    model = scripted(["<think>", "on ", "and "], loop=True, stem="pondering")
    done = chat("-m", model, "-c", "64", input=b"hello\n")
    assert (done.code, done.out) == (3, b"\n")
    done.check_line("warning", "answer 1 was cut: context")


# On from a pipe to the terminal.


def test_notes_first_and_then_a_person(
    terminal: Callable[..., Any], saved: Any, emoji_gguf: Path
) -> None:
    command = f"printf 'my notes\\n\\nmore' | {NEXTOK} chat -t 1 -i -m {emoji_gguf} and a question"
    screen = terminal("bash", "-c", command)
    screen.wait_for(EMOJI)
    screen.wait_for("Ctrl-D leaves")
    screen.send("thanks\r")
    screen.wait_until(lambda: len(saved.said()) == 4)
    screen.key("ctrl-d")
    assert screen.wait() == 0
    assert [text for _, text in saved.said()[::2]] == [
        "my notes\n\nmore\n\nand a question", "thanks"
    ]  # fmt: skip


def test_without_a_terminal_to_go_on_at(start: Start, emoji_gguf: Path) -> None:
    """Said at once: nobody waits for the end of the notes."""
    process = start("-m", emoji_gguf, "-i", start_new_session=True)
    assert process.wait(timeout=HANG) == 2
    assert process.stderr is not None
    assert process.stderr.read().startswith(b"nextok: error: -i needs a terminal to go on at")


# What is read again.


@pytest.mark.slow
def test_greedy_answers_are_those_of_fresh_processes(
    chat: Ask, ask_alone: Ask, starter_gguf: Path, tmp_path: Path
) -> None:
    exact = ("-m", starter_gguf, "-fa", "on", "-ub", "32", "-b", "32", "--temp", "0", "-n", "8")
    questions = ["Name a colour.", "Why?", "One more?"]
    done = chat(*exact, "--jsonl", input="\n".join(questions).encode())
    ends = [line for line in done.lines if line["type"] == "end"]
    assert [end["exact"] for end in ends] == [True] * 3
    messages: list[dict[str, str]] = []
    held = 0
    for question, end in zip(questions, ends, strict=True):
        messages.append({"role": "user", "content": question})
        path = tmp_path / "messages.json"
        path.write_text(json.dumps(messages))
        fresh = ask_alone(*exact, "--json", "--messages", path).object
        assert (end["text"], end["prompt_tokens"]) == (fresh["text"], fresh["prompt_tokens"])
        assert end["cached_tokens"] >= held, "only what is new was read"
        held = end["prompt_tokens"] + 7  # the last token that was said is read with what follows
        messages.append({"role": "assistant", "content": end["text"]})
