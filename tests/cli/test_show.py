"""`nextok show`: what a model file is, from its header alone."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest
from gguf import GGUFValueType

from .conftest import SCRIPT

Ask = Callable[..., Any]
Build = Callable[..., Path]


def test_the_starter(ask: Ask, starter_gguf: Path) -> None:
    answered = ask("show", "--json")  # without a name: the model that would answer
    shown = answered.object
    assert (answered.code, answered.err) == (0, "")
    assert shown["path"] == str(starter_gguf)
    assert (shown["architecture"], shown["quantization"]) == ("llama", "Q4_1")
    assert shown["parameters"] == 134_515_008
    assert (shown["context_tokens"], shown["ctx"], shown["vocabulary"]) == (8192, 8192, 49152)
    assert (shown["layers"], shown["heads"], shown["kv_heads"]) == (30, 9, 3)
    assert shown["kv_bytes_per_token"] == 30 * (384 + 384)
    assert shown["kv_bytes"] == 180 << 20
    assert shown["file_bytes"] == starter_gguf.stat().st_size
    assert "<|im_start|>" in shown["chat_template"]
    assert shown["tokenizer"] == "gpt2"


def test_the_table(ask: Ask, starter_gguf: Path) -> None:
    answered = ask("show", starter_gguf, "--ctx-size", "2048")
    text = answered.out.decode()
    assert (answered.code, answered.err) == (0, "")
    for words in ("llama", "135 million", "Q4_1", "8,192 tokens", "23,040 bytes a token"):
        assert words in text
    assert "45.0 MiB for --ctx-size 2048" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("flags", "each"),
    [((), 1280), (("-ctk", "q8_0"), 640 + 340), (("-ctk", "f32", "-ctv", "f32"), 2560)],
)
def test_the_cache_s_size_by_its_types(
    ask: Ask, scripted: Build, flags: tuple[str, ...], each: int
) -> None:
    """320 numbers for keys and as many for values: 2 bytes each, q8_0 34 bytes for 32."""
    model = scripted(["x"], stem="sized")
    shown = ask("show", model, "--json", "-c", "100", *flags).object
    assert shown["embedding"] == 320
    assert (shown["kv_bytes_per_token"], shown["kv_bytes"]) == (each, 100 * each)


def test_recommended_sampling(ask: Ask, scripted: Build, emoji_gguf: Path) -> None:
    meta = {"general.sampling.temp": 0.6, "general.sampling.top_k": (GGUFValueType.INT32, 20)}
    model = scripted(["x"], stem="recommended", meta=meta)
    assert ask("show", model, "--json").object["sampling"] == {"temperature": 0.6, "top_k": 20}
    assert ask("show", emoji_gguf, "--json").object["sampling"] == {}


def test_a_model_without_a_template(ask: Ask, no_template_gguf: Path) -> None:
    assert ask("show", no_template_gguf, "--json").object["chat_template"] is None
    assert b"none: prompts go in as they are" in ask("show", no_template_gguf).out


def test_only_the_header_is_read(scripted: Build) -> None:
    """A file of 2 GB takes as long as its header: the engine and its bindings stay out of it."""
    model = scripted(["x"], stem="large", big_mb=2048)
    script = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from nextok.cli.entry import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "show", model],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    assert b"2.0 GiB" in done.stdout
    heavy = {"llama_cpp", "numpy", "jinja2", "huggingface_hub", "typer"}
    assert set(done.stderr.decode().split()) & heavy == set()


def test_a_split_model_is_shown_whole(ask: Ask, scripted: Build) -> None:
    part = scripted(["x"], stem="parts", split_tensors=5)
    whole = scripted(["x"], stem="whole")
    shown, expected = ask("show", part, "--json").object, ask("show", whole, "--json").object
    assert shown["files"] > 1
    assert shown["parameters"] == expected["parameters"]


def on_a_terminal(*arguments: str | Path, columns: int) -> str:
    return str(
        pexpect.run(
            shlex.join(map(str, [SCRIPT, *arguments])), encoding="utf-8",
            env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
        )
    )  # fmt: skip


def test_a_person_is_spared_the_whole_licence(ask: Ask, scripted: Build) -> None:
    text = "You may. " * 10_000
    model = scripted(["x"], stem="licensed", meta={"general.license": text})
    page = on_a_terminal("show", model, columns=80)
    assert "You may." in page and "…" in page and len(page) < 5_000
    assert ask("show", model, "--json").object["license"] == text


def test_a_narrow_terminal_shows_the_values(emoji_gguf: Path) -> None:
    page = on_a_terminal("show", emoji_gguf, columns=10)
    assert "architecture: llama\r\n" in page and str(emoji_gguf) in page


def test_words_it_does_not_take(ask: Ask, emoji_gguf: Path) -> None:
    ask("show", emoji_gguf, "more").check_failed(2, "one MODEL")
    ask("show", "toy").check_failed(2, "toy")
