"""What the keys of the line editor do to the message that is read."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.chat.editor import Left, Suggestion, Terminated


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("helo<left>l<enter>", "hello"),
        ("world<home>hello <enter>", "hello world"),
        ("hello<ctrl-a>X<ctrl-e>Y<enter>", "XhelloY"),
        ("ab<home>X<end>Y<enter>", "XabY"),
        ("one two<ctrl-w>three<enter>", "one three"),
        ("abc<ctrl-u>d<enter>", "d"),
        ("abc<ctrl-u>d<ctrl-y><enter>", "dabc"),
        ("abc<left><left><ctrl-k><enter>", "a"),
        ("one two<alt-b>X<enter>", "one Xtwo"),
        ("one two<home><alt-f>X<enter>", "oneX two"),
        ("one two<ctrl-left>X<enter>", "one Xtwo"),
        ("one two<home><ctrl-right>X<enter>", "oneX two"),
        ("abc<left><delete><enter>", "ab"),
        ("abc<backspace>d<enter>", "abd"),
        ("abc<left><left><ctrl-d><enter>", "ac"),
        ("abc<ctrl-u><ctrl-_><enter>", "abc"),
        ("abc<ctrl-l>d<enter>", "abcd"),
        ("世界<left><backspace>新<enter>", "新界"),
        ("<enter>", ""),
    ],
)
def test_a_line_is_edited(typist: Any, keys: str, text: str) -> None:
    assert typist.read(keys) == text


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("a<alt-enter>b<ctrl-j>c<enter>", "a\nb\nc"),
        ("a\\<enter>b\\<enter>\\<enter>c<enter>", "a\nb\n\nc"),
        ("a\\b<enter>", "a\\b"),
        ('"""a<enter>b"""<enter>', "a\nb"),
        ('"""<enter>a<enter><enter>  b<enter>"""<enter>', "a\n\n  b"),
        ('"""<enter>a\\<enter>b<enter>"""<enter>', "a\\\nb"),
        ('"""<enter>say ""hi""<enter>"""  <enter>', 'say ""hi""'),
        ('"""/help"""<enter>', "/help"),
        ('""""""<enter>', ""),
        ('say """hi<enter>', 'say """hi'),
        ("ab<left><enter>", "ab"),
    ],
)
def test_a_message_over_several_lines(typist: Any, keys: str, text: str) -> None:
    assert typist.read(keys) == text
    assert typist.editor.quoted is keys.startswith('"""')


@pytest.mark.parametrize(
    "text",
    [
        "one\ttab\n\n/exit\n世界\n",
        "ends in a backslash\\",
        'a """ in it\nand one more"""',
        '"""A docstring."""\nimport os',
        '"""never closed',
        "  indented\n    more\n",
        "\n\n\n",
        "/exit",
        "  /undo",
    ],
)
def test_a_paste_is_exact(typist: Any, text: str) -> None:
    assert typist.read(f"<paste:{text}><enter>") == text
    assert typist.editor.quoted is bool(text.strip())


@pytest.mark.parametrize(
    ("keys", "text", "is_text"),
    [
        ("/file <paste:/etc/hosts><enter>", "/file /etc/hosts", False),
        ("<paste:/f.txt><home>/file <enter>", "/file /f.txt", False),
        ("<paste:/exit><ctrl-u>/exit<enter>", "/exit", False),
        ("<paste:/exit> now<enter>", "/exit now", True),
        (" <paste:/exit><enter>", " /exit", True),
        ("<paste:/exit><home> <enter>", " /exit", True),
        ("<paste:/exit><ctrl-c><ctrl-_><enter>", "/exit", True),
        ("<paste:/exit><ctrl-u><ctrl-y><enter>", "/exit", True),
        ("<paste:/ex><paste:it><enter>", "/exit", True),
        ("<paste:/exitt><backspace><enter>", "/exit", True),
    ],
)
def test_what_was_pasted_is_no_command(typist: Any, keys: str, text: str, is_text: bool) -> None:
    assert typist.read(keys) == text
    assert typist.editor.quoted is is_text


def test_a_message_that_is_to_be_edited_is_no_command(typist: Any) -> None:
    assert typist.read("<enter>", default="/exit") == "/exit"
    assert typist.editor.quoted is True
    typist.read("<home><ctrl-k>/exit<enter>", default="hello")
    assert typist.editor.quoted is False


