"""`nextok generate`: the answer in a pipe, byte for byte, and when it ends."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.late_modules import LATE

Ask = Callable[..., Any]
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def endless_gguf(scripted: Build) -> Path:
    """Never ends, and is trained for 600 tokens."""
    return scripted(["la ", "li "], loop=True, ctx_train=600, stem="endless")


HI = "Hi \N{GRINNING FACE} bye\n".encode()


def test_a_pipe_gets_the_answer_a_newline_and_nothing_else(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("generate", "-m", emoji_gguf, "hi")
    assert (answered.code, answered.out, answered.err) == (0, HI, "")


@pytest.mark.parametrize(
    "arguments",
    [("gen", "hi"), ("hi", "there", "-q"), ("--prompt=hi",)],
    ids=" ".join,
)
def test_every_way_of_asking(ask: Ask, emoji_gguf: Path, arguments: tuple[str, ...]) -> None:
    answered = ask(*arguments, "-m", emoji_gguf)
    assert (answered.code, answered.out, answered.err) == (0, HI, "")


def test_a_bare_nextok_reads_a_pipe(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask(input=b"hi\n", env={"NEXTOK_MODEL": str(emoji_gguf)})
    assert (answered.code, answered.out, answered.err) == (0, HI, "")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([" lead", " word", "\n"], b" lead word\n"),
        ([" a", "  ", "b", "\n", "\n\n"], b" a  b\n\n\n"),
        (["def f():", "\n", "\t", "    ", "return", " x"], b"def f():\n\t    return x\n"),
        (["one\r\n"], b"one\r\n"),
        ([b"\x00", "zero"], b"\x00zero\n"),
        (["a", b"\x1b", "[31m", b"\x07", "\u202e"], b"a\x1b[31m\x07\xe2\x80\xae\n"),
    ],
    ids=["leading space", "runs of spaces", "code", "CRLF", "NUL", "escape codes"],
)
def test_pieces_are_exact_in_a_pipe(
    ask: Ask, scripted: Build, script: list[str | bytes], said: bytes
) -> None:
    answered = ask("-m", scripted(script, stem="exact"), "--raw", "q")
    assert (answered.code, answered.out, answered.err) == (0, said, "")


def test_bytes_that_are_no_text_become_replacement_characters(ask: Ask, scripted: Build) -> None:
    model = scripted(["a", b"\xff", "b", b"\xe2\x82"], stem="bad-bytes")
    assert ask("-m", model, "hi").out == "a\ufffdb\ufffd\n".encode()


def test_the_limit_is_exact_also_inside_a_character(ask: Ask, emoji_gguf: Path) -> None:
    for limit, text in ((1, "Hi "), (4, "Hi "), (5, "Hi \N{GRINNING FACE}")):
        answered = ask("-m", emoji_gguf, "-n", str(limit), "--json", "hi")
        report = answered.object
        assert (answered.code, report["text"]) == (0, text)
        assert (report["completion_tokens"], report["finish_reason"]) == (limit, "length")


def test_a_cut_character_is_not_shown(ask: Ask, emoji_gguf: Path) -> None:
    assert ask("-m", emoji_gguf, "-n", "3", "hi").out == b"Hi \n"


def test_zero_tokens_write_nothing_but_check_the_prompt(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "-n", "0", "hi")
    assert (answered.code, answered.out, answered.err) == (0, b"", "")
    ask("-m", emoji_gguf, "-n", "0", "-c", "6", "hi").check_failed(3, "6 tokens", "--ctx-size")


def test_the_limit_as_many_tokens_as_it_says_is_no_end_of_the_model(
    ask: Ask, emoji_gguf: Path
) -> None:
    at_limit = ask("-m", emoji_gguf, "-n", "6", "--json", "hi").object
    assert (at_limit["text"], at_limit["finish_reason"]) == (HI.decode()[:-1], "length")
    beyond = ask("-m", emoji_gguf, "-n", "7", "--json", "hi").object
    assert (beyond["completion_tokens"], beyond["finish_reason"]) == (6, "eos")


def test_without_a_limit_the_context_is_the_limit(ask: Ask, endless_gguf: Path) -> None:
    """No hidden default: 6 tokens of prompt and 594 of answer fill what it was trained for."""
    answered = ask("-m", endless_gguf, "--json", "hi")
    report = answered.object
    assert (answered.code, answered.err) == (3, "")
    assert (report["finish_reason"], report["ctx"]) == ("context", 600)
    assert report["completion_tokens"] == 594
    assert report["text"] == "la li " * 297


def test_a_limit_leaves_a_pipe_clean(ask: Ask, loop_gguf: Path) -> None:
    answered = ask("-m", loop_gguf, "-n", "7", "hi")
    assert (answered.code, answered.out, answered.err) == (0, b"la li la li la li la \n", "")


def test_help_says_what_ends_an_answer(ask: Ask) -> None:
    page = ask("generate", "--help").out.decode()
    assert "until the model stops" in page


def test_a_filled_context_exits_with_3_after_what_was_said(ask: Ask, loop_gguf: Path) -> None:
    answered = ask("-m", loop_gguf, "-c", "10", "hi")
    assert (answered.code, answered.out) == (3, b"la li la li \n")


def test_a_prompt_larger_than_the_context_says_both_numbers(ask: Ask, loop_gguf: Path) -> None:
    answered = ask("-m", loop_gguf, "-c", "6", "hi")
    answered.check_failed(3, "has 6 tokens", "holds 6", "--ctx-size")
    last = ask("-m", loop_gguf, "-c", "7", "--json", "hi")
    assert (last.code, last.object["completion_tokens"]) == (3, 1)


def test_the_context_size_is_what_was_asked_for(ask: Ask, endless_gguf: Path) -> None:
    for asked, size in (("64", 64), ("0", 600), ("300", 300)):
        report = ask("-m", endless_gguf, "-c", asked, "--json", "hi").object
        assert report["ctx"] == size
        assert report["completion_tokens"] == size - 6


def test_the_default_context_is_bounded(ask: Ask, scripted: Build) -> None:
    model = scripted(["x"], ctx_train=100_000, stem="long")
    assert ask("-m", model, "--json", "hi").object["ctx"] == 8192
    assert ask("-m", model, "-c", "0", "-n", "1", "--json", "hi").object["ctx"] == 100_000


def test_more_context_than_trained_is_one_warning(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "-c", "5000", "hi")
    assert (answered.code, answered.out) == (0, HI)
    answered.check_line("warning", "--ctx-size 5000", "4096")
    assert ask("-m", emoji_gguf, "-c", "5000", "-q", "hi").err == ""


def test_a_context_too_large_for_the_memory_is_refused_by_an_estimate(
    ask: Ask, scripted: Build
) -> None:
    model = scripted(["x"], ctx_train=2**31 - 1, stem="huge-context")
    answered = ask("-m", model, "-c", "200000000", "hi")
    answered.check_failed(1, "--ctx-size 200000000", "MiB", "lower --ctx-size")


def test_a_context_too_large_for_a_memory_limit(ask: Ask, scripted: Build) -> None:
    """A limit on the address space: the engine's own allocation fails, or the estimate says so."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3_000_000_000, 3_000_000_000))

    model = scripted(["x"], ctx_train=10_000_000, stem="big-context")
    answered = ask("-m", model, "-c", "9000000", "hi", preexec_fn=limit)
    answered.check_failed(1, "9000000", "lower --ctx-size")


