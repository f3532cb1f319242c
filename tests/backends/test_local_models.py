"""The models already here, whoever brought them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from nextok.backends import local_models as module
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_files import HubFile
from nextok.backends.local_models import (
    LocalModel,
    did_you_mean,
    local_models,
    match,
    misspelt,
    nearest,
)

OLLAMA = "registry.ollama.ai/library"


@pytest.fixture(autouse=True)
def no_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_starter", lambda: None)


def home() -> Path:
    return Path(os.environ["HOME"])


def add_to_hub(repo: str, path: str, data: bytes = b"GGUF") -> Path:
    file = HubFile(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    cache, etag = HubCache(), file.etag or ""
    cache.prepare(repo, etag)
    cache.partial(repo, etag).write_bytes(data)
    cache.settle(repo, etag)
    return cache.publish(repo, "1" * 40, "main", [(file, None)])


def add_to_ollama(name: str, data: bytes, root: Path | None = None) -> Path:
    """As `ollama pull` does: a manifest, and the contents under their hash."""
    root = root or home() / ".ollama/models"
    digest = hashlib.sha256(data).hexdigest()
    blob = root / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    layers = [
        {
            "mediaType": "application/vnd.ollama.image.model",
            "digest": f"sha256:{digest}",
            "size": 1,
        },
        {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{'0' * 64}"},
    ]
    manifest = root / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    return blob


def add_to_lm_studio(path: str, data: bytes = b"GGUF", root: str = ".lmstudio/models") -> Path:
    file = home() / root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def named(*names: str) -> list[LocalModel]:
    return [
        LocalModel(
            name=name, path=Path(f"/{name}"), quant=None, bytes=1, origin="hub", last_used=None
        )
        for name in names
    ]


def test_nothing_is_here_at_first() -> None:
    assert local_models() == []


def test_all_models_are_found_where_they_are_and_marked_by_origin() -> None:
    hub = add_to_hub("owner/a-GGUF", "a-Q4_K_M.gguf")
    llama = add_to_ollama(f"{OLLAMA}/llama3.2/1b-instruct-q4_K_M", b"GGUF llama")
    remote = add_to_ollama("hf.co/owner/b-GGUF/Q8_0", b"GGUF b")
    studio = add_to_lm_studio("owner/c-GGUF/c-Q5_K_M.gguf")
    split = [add_to_lm_studio(f"owner/d/d-0000{n}-of-00002.gguf", b"GGUF" * n) for n in (1, 2)]
    old = add_to_lm_studio("owner/e/e.gguf", root=".cache/lm-studio/models")
    add_to_lm_studio("owner/c-GGUF/mmproj-c-F16.gguf")
    add_to_lm_studio("owner/f/f-00001-of-00002.gguf")
    before = {path: path.lstat().st_mtime_ns for path in home().rglob("*")}
    found = {model.name: model for model in local_models()}
    facts = {
        name: (model.path, model.quant, model.bytes, model.origin) for name, model in found.items()
    }
    assert facts == {
        "owner/a-GGUF:Q4_K_M": (hub, "Q4_K_M", 4, "hub"),
        "llama3.2:1b-instruct-q4_K_M": (llama, "Q4_K_M", 10, "ollama"),
        "hf.co/owner/b-GGUF:Q8_0": (remote, "Q8_0", 6, "ollama"),
        "owner/c-GGUF/c-Q5_K_M.gguf": (studio, "Q5_K_M", 4, "lm studio"),
        "owner/d/d-00001-of-00002.gguf": (split[0], None, 12, "lm studio"),
        "owner/e/e.gguf": (old, None, 4, "lm studio"),
    }  # fmt: skip
    assert all(model.last_used for model in found.values())
    assert {path: path.lstat().st_mtime_ns for path in home().rglob("*")} == before
    assert list(found) == sorted(found, key=str.lower)


def test_the_starter_is_one_of_them(monkeypatch: pytest.MonkeyPatch, starter_gguf: Path) -> None:
    monkeypatch.setattr(module, "find_starter", lambda: starter_gguf)
    (model,) = local_models()
    assert (model.origin, model.path, model.quant) == ("starter", starter_gguf, "Q4_1")


def test_ollama_is_looked_for_where_it_was_told_to_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_to_ollama(f"{OLLAMA}/here/latest", b"GGUF")
    other = add_to_ollama(f"{OLLAMA}/there/latest", b"GGUF", tmp_path / "models")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "models"))
    assert [(model.name, model.path) for model in local_models()] == [("there:latest", other)]


def test_lm_studio_is_looked_for_where_its_pointer_says(tmp_path: Path) -> None:
    (tmp_path / "models/o/r").mkdir(parents=True)
    (tmp_path / "models/o/r/a.gguf").write_bytes(b"GGUF")
    (home() / ".lmstudio-home-pointer").write_text(f"{tmp_path}\n")
    assert [model.path for model in local_models()] == [tmp_path / "models/o/r/a.gguf"]


LAYER = '{"layers": [{"mediaType": "application/vnd.ollama.image.model"%s}]}'


@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "not json",
        "[]",
        "{}",
        '{"layers": 7}',
        LAYER % "",
        LAYER % ', "digest": 7',
        LAYER % ', "digest": "sha256:../../x"',
        LAYER % f', "digest": "sha256:{"f" * 64}"',
        "[" * 100_000,
    ],
)
def test_damaged_manifests_are_passed_over(manifest: str) -> None:
    good = add_to_ollama(f"{OLLAMA}/good/latest", b"GGUF")
    bad = home() / ".ollama/models/manifests" / OLLAMA / "bad/latest"
    bad.parent.mkdir()
    bad.write_text(manifest)
    assert [model.path for model in local_models()] == [good]


def test_a_folder_that_leads_into_itself_ends() -> None:
    file = add_to_lm_studio("o/r/a.gguf")
    (file.parent / "loop").symlink_to(home() / ".lmstudio/models")
    assert [model.path for model in local_models()] == [file]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("llama3.2:1b", ["llama3.2:1b"]),
        ("LLAMA3.2:1B", ["llama3.2:1b"]),
        ("gemma3", ["gemma3:latest"]),
        ("c-q5_k_m", ["o/c-GGUF/c-Q5_K_M.gguf"]),
        ("smol instruct", ["o/SmolLM2-360M-Instruct-GGUF:Q4_K_M"]),
        ("smol q4", ["o/SmolLM2-360M-Instruct-GGUF:Q4_K_M"]),
        ("llama", ["llama3.2:1b", "llama3.2:3b"]),
        ("nothing", []),
        ("", []),
        ("  ", []),
        (":1b", ["llama3.2:1b"]),
        ("1b", ["llama3.2:1b"]),
        ("-", []),
        ("l", []),
        ("ma", []),
        ("llama -", ["llama3.2:1b", "llama3.2:3b"]),
    ],
)  # fmt: skip
def test_a_part_of_a_name_means_the_models_that_have_it(name: str, found: list[str]) -> None:
    models = named(
        "gemma3:latest", "llama3.2:1b", "llama3.2:3b", "o/SmolLM2-360M-Instruct-GGUF:Q4_K_M",
        "o/c-GGUF/c-Q5_K_M.gguf",
    )  # fmt: skip
    assert [model.name for model in match(name, models)] == found


def test_one_model_under_two_names_is_one() -> None:
    models = [
        LocalModel(
            name=name, path=Path("/same"), quant=None, bytes=1, origin="ollama", last_used=None
        )
        for name in ("llama3.2:1b", "llama3.2:latest")
    ]
    assert [model.name for model in match("llama3.2", models)] == ["llama3.2:latest"]
    assert [model.name for model in match("llama", models)] == ["llama3.2:1b"]


def test_the_nearest_names_are_given_whole() -> None:
    models = named("o/SmolLM2-360M-GGUF:Q4_K_M", "gemma3:latest", "llama3.2:1b")
    assert nearest("gema3", models) == ["gemma3:latest"]
    assert nearest("smollm2-360-gguf", models)[0] == "o/SmolLM2-360M-GGUF:Q4_K_M"
    assert nearest("smolm2", models) == ["o/SmolLM2-360M-GGUF:Q4_K_M"], "how it begins will do"
    assert nearest("xyzzy", models) == []
    assert nearest("Smlie", models, ["smile", "other"]) == ["smile"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("owner/Tiny-GUF", ["owner/Tiny-GGUF:Q4_K_M"]),
        ("Owner/tiny-gguf", ["owner/Tiny-GGUF:Q4_K_M"]),
        ("ovner/Tiny-GGUF:Q4_K_M", ["owner/Tiny-GGUF:Q4_K_M"]),
        ("owner/Tiny-GUF:Q8_0", ["owner/Tiny-GGUF:Q8_0", "owner/Tiny-GGUF:Q4_K_M"]),
        ("owner/Tiny-GGUF:Q2_K", ["owner/Tiny-GGUF:Q4_K_M"]),
        ("owner/Tiny-GUF@dev", ["owner/Tiny-GGUF:Q4_K_M"]),
        ("owner/tinny-gguf/tiny-Q8_0.gguf", ["owner/Tiny-GGUF:Q4_K_M"]),
        ("owner/other", []),
        ("owner/Large-GGUF", []),
        ("another/Huge", []),
    ],
)
def test_only_a_slip_of_the_pen_is_taken_for_one(name: str, meant: list[str]) -> None:
    models = named("owner/Tiny-GGUF:Q4_K_M", "owner/Tiny-GGUF:Q8_0", "tiny:latest")
    found = misspelt(name, models)
    assert found[: len(meant)] == meant
    assert bool(found) is bool(meant)


def test_the_question_names_them_all() -> None:
    assert did_you_mean([]) == ""
    assert did_you_mean(["a"]) == "did you mean a?"
    assert did_you_mean(["a", "b\x1b", "c"]) == "did you mean a, b\ufffd or c?"