def test_a_paste_and_what_is_typed_around_it(typist: Any) -> None:
    assert typist.read("explain: <paste:a\nb>, please<enter>") == "explain: a\nb, please"
    assert typist.editor.quoted is False
    assert typist.read('"""<enter><paste:a"""\n\\><enter>"""<enter>') == 'a"""\n\\'
    assert typist.read('<paste:"""doc"""\nx = 1> <enter>') == '"""doc"""\nx = 1 '
    assert typist.read("<paste:a\\>\\<enter>b<enter>") == "a\\\nb"
    assert typist.read('<paste:x><backspace>"""<enter>y"""<enter>') == "y"


def test_line_ends_of_other_systems_are_newlines(typist: Any) -> None:
    assert typist.read("\x1b[200~a\r\nb\nc\rd\x1b[201~\r") == "a\nb\nc\nd"


def test_bytes_that_are_no_characters_are_replaced(typist: Any) -> None:
    assert typist.read("a\udcffb<enter>") == "a\ufffdb"


@pytest.mark.parametrize(
    "keys",
    [
        "one line<enter>",
        "a<alt-enter>b<ctrl-j><ctrl-j>c<enter>",
        '"""<enter>a\\<enter>b<enter>"""<enter>',
        '"""/help"""<enter>',
        "/help<enter>",
        "<paste:a\n\n\tb\n世><enter>",
        '<paste:"""A docstring."""\nimport os><enter>',
        "<paste:/exit\nis not meant><enter>",
        "<paste:/exit><enter>",
        "<paste: /exit><enter>",
        "<paste:a\\><enter>",
    ],
)
def test_up_brings_the_same_message_again(typist: Any, keys: str) -> None:
    typist.read("another one<enter>")
    text = typist.read(keys)
    quoted = typist.editor.quoted
    typist.read("<up><enter>")
    assert typist.read("<up><enter>") == text
    if text.lstrip().startswith("/"):
        assert typist.editor.quoted is quoted


def test_up_down_and_search(typist: Any) -> None:
    for keys in ("first<enter>", "second<enter>", "third<enter>"):
        typist.read(keys)
    assert typist.read("<up><up>!<enter>") == "second!"
    assert typist.read("<up><up><up><down><enter>") == "third"
    assert typist.read("new<up><down><enter>") == "new"
    assert typist.read("<ctrl-r>irs<enter><enter>") == "first"
    assert typist.read("<ctrl-r>irs<ctrl-c>none<enter>") == "none"


def test_blank_messages_and_repetitions_are_not_recalled(typist: Any) -> None:
    for keys in ("first<enter>", "second<enter>", "second<enter>", "  <enter>", "<enter>"):
        typist.read(keys)
    assert typist.read("<up><up><enter>") == "first"


def test_a_text_that_stands_there_already(typist: Any) -> None:
    assert typist.read(" of it<enter>", default="a draft") == "a draft of it"
    assert typist.read("<enter>", default='"""\nas it is\\') == '"""\nas it is\\'
    assert typist.read("new<enter>") == "new"


def test_the_interrupt_key_clears_explains_and_leaves(typist: Any) -> None:
    assert typist.read("typed<ctrl-c>anew<enter>") == "anew"
    assert typist.read("typed<ctrl-c><ctrl-c>anew<enter>") == "anew"
    (explanation,) = typist.notes
    assert "Ctrl-D" in explanation and "/bye" in explanation
    with pytest.raises(Left):
        typist.read("<ctrl-c><ctrl-c>")
    assert typist.read("typed<ctrl-c><ctrl-_><enter>") == "typed"


def test_a_second_press_has_a_second(typist: Any) -> None:
    typist.clock = iter([100.0, 101.1, 102.0]).__next__
    with pytest.raises(Left):
        typist.read("<ctrl-c><ctrl-c><ctrl-c>")
    assert len(typist.notes) == 2


def test_presses_meant_for_the_reply_are_swallowed(typist: Any) -> None:
    assert typist.read("kept<ctrl-c><ctrl-c><ctrl-c><enter>", quiet_until=100.1) == "kept"
    assert typist.notes == []
    with pytest.raises(Left):
        typist.read("<ctrl-c><ctrl-c>", quiet_until=100.0)