def test_gpu_layers_on_a_build_for_the_cpu_are_one_warning(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--gpu-layers", "99", "hi")
    assert (answered.code, answered.out) == (0, HI)
    answered.check_line("warning", "no GPU support", "running on the CPU")


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "tr_TR"},
    ],
    ids=["C", "ascii", "Turkish"],
)
def test_a_pipe_gets_utf8_in_every_locale(
    ask: Ask, emoji_gguf: Path, locale: dict[str, str]
) -> None:
    answered = ask("-m", emoji_gguf, "--stop", "\N{SKULL}", "hi", env=locale)
    assert (answered.code, answered.out, answered.err) == (0, HI, "")


def test_a_stop_string_in_the_c_locale(ask: Ask, emoji_gguf: Path) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    stopped = ask("-m", emoji_gguf, "--stop", "\N{GRINNING FACE}", "hi", env=locale)
    assert stopped.out == b"Hi \n"


def test_a_path_of_any_characters(ask: Ask, emoji_gguf: Path, tmp_path: Path) -> None:
    model = tmp_path / "モデル dir" / 'ü\'s "m".gguf'
    model.parent.mkdir()
    model.write_bytes(emoji_gguf.read_bytes())
    assert ask("-m", model, "hi").out == HI
    assert ask("-m", 'ü\'s "m".gguf', "hi", cwd=model.parent).out == HI
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert ask("-m", model, "hi", env=locale).out == HI


