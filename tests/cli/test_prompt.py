"""What a prompt is made of: standard input, files, the argument, a conversation; and its bytes.

Most runs are of `render` on the toy, which needs no engine: it prints what the model would get.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.prompt import PromptReader
from nextok.cli.settings import PromptSettings
from nextok.generation.errors import UsageError

Ask = Callable[..., Any]
Build = Callable[..., Path]
Files = Callable[..., str]

RAW = ("render", "-m", "toy", "--raw")
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def file(tmp_path: Path) -> Files:
    """`file(data, name)` → its path."""

    def write(data: bytes, name: str = "file") -> str:
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return write


def read(**settings: Any) -> str:
    """The prompt's text, without a process: no standard input."""
    given = PromptSettings(**{"raw": True, "no_stdin": True, **settings})
    return PromptReader(given, lambda hint: None).text()


def test_the_parts_stand_in_order_with_one_blank_line_between(ask: Ask, file: Files) -> None:
    first, second = file(b"first\n", "1"), file(b"second", "2")
    answered = ask("render", "-m", "toy", "question", input=b"document\n")
    assert (answered.code, answered.out) == (0, b"document\n\nquestion\n")
    answered = ask(
        "render", "-m", "toy", "-f", second, "-f", "-", "-f", first, "question", input=b"document\n"
    )
    assert answered.out == b"second\n\ndocument\n\nfirst\n\nquestion\n"


def test_standard_input_is_read_only_where_it_is_meant(ask: Ask, file: Files) -> None:
    name = file(b"file")
    assert ask(*RAW, "-f", name, "ask", input=b"unread").out == b"file\n\nask"
    assert ask(*RAW, "--no-stdin", "ask", input=b"unread").out == b"ask"
    with open(name, "rb") as redirected:
        assert ask(*RAW, "ask", stdin=redirected).out == b"file\n\nask"
    assert ask(*RAW, "ask").out == b"ask"  # /dev/null


def test_commands_without_a_prompt_never_touch_standard_input(ask: Ask, emoji_gguf: Path) -> None:
    ours, theirs = os.pipe()  # never written to and never closed while they run
    for arguments in (("show", emoji_gguf), ("info",), ("--version",)):
        assert ask(*arguments, stdin=ours).code == 0
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"A", "A"),
        (b"A\n", "A\n"),
        (b"A\n\n", "A\n\n"),
        (b"A\r\nB\r\n", "A\r\nB\r\n"),
        (BOM + b"A", "A"),
        (b"A" + BOM, "A\ufeff"),
        (b"a\0b", "a\0b"),
        ("Ünï 日本 \U0001f600".encode(), "Ünï 日本 \U0001f600"),
    ],
)
def test_a_file_is_taken_as_it_is_but_for_a_byte_order_mark(
    file: Files, data: bytes, text: str
) -> None:
    assert read(file=(file(data),)) == text


def test_standard_input_loses_one_newline_and_raw_none(ask: Ask) -> None:
    chat = ("render", "-m", "toy")  # its template adds a newline to each message
    assert ask(*chat, input=b"A\n\n").out == b"A\n\n"
    assert ask(*chat, input=b"A\r\n").out == b"A\n"
    assert ask(*RAW, input=b"A\n\n").out == b"A\n\n"
    assert ask(*RAW, input=BOM + b"A\r\n").out == b"A\r\n"


def test_one_blank_line_between_parts_whatever_they_end_with(file: Files) -> None:
    for data, between in (
        (b"A", "A\n\n"), (b"A\n", "A\n\n"), (b"A\n\n", "A\n\n"), (b"A\r\n\r\n", "A\r\n\r\n"),
    ):  # fmt: skip
        assert read(file=(file(data),), prompt="B") == between + "B"
    assert read(file=(file(b""),), prompt="B") == "B"


@pytest.mark.parametrize("raw", [False, True])
def test_nothing_to_say_is_a_usage_error(raw: bool, file: Files) -> None:
    for settings in ({}, {"prompt": ""}, {"prompt": " \n"}, {"file": (file(b""),)}):
        with pytest.raises(UsageError, match="prompt is empty"):
            read(raw=raw, **settings)


def test_an_empty_prompt_is_refused_before_a_model_is_loaded(ask: Ask) -> None:
    for arguments in ((), ("-f", os.devnull)):
        ask("-m", "no-such.gguf", *arguments).check_failed(2, "prompt is empty")
    ask("-m", "no-such.gguf", input=b"\n").check_failed(2, "prompt is empty")