def test_the_end_key_leaves_an_empty_line_alone(typist: Any) -> None:
    assert typist.read("abc<ctrl-d><ctrl-d><enter>") == "abc"
    with pytest.raises(Left):
        typist.read("abc<ctrl-u><ctrl-d>")


def test_keys_typed_ahead_wait_in_order(typist: Any) -> None:
    assert typist.read("one<enter>two<enter><up><up><enter>half") == "one"
    assert typist.read() == "two"
    assert typist.read() == "one"
    assert typist.read(" done<enter><ctrl-d>") == "half done"
    with pytest.raises(Left):
        typist.read()


WORDS = ("/model", "/models", "/help")


def complete(text: str) -> Iterator[Suggestion]:
    for word in WORDS:
        if word.startswith(text):
            yield Suggestion(text=word, start_position=-len(text), meta="about it")
    if text == "/fail":
        raise OSError


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("/he<tab> me<enter>", "/help me"),
        ("/mo<tab><enter>", "/model"),
        ("/mo<tab><tab><enter> x<enter>", "/model x"),
        ("/mo<tab><tab><tab><enter> x<enter>", "/models x"),
        ("/mo<tab><tab><tab><shift-tab><enter> x<enter>", "/model x"),
        ("/mo<tab><down><down><up><enter> x<enter>", "/model x"),
        ("/mo<tab>x<enter>", "/modelx"),
        ("nothing<tab><enter>", "nothing"),
        ("/fail<tab><enter>", "/fail"),
        ("<paste:a\tb><enter>", "a\tb"),
    ],
)
def test_tab_completes(typist: Any, keys: str, text: str) -> None:
    typist.another(complete=complete)
    assert typist.read(keys) == text


def test_reading_leaves_no_trace(typist: Any) -> None:
    def handler(number: int, frame: object) -> None: ...

    taken = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGWINCH)
    before = [signal.signal(number, handler) for number in taken]
    ours, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    modes = typist.modes
    try:
        typist.read("hello<enter>")
        with pytest.raises(Left):
            typist.read("<ctrl-d>")
        assert {signal.getsignal(number) for number in taken} == {handler}
        assert signal.set_wakeup_fd(-1) == wakeup
        assert signal.pthread_sigmask(signal.SIG_SETMASK, mask) == mask | {signal.SIGTERM}
        assert typist.modes == modes
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, old in zip(taken, before, strict=True):
            signal.signal(number, old)
        os.close(ours)
        os.close(wakeup)


def test_a_signal_that_comes_while_it_is_drawn_counts(typist: Any) -> None:
    numbers = [signal.SIGTERM]

    def bottom_line() -> list[tuple[str, str]]:
        for number in numbers:
            signal.raise_signal(number)
        numbers.clear()
        return []

    typist.bottom_line = bottom_line
    with pytest.raises(Terminated) as ended:
        typist.read()
    assert ended.value.number == signal.SIGTERM
    numbers.append(signal.SIGINT)
    assert typist.read("kept<enter>", default="it is ", quiet_until=100.1) == "it is kept"
    numbers.append(signal.SIGINT)
    assert typist.read("anew<enter>", default="cleared ") == "anew"


def test_nothing_is_written_without_a_history(typist: Any) -> None:
    typist.read("hello<enter>")
    assert list(Path(os.environ["HOME"]).rglob("*")) == []


def test_the_next_session_recalls(typist: Any, tmp_path: Path) -> None:
    file = tmp_path / "state" / "history"
    typist.another(history=file)
    typist.read("<paste:first\n世界\t\\><enter>")
    typist.read("second<enter>")
    typist.another(history=file)
    assert typist.read("<up><up><enter>") == "first\n世界\t\\"


def test_a_history_that_cannot_be_kept_is_said_once(typist: Any, tmp_path: Path) -> None:
    typist.another(history=tmp_path)
    for keys in ("first<enter>", "second<enter>", "<up><up><enter>"):
        text = typist.read(keys)
    assert text == "first"
    (trouble,) = typist.notes
    assert trouble.startswith("input history is not kept: ")