def test_a_home_folder_no_shell_has_expanded(
    ask: Ask, emoji_gguf: Path, config_file: Callable[[str], Path]
) -> None:
    (Path(os.environ["HOME"]) / "m.gguf").write_bytes(emoji_gguf.read_bytes())
    config_file('[defaults]\nmodel = "~/m.gguf"\n')
    assert ask("hi").out == HI


def test_a_full_disk_is_a_failure(ask: Ask, emoji_gguf: Path) -> None:
    for form in ((), ("--json",), ("--jsonl",)):
        with open("/dev/full", "w") as full:
            answered = ask("-m", emoji_gguf, *form, "hi", stdout=full)
        answered.check_failed(1, "No space left on device")


def test_a_full_disk_under_the_trace_does_not_end_the_answer(ask: Ask, emoji_gguf: Path) -> None:
    answered = ask("-m", emoji_gguf, "--trace", "/dev/full", "hi")
    assert (answered.code, answered.out) == (0, HI)
    answered.check_line("warning", "/dev/full", "No space left on device")


def test_a_trace_that_cannot_be_opened(ask: Ask, emoji_gguf: Path, tmp_path: Path) -> None:
    answered = ask("-m", emoji_gguf, "--trace", tmp_path / "no" / "file", "hi")
    answered.check_failed(1, "cannot write", "No such file or directory")


