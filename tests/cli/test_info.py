"""`nextok info`: what this installation is, and what it would use."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from nextok.cli.units import size

Ask = Callable[..., Any]


def test_the_object(ask: Ask, starter_gguf: Path, known_models: Path) -> None:
    answered = ask("info", "--json")
    told = answered.object
    assert (answered.code, answered.err) == (0, "")
    assert told["nextok"] == version("nextok")
    assert told["engine"] == f"llama-cpp-python {version('llama-cpp-python')}"
    assert told["threads"] == 1  # NEXTOK_THREADS
    assert told["default model"] == str(starter_gguf)
    assert "8192" in told["context"]
    assert str(known_models / "nextok") in told["state folder"]
    for folder in ("cache folder", "config file"):
        assert os.environ["HOME"] in told[folder]
    assert any(device.startswith("CPU") for device in told["devices"])


def test_what_is_kept_of_chats(ask_alone: Ask, scripted: Callable[..., Path]) -> None:
    """Where it is and how large, before there is any and after."""
    kept = ("saved chats", "KV states", "input history")
    before = ask_alone("info", "--json").object
    assert all(before[name].endswith(" (not there yet)") for name in kept)
    places = {name: Path(before[name].removesuffix(" (not there yet)")) for name in kept}
    letters = scripted(["x", "y"], loop=True, stem="letters")
    assert ask_alone("chat", "-m", letters, "-n", "80", input=b"sing\n").code == 0
    places["input history"].write_text('"one"\n')
    told = ask_alone("info", "--json").object
    for name, inside in (("saved chats", "chats"), ("KV states", "kv")):
        folder = places[name]
        assert folder.name == inside
        (file,) = folder.iterdir()
        assert told[name] == f"{folder} ({size(file.stat().st_size)})"
    assert told["input history"] == f"{places['input history']} (6 bytes)"


def test_what_the_engine_says_of_gpus(ask: Ask) -> None:
    from nextok.backends.llama_library import supports_gpu

    assert ask("info", "--json").object["GPU support"] is supports_gpu()
    asked = ask("info", "-ngl", "99")
    assert asked.code == 0
    if not supports_gpu():
        asked.check_line("warning", "no GPU support")


def test_settings_are_in_it(ask: Ask, config_file: Callable[[str], Path]) -> None:
    path = config_file('[defaults]\nmodel = "mine.gguf"\nctx-size = 1234\nthreads = 3\n')
    told = ask("info", "--json", env={"NEXTOK_THREADS": ""}).object
    assert (told["default model"], told["threads"]) == ("mine.gguf", 3)
    assert "1234" in told["context"]
    assert str(path) in told["config file"]


def test_threads_stay_within_the_allowed_cpus(ask: Ask) -> None:
    one = {min(os.sched_getaffinity(0))}
    limited = ask(
        "info", "--json", env={"NEXTOK_THREADS": ""},
        preexec_fn=lambda: os.sched_setaffinity(0, one),
    )  # fmt: skip
    assert limited.object["threads"] == 1


def test_it_takes_no_words(ask: Ask) -> None:
    ask("info", "now").check_failed(2, "takes no words")


def test_what_cannot_be_read_is_said_and_the_rest_told(ask: Ask, tmp_path: Path) -> None:
    state = tmp_path / ("x" * 300)  # no file system has such a name
    told = ask("info", "--json", env={"XDG_STATE_HOME": str(state)})
    assert told.code == 0
    for name in ("state folder", "journal", "saved chats", "input history"):
        assert told.object[name].endswith("(cannot be read: File name too long)")
    assert "cannot be read" not in told.object["cache folder"]


def test_a_folder_that_is_closed_to_us(ask: Ask, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is closed to this user")
    (tmp_path / "nextok").mkdir(mode=0o000)
    told = ask("info", "--json", env={"XDG_STATE_HOME": str(tmp_path)})
    assert told.code == 0
    for name in ("state folder", "journal", "saved chats"):
        assert told.object[name].endswith("(cannot be read: Permission denied)")