def test_a_missing_file(ask: Ask, tmp_path: Path) -> None:
    missing = tmp_path / "none.txt"
    ask(*RAW, "-f", missing).check_failed(2, str(missing), "No such file or directory")
    ask(*RAW, "-f", tmp_path).check_failed(2, str(tmp_path), "Is a directory")


@pytest.mark.parametrize("data", ["A".encode("utf-16"), b"\xfe\xff\0A"], ids=["little", "big"])
def test_utf16_is_named(file: Files, data: bytes) -> None:
    name = file(data)
    with pytest.raises(UsageError, match=r"UTF-16: add --encoding utf-16"):
        read(file=(name,))
    assert read(file=(name,), encoding="utf-16") == "A"


def test_bytes_that_are_no_utf8(ask: Ask, file: Files) -> None:
    data = b"caf\xe9 \xff"
    remedy = ("0xe9", "offset 3", "line 1", "--encoding")
    ask(*RAW, input=data).check_failed(2, "standard input is not utf-8", *remedy)
    ask(*RAW, "-f", file(b"one\ntwo\xe9")).check_failed(2, "offset 7", "line 2", "--encoding")
    ask(*RAW, b"caf\xe9").check_failed(2, "the prompt is not utf-8", *remedy)
    decoded = ask(*RAW, "--encoding", "latin-1", b"caf\xe9", input=data)
    assert decoded.out == "café ÿ\n\ncafé".encode()


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        ("UTF-8", BOM + b"A", "A"),
        ("utf8", BOM + b"A", "A"),
        ("cp1252", b"\x80", "€"),
        ("shift_jis", b"\x93\xfa", "日"),
        ("utf-16-le", b"\xff\xfeA\0", "A"),
    ],
)
def test_encodings_by_name(file: Files, encoding: str, data: bytes, text: str) -> None:
    assert read(file=(file(data),), encoding=encoding) == text


def test_an_unknown_encoding_is_refused(ask: Ask, file: Files) -> None:
    ask(*RAW, "--encoding", "no-such", "hi").check_failed(2, "--encoding", "utf-8", "no-such")
    ask(*RAW, "--encoding", "hex", "hi").check_failed(2, "--encoding", "hex")
    with pytest.raises(UsageError, match="no.txt is not undefined"):
        read(file=(file(b"A", "no.txt"),), encoding="undefined")


def test_nul_reaches_the_tokenizer(ask: Ask, starter_gguf: Path) -> None:
    answered = ask("tokens", "--raw", "--json", "-m", starter_gguf, input=b"a\0b")
    pieces = [token["piece"] for token in answered.object["tokens"]]
    assert (answered.code, pieces) == (0, ["a", "\0", "b"])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"C:\new\table", "C:\new\table"),
        (r"a\\n", r"a\n"),
        (r"\x41\x4a\x6", r"AJ\x6"),
        (r"\q \0 \' \"", "\\q \0 ' \""),
        ("tail\\", "tail\\"),
        ("\\\\\\", "\\\\"),
        ("\\\n", "\\\n"),
    ],
)
def test_escapes_only_when_asked_for(file: Files, written: str, meant: str) -> None:
    assert read(prompt=written) == written
    assert read(prompt=written, escape=True) == meant
    assert read(file=(file(written.encode()),), escape=True) == meant


def test_escapes_in_the_prompt_and_the_system_message(ask: Ask) -> None:
    plain = ask("render", "-m", "toy", "-sys", r"a\tb", r"C:\new")
    assert plain.out == b"a\\tb\nC:\\new\n"
    escaped = ask("render", "-m", "toy", "-e", "-sys", r"a\tb", r"C:\new")
    assert escaped.out == b"a\tb\nC:\new\n"


def test_the_same_prompt_by_every_way_in_every_locale(ask: Ask, file: Files) -> None:
    text = "Почему небо голубое? \U0001f600"
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = {
        ask("tokens", "-m", "toy", "--raw", text).out,
        ask("tokens", "-m", "toy", "--raw", text, env=locale).out,
        ask("tokens", "-m", "toy", "--raw", input=text.encode(), env=locale).out,
        ask("tokens", "-m", "toy", "--raw", "-f", file(text.encode()), env=locale).out,
    }
    assert len(said) == 1
    (lines,) = said
    assert len(lines.splitlines()) == 1 + len(text.encode())