def test_a_good_run_under_every_warning_of_python_is_silent(ask: Ask, emoji_gguf: Path) -> None:
    environ = {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"}
    answered = ask("-m", emoji_gguf, "hi", env=environ)
    assert (answered.code, answered.out, answered.err) == (0, HI, "")


def test_no_escape_codes_in_pipes(ask: Ask, emoji_gguf: Path) -> None:
    terminal = {"TERM": "xterm-256color"}
    for arguments in (("-m", emoji_gguf, "--stats", "hi"), ("-m", "no.gguf", "hi")):
        answered = ask(*arguments, env=terminal)
        assert b"\x1b" not in answered.out
        assert "\x1b" not in answered.err
        assert answered.err != ""


def test_color_always_is_for_what_nextok_says_not_for_the_answer(
    ask: Ask, emoji_gguf: Path
) -> None:
    answered = ask("-m", emoji_gguf, "-c", "5000", "--color", "always", "hi")
    assert answered.out == HI
    assert "\x1b[" in answered.err


def writes(model: Path, *arguments: str, tmp_path: Path) -> list[bytes]:
    """What each `write` to standard output wrote."""
    log = tmp_path / "writes"
    script = (
        "import os, sys\n"
        f"log = open({str(log)!r}, 'w')\n"
        "write = os.write\n"
        "def spy(descriptor, data):\n"
        "    if descriptor == 1:\n"
        "        log.write(bytes(data).hex() + '\\n'); log.flush()\n"
        "    return write(descriptor, data)\n"
        "os.write = spy\n"
        "from nextok.cli.entry import main\n"
        "sys.exit(main())\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, "-m", model, "-t", "1", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    return [bytes.fromhex(line) for line in log.read_text().splitlines()]


def test_each_piece_is_one_write(loop_gguf: Path, scripted: Build, tmp_path: Path) -> None:
    said = writes(loop_gguf, "-n", "20", "hi", tmp_path=tmp_path)
    assert said == [b"la ", b"li "] * 10 + [b"\n"]
    letters = [chr(0x4E00 + index) for index in range(30)]
    said = writes(scripted(letters, stem="cjk"), "hi", tmp_path=tmp_path)
    assert said == [*(letter.encode() for letter in letters), b"\n"]
    bytewise = writes(
        scripted(["日".encode(), "x"], stem="bytewise"), "--jsonl", "hi", tmp_path=tmp_path
    )
    events = [json.loads(line) for line in bytewise]
    assert [event["text"] for event in events if event["type"] == "token"] == ["", "", "日", "x"]


def test_the_starter_answers_without_a_model_named(ask: Ask, starter_gguf: Path) -> None:
    answered = ask("--temp", "0", "-n", "24", "--json", "Why is the sky blue?")
    report = answered.object
    assert (answered.code, answered.err, report["model"]) == (0, "", starter_gguf.stem)
    assert "light" in report["text"] or "atmosphere" in report["text"]
    assert report["exact"] is False  # batches of 512 rows


def test_one_batch_size_answers_like_another(ask: Ask, starter_gguf: Path) -> None:
    """With exact kernels, so that no near-tie can part them."""
    exact = ("--temp", "0", "-n", "4", "-fa", "on", "-ub", "32", "--raw", "the cat and " * 13)
    said = {ask("-m", starter_gguf, "-b", batch, *exact).out for batch in ("1", "26", "8192")}
    assert len(said) == 1
    assert said != {b""}


def test_prompts_around_the_batch_size_and_up_to_the_context(ask: Ask, endless_gguf: Path) -> None:
    """In raw mode a letter is a token, after one BOS."""
    for tokens in (511, 512, 513):
        report = ask("-m", endless_gguf, "--raw", "-n", "2", "--json", "x" * (tokens - 1)).object
        assert (report["prompt_tokens"], report["text"]) == (tokens, "la li ")
    last = ask("-m", endless_gguf, "--raw", "--json", "x" * 598)
    assert (last.code, last.object["text"]) == (3, "la ")
    over = ask("-m", endless_gguf, "--raw", "x" * 599)
    over.check_failed(3, "600 tokens", "holds 600", "--ctx-size")


def test_a_prompt_longer_than_a_batch_is_read_batch_by_batch(ask: Ask, endless_gguf: Path) -> None:
    events = ask("-m", endless_gguf, "-b", "64", "--raw", "-n", "1", "--jsonl", "x" * 149).lines
    read = [(event["done"], event["total"]) for event in events if event["type"] == "prefill"]
    assert read == [(0, 150), (64, 150), (128, 150), (150, 150)]


def test_the_plain_path_imports_no_numpy_nor_the_bindings_package(
    emoji_gguf: Path, known_models: Path
) -> None:
    """What costs start-up time, and what would make a Python object of each vocabulary entry."""
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from nextok.cli.entry import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "-m", emoji_gguf, "-t", "1", "--raw", "hi"],
        env={**os.environ, "XDG_STATE_HOME": str(known_models)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    assert "llama_cpp.llama_cpp" in loaded
    heavy = {"numpy", "jinja2", "huggingface_hub", "typer", "rich", "pydantic", "scipy"}
    assert loaded & heavy == set()
    assert set(LATE) <= loaded  # of a name that is none, nobody would hear
