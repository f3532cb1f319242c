"""Typing in the chat itself: editing, recalling and completing what the commands know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Talk = Callable[..., Any]
Build = Callable[..., Path]

REPLY = "Hi 😀 bye"


def test_keys_edit_and_recall(talk: Talk, emoji_gguf: Path) -> None:
    """And over sessions: the model gets what stood there, and no escape code."""
    chat = talk(emoji_gguf)
    chat.send("helo")
    chat.key("left")
    chat.send("l")
    chat.key("enter")
    chat.wait_for_prompt()
    chat.key("up", "enter")
    chat.wait_for_prompt()
    chat.send("b wrong")
    chat.key("ctrl-w", "home")
    chat.send("a ")
    chat.key("end")
    chat.send("c")
    chat.key("enter")
    chat.wait_for_prompt()
    chat.send("all of it goes")
    chat.key("ctrl-u")
    chat.send("/exit\r")
    assert chat.wait() == 0
    assert chat.messages()[::2] == ["hello", "hello", "a b c"]
    chat = talk(emoji_gguf)
    chat.key("up", "up", "enter")
    chat.wait_for_prompt()
    assert chat.messages() == ["a b c", REPLY]


def test_wide_characters_are_erased_whole(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, columns=20)
    for typed, rows in (
        ("世" * 15, ["> " + "世" * 9, "  " + "世" * 6]),
        ("a" * 50, ["> " + "a" * 18, "  " + "a" * 18, "  " + "a" * 14]),
    ):
        chat.send(typed)
        chat.wait_for("\n".join([*rows, "emoji  0/4,096"]))
        chat.key(*["backspace"] * len(typed))
        chat.wait_until(chat.at_prompt)
    chat.send("天地玄黄宇宙洪荒日月盈昃\r")
    chat.wait_for_prompt()
    assert chat.messages()[0] == "天地玄黄宇宙洪荒日月盈昃"


def test_what_a_command_may_be_followed_by_is_completed(
    talk: Talk, emoji_gguf: Path, tmp_path: Path
) -> None:
    for name in ("a b.txt", "a c.txt", "single.txt"):
        (tmp_path / name).write_text(name)
    chat = talk(emoji_gguf, cwd=tmp_path)
    chat.say("hello")
    chat.say("/rename my chat")
    chat.say("/branch side")

    def tab(typed: str, line: str, *offers: str) -> None:
        chat.send(typed + "\t")
        wanted = [one.split() for one in (f"> {line}", *offers)]
        chat.wait_until(
            lambda: [one.split() for one in chat.lines()[-1 - len(wanted) : -1]] == wanted,
            f"{typed!r} does not become {wanted}",
        )
        chat.key("ctrl-u")
        chat.wait_until(chat.at_prompt)

    tab("/reg", "/regen")
    tab("/exi", "/exit")
    branches = ["/branch try something else from here on", "/branches list the branches"]
    tab("/br", "/branch", *branches)
    tab("/switch ", "/switch", "main Hi 😀 bye", "side Hi 😀 bye")
    tab("/load m", "/load my chat")
    tab("/set temp", "/set temp")
    tab("/set on-full s", "/set on-full s", "stop", "shift")
    tab("/set markdown of", "/set markdown off")
    tab("/show pro", "/show prompt")
    tab("/think h", "/think hide")
    tab("/model to", "/model toy")
    tab("/file sin", "/file single.txt")
    tab("/file single.txt a", r"/file single.txt a\ ", r"a\ b.txt", r"a\ c.txt")
    tab("/export a", "/export a", "a b.txt", "a c.txt")
    tab("hello", "hello")
    chat.send("/file a\tb\t\r")
    chat.wait_for_prompt()
    assert chat.lines()[-3] == "a b.txt: 7 tokens, before your next message (/clear drops it)"


def test_what_is_typed_before_the_start_is_sent_as_it_was_typed(
    talk: Talk, emoji_gguf: Path
) -> None:
    """The terminal makes lines of it, until the chat asks for keys: an Enter is one all the same,
    and what was erased is gone."""
    chat = talk(emoji_gguf, ready=False, typed="helo\x7flo\rand again\r/undo\rhalf")
    chat.wait_for("> half")
    assert chat.messages() == ["hello", REPLY]
    chat.key("ctrl-u", "ctrl-d")
    assert chat.wait() == 0
    assert not chat.left_behind()


def test_an_end_of_input_before_the_start_leaves(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf, ready=False, typed="hello\r\x04")
    assert chat.wait() == 0
    assert chat.messages() == ["hello", REPLY]


def test_keys_of_the_first_moments_are_not_shown_amid_the_first_lines(
    talk: Talk, slow_gguf: Any
) -> None:
    chat = talk(slow_gguf.path, ready=False, **slow_gguf.environ)
    slow_gguf.wait_for(chat)
    chat.send("hello\x0athere\r")
    slow_gguf.gate.unlink()
    chat.wait_for(REPLY)
    chat.wait_for_prompt()
    assert chat.messages() == ["hello\nthere", REPLY]
    assert b"hello" not in chat.raw.partition(b"\x1b[?2004h")[0]