def test_every_text_of_the_command_line_in_the_c_locale(
    ask: Ask, config_file: Callable[[str], Path]
) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    answered = ask("render", "-m", "toy", "-sys", "é", "--prefill", "日", "ü", env=locale)
    assert (answered.code, answered.out) == (0, "é\nü\n日".encode())
    config_file('[defaults]\nsystem = "é"\n')
    assert ask("render", "-m", "toy", "ü", env=locale).out == "é\nü\n".encode()


def test_a_conversation_from_a_file(ask: Ask, emoji_gguf: Path, file: Files) -> None:
    turns = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "U\n"},
        {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
    ]
    name = file(json.dumps(turns).encode())
    answered = ask("render", "-m", emoji_gguf, "--messages", name, "again", "--prefill", "Well")
    assert answered.out == (
        b"<s><|sys|>S<|end|><|user|>U\n<|end|><|go|>A<|end|><|user|>again<|end|><|go|>Well"
    )
    piped = json.dumps({"messages": turns}).encode()
    alone = ask("render", "-m", emoji_gguf, "--messages", "-", input=piped)
    assert alone.out == b"<s><|sys|>S<|end|><|user|>U\n<|end|><|go|>A<|end|><|go|>"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"{", ("not JSON",)),
        (b"[]", ("empty",)),
        (b'[{"role": "user"}]', ("messages[0]", "content")),
        (b'[{"role": "us er", "content": ""}]', ("messages[0].role",)),
        (b'"hi"', ("list",)),
    ],
)
def test_a_conversation_that_is_none(file: Files, document: bytes, words: tuple[str, ...]) -> None:
    given = PromptSettings(messages=file(document), no_stdin=True)
    with pytest.raises(UsageError) as refused:
        PromptReader(given, lambda hint: None).messages()
    assert [word for word in words if word not in str(refused.value)] == []


def test_a_conversation_that_cannot_be_read(ask: Ask, file: Files) -> None:
    ask("-m", "no.gguf", "--messages", file(b"{")).check_failed(2, "not JSON")
    ask("-m", "no.gguf", "--messages", "none.json").check_failed(2, "none.json", "No such file")


def test_a_prefill_is_continued_and_not_repeated(ask: Ask, scripted: Build) -> None:
    model = scripted(["x", "y", "z"], stem="letters")
    assert ask("-m", model, "--prefill", "xy", "hi").out == b"z\n"


def test_the_template_s_control_tokens_are_not_the_user_s(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("tokens", "-m", emoji_gguf, "--json", "<|end|>")
    ids = [token["id"] for token in answered.object["tokens"]]
    control = [token for token in ids if token in (1, 259, 260, 261, 262)]
    assert control == [1, 260, 262, 259]  # BOS, user, end, go: each once, and the template's
    assert len(ids) == 4 + len("<|end|>")


def test_raw_text_holds_control_tokens_only_with_special(ask: Ask, emoji_gguf: Path) -> None:
    def ids(*flags: str) -> list[int]:
        answered = ask("tokens", "-m", emoji_gguf, "--raw", "--json", *flags, "<|go|>")
        return [token["id"] for token in answered.object["tokens"]]

    assert len(ids()) == 1 + len("<|go|>")
    assert ids("--special") == [1, 259]


def test_a_model_without_a_template_gets_the_prompt_as_it_is(
    ask: Ask, no_template_gguf: Path
) -> None:
    answered = ask("-m", no_template_gguf, "hi")
    assert (answered.code, answered.out) == (0, b"plain\n")
    answered.check_line("warning", "no chat template", "--raw", "--chat-template")
    rendered = ask("render", "-m", no_template_gguf, "hi")
    assert rendered.out == b"hi"
    assert ask("render", "-m", no_template_gguf, "--raw", "hi").err == ""


def test_a_template_by_name_wins(ask: Ask, no_template_gguf: Path, emoji_gguf: Path) -> None:
    for model in (no_template_gguf, emoji_gguf):
        answered = ask("render", "-m", model, "--chat-template", "chatml", "hi")
        assert answered.out == b"<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
        assert answered.err == ""


def test_a_template_from_a_file(ask: Ask, file: Files) -> None:
    name = file(b"{{ messages[0].content | upper }} {{ mood }}", "t.jinja")
    answered = ask(
        "render", "-m", "toy", "--chat-template", name,
        "--chat-template-kwargs", '{"mood": "calm"}', "hi",
    )  # fmt: skip
    assert (answered.code, answered.out) == (0, b"HI calm")


def test_a_template_nobody_knows(ask: Ask) -> None:
    answered = ask("-m", "no-such.gguf", "--chat-template", "chatlm", "hi")
    answered.check_failed(2, "--chat-template chatlm", "chatml")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"one\n{% if %}", ("line 2",)),
        (b"one\n\n{{ raise_exception('only two roles') }}", ("line 3", "only two roles")),
        (b"{{ messages[7].content.x.y }}", ("line 1",)),
    ],
    ids=["syntax", "refusal", "undefined"],
)
def test_a_template_s_error_names_its_line(
    ask: Ask, file: Files, source: bytes, words: tuple[str, ...]
) -> None:
    answered = ask("-m", "toy", "--chat-template", file(source), "hi")
    answered.check_failed(1, "template", *words)


