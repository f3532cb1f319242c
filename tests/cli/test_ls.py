"""`nextok ls`: what is on this machine, whoever brought it; and what the shell completes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

REF = "owner/Emoji-GGUF:Q4_K_M"

Ask = Callable[..., Any]
Terminal = Callable[..., Any]


@pytest.fixture
def ollama(emoji_gguf: Path) -> Path:
    """A model that Ollama has fetched: a manifest, and a blob with the file."""
    root = Path(os.environ["HOME"]) / ".ollama" / "models"
    digest = hashlib.sha256(emoji_gguf.read_bytes()).hexdigest()
    blob = root / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True)
    shutil.copy(emoji_gguf, blob)
    manifest = root / "manifests" / "registry.ollama.ai" / "library" / "smile" / "1b"
    manifest.parent.mkdir(parents=True)
    layer = {
        "mediaType": "application/vnd.ollama.image.model",
        "digest": f"sha256:{digest}",
        "size": blob.stat().st_size,
    }
    manifest.write_text(json.dumps({"schemaVersion": 2, "config": layer, "layers": [layer]}))
    return blob


def listed(ask: Ask, *arguments: str) -> dict[str, dict[str, Any]]:
    """The models of `nextok ls --json`, by name."""
    answered = ask("ls", "--json", *arguments)
    assert (answered.code, answered.err) == (0, "")
    return {model["name"]: model for model in answered.object["models"]}


def test_the_object(ask: Ask, pulled: Any, emoji_gguf: Path, starter_gguf: Path) -> None:
    models = listed(ask)
    assert set(models) == {REF, starter_gguf.stem}
    model = models[REF]
    assert Path(model["path"]).read_bytes() == emoji_gguf.read_bytes()
    assert model["bytes"] == emoji_gguf.stat().st_size
    assert (model["quant"], model["origin"], model["aliases"]) == ("Q4_K_M", "hub", [])
    assert model["context_tokens"] > 0
    assert datetime.fromisoformat(model["last_used"]).tzinfo is not None
    assert models[starter_gguf.stem]["origin"] == "starter"
    assert pulled.log == []


def test_a_pipe_gets_plain_lines(ask: Ask, pulled: Any) -> None:
    lines = ask("ls").out.decode().splitlines()
    assert lines[0].split()[:5] == [REF, "Q4_K_M", "2.5", "MiB", "4,096"]
    assert lines[0].endswith("hub")
    assert len(lines) == 2


def test_aliases_stand_beside_their_models(
    ask: Ask, pulled: Any, config_file: Callable[[str], Path]
) -> None:
    short = REF.partition(":")[0]
    config_file(f'[aliases]\nsmile = "{REF}"\nb = "{short}"\nc = "toy"\nd = "a/b"\n')
    assert listed(ask)[REF]["aliases"] == ["b", "smile"]
    assert f"{REF} (b, smile)" in ask("ls").out.decode()


def test_every_name_runs(ask: Ask, pulled: Any, ollama: Path) -> None:
    models = listed(ask)
    names = [name for name, model in models.items() if model["origin"] != "starter"]
    assert len(names) == 2
    for name in names:
        assert ask("-m", name, "hi").out.decode() == "Hi 😀 bye\n", name


def test_other_tools_models_are_used_in_place(ask: Ask, ollama: Path) -> None:
    (model,) = [one for one in listed(ask).values() if one["origin"] == "ollama"]
    assert (model["name"], model["path"]) == ("smile:1b", str(ollama))
    assert ask("-m", "smile", "hi").out.decode() == "Hi 😀 bye\n"
    refused = ask("rm", "--yes", "smile:1b")
    refused.check_failed(1, "is not nextok's to remove", "ollama rm")
    assert ollama.exists()
    assert str(ollama.parent) in ask("info", "--json").object["Ollama's models"]


def test_a_terminal_gets_a_table(terminal: Terminal, pulled: Any) -> None:
    lines = terminal("ls", dimensions=(24, 100)).lines()
    assert lines[0].split() == ["name", "quant", "size", "context", "last", "used", "from"]
    assert any(line.startswith(REF) and "just now" in line for line in lines)
    assert lines[-1].startswith("2 models, ")


def test_a_file_that_is_no_model_does_not_spoil_the_list(ask: Ask, pulled: Any) -> None:
    path = Path(listed(ask)[REF]["path"])
    path.resolve().write_bytes(b"GGUF and then nothing")
    assert listed(ask)[REF]["context_tokens"] is None


@pytest.mark.parametrize("line", ["nextok -m owner/", "nextok rm own", "nextok pull o"])
def test_names_of_models_are_completed(ask: Ask, pulled: Any, line: str) -> None:
    words = {"_NEXTOK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "2"}
    assert ask(env=words).out.decode().split() == [REF]
    assert pulled.log == []


def test_info_says_where_and_how_much(ask: Ask, pulled: Any, cache: Path) -> None:
    """The links of the cache are not counted a second time."""
    told = ask("info", "--json").object
    assert told["hub cache"] == f"{cache} (2.5 MiB)"
