"""From a name to a file, without a network."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.backends import local_models
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_files import HubFile
from nextok.backends.locate import Located, NotOnDisk, locate, look_up
from nextok.generation.errors import HubError, ModelError, UsageError

REPO, Q4 = "owner/m-GGUF", "m-Q4_K_M.gguf"


@pytest.fixture
def cached() -> Callable[..., Path]:
    """`cached(repo, path)`: a model of the hub on disk."""

    def add(repo: str = REPO, path: str = Q4) -> Path:
        data = f"GGUF{repo}{path}".encode()
        file = HubFile(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        cache, etag = HubCache(), file.etag or ""
        cache.prepare(repo, etag)
        cache.partial(repo, etag).write_bytes(data)
        cache.settle(repo, etag)
        return cache.publish(repo, "1" * 40, "main", [(file, None)])

    return add


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In an empty folder, and without the starter among the models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local_models, "find_starter", lambda: None)


def test_the_starter_without_a_name_and_the_toy_by_its(starter_gguf: Path) -> None:
    assert locate(None, {}) == starter_gguf
    assert locate("toy", {"toy": "x.gguf"}) is None
    assert locate("t", {"t": "toy"}) is None


@pytest.mark.parametrize("name", ["./o/r", "../x", "/x/y", "~/x", "x.gguf", "a/b.gguf", "./x.bin"])
def test_what_looks_like_a_path_is_one_whether_it_is_there_or_not(name: str) -> None:
    assert locate(name, {}) == Path(os.path.expanduser(name))


@pytest.mark.parametrize("name", ["a b/モデル's.gguf", "o/r/x.gguf", "x.gguf"])
def test_a_file_that_exists_comes_before_all_else(name: str, cached: Callable[..., Path]) -> None:
    cached("o/r", "x.gguf")
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(b"GGUF")
    assert locate(name, {name: "/other.gguf"}) == Path(name)


def test_an_alias_means_what_it_stands_for(cached: Callable[..., Path]) -> None:
    path = cached()
    aliases = {"a": REPO, "b": "~/b.gguf", "c": "m-gguf", "d": "a"}
    assert locate("a", aliases) == path
    assert locate("b", aliases) == Path(os.environ["HOME"]) / "b.gguf"
    assert locate("c", aliases) == path
    with pytest.raises(UsageError, match="-m|name one|of them"):
        cached("owner/a-other", "a-Q8_0.gguf")
        locate("d", {**aliases, "d": "owner"})


@pytest.mark.parametrize(
    "name",
    [
        REPO,
        f"{REPO}:q4_k_m",
        f"{REPO}/{Q4}",
        f"hf.co/{REPO}",
        f"https://huggingface.co/{REPO}/blob/main/{Q4}",
        f"{REPO}@main",
    ],
)
def test_a_model_of_the_hub_that_is_on_disk(name: str, cached: Callable[..., Path]) -> None:
    path = cached()
    assert look_up(name, {}) == Located(path=path)


def test_a_model_of_the_hub_that_is_not_says_how_to_fetch_it(cached: Callable[..., Path]) -> None:
    cached()
    for name in ("owner/other", f"{REPO}:Q8_0", f"{REPO}/x.gguf", f"hf.co/{REPO}@dev"):
        with pytest.raises(NotOnDisk) as caught:
            locate(name, {})
        assert isinstance(caught.value, HubError)
        assert f"nextok pull {caught.value.reference}" in str(caught.value)
    Path("owner/other").mkdir(parents=True)
    with pytest.raises(NotOnDisk):
        locate("owner/other", {})


def test_a_folder_and_a_file_without_ending_are_for_the_file_check() -> None:
    Path("folder").mkdir()
    Path("weights.bin").write_bytes(b"x")
    assert locate("folder", {}) == Path("folder")
    assert locate("weights.bin", {}) == Path("weights.bin")


def test_a_part_of_a_local_name_is_told_whole(cached: Callable[..., Path]) -> None:
    path = cached()
    assert look_up("M-gguf", {}) == Located(path=path, guessed=f"{REPO}:Q4_K_M")
    assert look_up("m q4", {}).path == path
    cached("owner/m-other", "m-Q8_0.gguf")
    with pytest.raises(UsageError, match="owner/m-GGUF:Q4_K_M, owner/m-other:Q8_0"):
        locate("owner", {})


def test_an_unknown_name_names_the_nearest(cached: Callable[..., Path]) -> None:
    cached("owner/gemma-GGUF", "gemma-Q4_0.gguf")
    with pytest.raises(ModelError, match="owner/gemma-GGUF:Q4_0") as caught:
        locate("gema-gguf", {"short": "x"})
    assert "did you mean owner/gemma-GGUF:Q4_0? Otherwise give" in str(caught.value)
    assert "toy, short" in str(caught.value)


def test_an_unknown_name_names_the_models_at_hand(
    cached: Callable[..., Path], starter_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_models, "find_starter", lambda: starter_gguf)
    cached("owner/gemma-GGUF", "gemma-Q4_0.gguf")
    with pytest.raises(ModelError) as caught:
        locate("extra", {"short": "x"})
    known = str(caught.value).partition("or one of: ")[2].split(", ")
    assert known[:2] == ["toy", "short"]
    assert sorted(known[2:]) == sorted(["owner/gemma-GGUF:Q4_0", starter_gguf.stem])


def test_of_many_models_at_hand_some_are_named(cached: Callable[..., Path]) -> None:
    for number in range(13):
        cached(f"owner/m{number:02}-GGUF", f"m{number:02}-Q4_0.gguf")
    with pytest.raises(ModelError, match=r" and 2 more \(nextok ls\)$"):
        locate("extra", {})


@pytest.mark.parametrize(
    ("name", "meant"), [("smlie", "smile"), ("Smile", "smile"), ("tooy", "toy")]
)
def test_an_alias_misspelt_is_named(name: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"did you mean {meant}\\?"):
        locate(name, {"smile": REPO, "other": REPO})


def test_a_repository_misspelt_is_named_and_how_to_fetch_it_all_the_same(
    cached: Callable[..., Path],
) -> None:
    cached("owner/Tiny-GGUF", "Tiny-Q4_K_M.gguf")
    for name in ("owner/Tiny-GUF", "owner/tiny-gguf"):
        with pytest.raises(NotOnDisk) as caught:
            locate(name, {})
        assert str(caught.value) == (
            f"{name} is not on disk: did you mean owner/Tiny-GGUF:Q4_K_M? Otherwise fetch it"
            f" with: nextok pull {name}"
        )
    with pytest.raises(NotOnDisk) as caught:
        locate("owner/Huge-GGUF", {})
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", ["-", "x", "%"])
def test_one_character_is_no_part_of_a_name(name: str, cached: Callable[..., Path]) -> None:
    cached("owner/xm-GGUF")
    with pytest.raises(UsageError, match="name a model"):
        locate(name, {})


def test_a_link_to_nowhere_is_for_the_file_check() -> None:
    Path("link").symlink_to("gone")
    assert locate("link", {}) == Path("link")


def test_a_bad_hub_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="OWNER/NAME"):
        locate("o--x/r", {})


def test_another_tools_name_is_found_even_if_it_looks_like_the_hubs() -> None:
    root = Path(os.environ["HOME"]) / ".ollama/models"
    blob = root / "blobs" / f"sha256-{'a' * 64}"
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{'a' * 64}"}
    manifest = root / "manifests/hf.co/o/r/Q8_0"
    for file in (blob, manifest):
        file.parent.mkdir(parents=True)
    blob.write_bytes(b"GGUF")
    manifest.write_text(json.dumps({"layers": [layer]}))
    assert locate("hf.co/o/r:Q8_0", {}) == blob
    with pytest.raises(NotOnDisk):
        locate("o/r:Q8_0", {})


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "~nobody-here/x.gguf", "\udcff", "%", "*?["])
def test_no_name_breaks_it(name: str) -> None:
    try:
        locate(name, {})
    except (ModelError, UsageError) as error:
        assert "\n" not in str(error) and "\0" not in str(error)