def test_raw_works_with_a_broken_template(ask: Ask, scripted: Build) -> None:
    model = scripted(["fine"], template="{% if %}\n{{", stem="broken")
    ask("-m", model, "hi").check_failed(1, "template", "line 1", "--raw")
    answered = ask("-m", model, "--raw", "hi")
    assert (answered.code, answered.out, answered.err) == (0, b"fine\n", "")


def test_raw_takes_no_roles(ask: Ask) -> None:
    ask(*RAW, "-sys", "S", "hi").check_failed(2, "--system", "--raw")
    ask(*RAW, "--messages", "m.json").check_failed(2, "--messages", "--raw")


def test_a_prompt_given_twice(ask: Ask) -> None:
    ask("-m", "toy", "-p", "one", "two").check_failed(2, "twice")


def test_whether_to_reason_reaches_the_template(ask: Ask, file: Files) -> None:
    name = file(b"{{ enable_thinking is defined and enable_thinking }}")
    for flags, said in (((), b"False"), (("--reasoning", "on"), b"True")):
        assert ask("render", "-m", "toy", "--chat-template", name, *flags, "hi").out == said


def test_a_slow_writer_on_a_non_blocking_pipe(emoji_gguf: Path) -> None:
    script = Path(sys.executable).with_name("nextok")
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    process = subprocess.Popen(
        [script, "render", "--raw", "-m", emoji_gguf], stdin=reading, stdout=subprocess.PIPE
    )
    os.close(reading)
    os.write(writing, b"first ")
    time.sleep(0.5)
    os.write(writing, b"second")
    os.close(writing)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"first second")


@pytest.mark.parametrize("command", ["render", "tokens"])
def test_a_reader_that_is_gone_ends_a_command_silently(emoji_gguf: Path, command: str) -> None:
    script = Path(sys.executable).with_name("nextok")
    shell = f"{script} {command} -m {emoji_gguf} hey | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (b"141\n", b"")


def test_a_prompt_without_end_is_refused(ask: Ask) -> None:
    ask("-m", "toy", "-f", "/dev/zero", "hi").check_failed(2, "/dev/zero", "64 MiB")


def test_a_prompt_that_cannot_fit_is_refused_before_it_is_tokenised(
    ask: Ask, emoji_gguf: Path, tmp_path: Path
) -> None:
    """One long word takes a tokenizer of this kind minutes."""
    prompt = tmp_path / "long"
    prompt.write_text("x" * 3_000_000)
    ask("-m", emoji_gguf, "-f", prompt).check_failed(3, "4096", "--ctx-size")


def test_half_characters_are_refused(ask: Ask, tmp_path: Path) -> None:
    prompt = tmp_path / "half"
    prompt.write_bytes(b"a\\ud800b")
    asked = ask("render", "--raw", "-m", "toy", "-f", prompt, "--encoding", "unicode_escape")
    asked.check_failed(2, "surrogate")


def test_flags_that_would_be_ignored_are_refused(ask: Ask) -> None:
    ask("-m", "toy", "--special", "hi").check_failed(2, "--special", "--raw")
    ask("-m", "toy", "--raw", "--chat-template", "chatml", "x").check_failed(2, "--raw")
