"""The commands about turns and branches, at a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Talk = Callable[..., Any]
Build = Callable[..., Path]

FIGURES = re.compile(r"(\d+) cached \+ (\d+) new → (\d+) tokens · TTFT \d+\.\d\d s")
REPLY = "Hi 😀 bye"


def figures(said: list[str]) -> tuple[int, int, int]:
    """Of the line below a reply: tokens from the cache, tokens read, tokens made."""
    found = FIGURES.match(said[-1])
    assert found is not None, said
    return int(found[1]), int(found[2]), int(found[3])


def test_a_reply_reads_only_what_is_new(talk: Talk, emoji_gguf: Path) -> None:
    """<s> <user> h e l l o <end> <go>, then six tokens of which the last was never read."""
    chat = talk(emoji_gguf)
    assert chat.lines() == [
        "emoji · context 4,096",
        "/help lists the commands, Ctrl-D leaves",
        "",
        ">",
        "emoji  ▱▱▱▱▱▱▱▱ 0/4,096",
    ]
    said = chat.say("hello")
    assert said[:-1] == [REPLY, ""]
    assert figures(said) == (0, 9, 6)
    assert chat.lines()[-1].startswith("emoji  ▰▱▱▱▱▱▱▱ 15/4,096  ")
    said = chat.say("hello")
    cached, new, made = figures(said)
    assert (cached, made) == (9, 6)
    assert chat.messages() == ["hello", REPLY, "hello", REPLY]


def test_a_real_model_says_what_it_says_to_one_question(
    talk: Talk, starter_gguf: Path, ask: Callable[..., Any]
) -> None:
    question, options = "Name three colours.", ("--temp", "0", "-n", "12", "--no-markdown")
    alone = ask("-m", starter_gguf, *options[:-1], question).out.decode()
    chat = talk(starter_gguf, *options, columns=200)
    assert "\n".join(chat.say(question)).startswith(alone.strip())
    assert chat.messages() == [question, alone.removesuffix("\n")]


def test_turns_again_back_and_differently(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    for command in ("/regen", "/undo", "/edit", "/edit x", "/continue"):
        (trouble,) = chat.say(command)
        assert trouble.startswith("error: "), command
    chat.say("one")
    assert chat.say("/regen")[0] == REPLY
    assert chat.messages() == ["one", REPLY]
    chat.say("two")
    assert chat.say("/undo") == ["taken back: two"]
    assert chat.messages() == ["one", REPLY]
    assert chat.say("/edit three")[0] == REPLY
    assert chat.messages() == ["three", REPLY]
    assert chat.say("/continue") == [
        "error: the last reply was not cut: there is nothing to continue"
    ]
    chat.send("/edit\r")
    chat.wait_for("\n> three\n")
    chat.send(" and four\r")
    chat.wait_for_prompt()
    assert chat.messages() == ["three and four", REPLY]
    assert chat.say("/clear") == ["a new beginning (/branches has what was said before)"]
    assert chat.messages() == []
    assert len(chat.saved().branches()) == 5


def test_an_edited_message_of_several_lines_comes_back_whole(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    chat.paste("/exit\n\tsecond 世\n")
    chat.key("enter")
    chat.wait_for_prompt()
    chat.send("/edit\r")
    chat.wait_for("second 世\n.\n")
    chat.key("enter")
    chat.wait_for_prompt()
    assert chat.messages() == ["/exit\n\tsecond 世\n", REPLY]


def test_a_reply_that_was_cut_goes_on(talk: Talk, emoji_gguf: Path) -> None:
    """Even in the middle of a character."""
    chat = talk(emoji_gguf, "-n", "2")
    said = chat.say("hello")
    assert said[:3] == ["Hi", "", "stopped after 2 tokens (--max-tokens) · /continue goes on"]
    assert chat.messages() == ["hello", "Hi "]
    chat.say("/set max-tokens -1")
    said = chat.say("/continue")
    assert figures(said)[2] == 4
    assert chat.messages() == ["hello", REPLY]
    assert chat.saved().entries()[-1].finish == "eos"


def test_branches(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    chat.say("one")
    assert chat.say("/branch other") == ["now on branch other: /switch goes back"]
    chat.say("two")
    assert chat.lines()[-1].startswith("emoji  other  ▰")
    assert chat.say("/branches") == ["    main   2  Hi 😀 bye", "  * other  4  Hi 😀 bye"]
    assert chat.say("/switch main") == ["branch main: 2 messages", "", "> one", "", REPLY]
    assert chat.messages() == ["one", REPLY]
    chat.say("/edit three")
    chat.say("/edit four")
    assert chat.say("/branches")[-1] == "    #6     2  Hi 😀 bye"
    assert chat.say("/switch #6") == ["branch branch-2: 2 messages", "", "> three", "", REPLY]
    assert chat.messages() == ["three", REPLY]
    assert chat.say("/branch") == ["now on branch branch-3: /switch goes back"]
    assert chat.say("/switch nix") == [
        "error: there is no branch 'nix'; there are: main, other, branch-2, branch-3"
    ]
    assert chat.say("/switch") == [
        "error: /switch takes the name of a branch: /branches lists them"
    ]
    assert chat.say("/branch main") == [
        "error: there is a branch 'main' already: take another name"
    ]
    assert chat.saved().current_branch == "branch-3"


def test_what_is_a_command_and_what_is_a_message(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    assert chat.say("/regenn") == [
        "error: there is no /regenn: did you mean /regen? (// begins a message with a",
        "slash)",
    ]
    assert chat.say("/xyzzy")[0].startswith("error: there is no /xyzzy: /help lists what there is")
    assert chat.say("  /STATS ")[0].startswith("error: no figures yet")
    chat.say("//help me")
    chat.say("/etc/hosts is a file")
    chat.paste("/exit\n/bye")
    chat.key("enter")
    chat.wait_for_prompt()
    for line in ('"""', "/exit", '"""'):
        chat.send(line + "\r")
    chat.wait_for_prompt()
    chat.send("two \\\r/lines\r")
    chat.wait_for_prompt()
    assert chat.messages()[::2] == [
        "/help me", "/etc/hosts is a file", "/exit\n/bye", "/exit", "two \n/lines",
    ]  # fmt: skip


def test_the_help_names_every_command(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    page = "\n".join(chat.say("/help"))
    assert chat.say("/?") == page.split("\n")
    named = re.findall(r"^  /([a-z]+)", page, re.MULTILINE)
    assert " ".join(named) == (
        "help regen continue undo edit clear branch branches switch save load new chats rename "
        "delete export system set model think show stats tokens file copy bye"
    )


def test_a_long_paste_is_one_message(talk: Talk, scripted: Build) -> None:
    model = scripted(["yes"], stem="roomy", ctx_train=65536)
    text = "\n".join(["first", "", "/exit", *(f"line {n}\t世界" for n in range(297))])
    chat = talk(model, "-c", "0", rows=24)
    chat.paste(text)
    chat.wait_for("> [300 lines]")
    chat.key("enter")
    chat.wait_for_prompt()
    (said, _) = chat.messages()
    assert said == text
