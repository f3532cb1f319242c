"""The shared cache folder: found in, published to, cleaned; and what other tools make of it."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_errors import CacheNotWritable, WrongBytes
from nextok.backends.hub_files import HubFile
from nextok.backends.hub_layout import cache_root
from nextok.backends.hub_reference import HubReference, parse_reference
from nextok.backends.kept_sums import kept
from nextok.backends.quant_choice import Ambiguous

REPO = "owner/m-GGUF"
ONE, TWO, THREE = ("1" * 40, "2" * 40, "3" * 40)
Q4, Q8 = "m-Q4_K_M.gguf", "m-Q8_0.gguf"
SPLIT = ["q/m-Q6_K-00001-of-00002.gguf", "q/m-Q6_K-00002-of-00002.gguf"]
NOW = 2_000_000_000.0

Publish = Callable[..., Path]


def file_of(path: str, data: bytes) -> HubFile:
    return HubFile(path=path, size=len(data), sha256=hashlib.sha256(data).hexdigest())


@pytest.fixture
def cache(tmp_path: Path) -> HubCache:
    return HubCache(tmp_path / "hub", clock=lambda: NOW)


@pytest.fixture
def publish(cache: HubCache) -> Publish:
    """`publish({path: data}, commit=..., revision=...)`: as if fetched."""

    def run(
        files: dict[str, bytes], *, commit: str = ONE, revision: str = "main", repo: str = REPO
    ) -> Path:
        made = [file_of(path, data) for path, data in files.items()]
        for file, data in zip(made, files.values(), strict=True):
            if cache.whole_copy(repo, commit, file) is None:
                cache.prepare(repo, file.etag or "")
                cache.partial(repo, file.etag or "").write_bytes(data)
                cache.settle(repo, file.etag or "")
        return cache.publish(repo, commit, revision, [(file, None) for file in made])

    return run


@pytest.fixture(params=["links", "no links", "links forbidden"])
def links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything must hold on a file system without symbolic links too."""
    if request.param == "no links":

        def refuse(*_: object, **__: object) -> None:
            raise OSError(1, "Operation not permitted")

        monkeypatch.setattr(os, "symlink", refuse)
    if request.param == "links forbidden":
        monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    return str(request.param)


def find(cache: HubCache, text: str, memory: int | None = None) -> Path | None:
    reference = parse_reference(text)
    assert reference is not None
    return cache.find(reference, memory)


def kept_bytes(root: Path) -> int:
    """Of models, every inode once."""
    found = {path.stat().st_ino: path for path in root.rglob("*") if path.is_file()}
    return sum(path.stat().st_size for path in found.values() if path.stat().st_size > 100)


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({}, "{home}/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x", "HF_HOME": "~/hf"}, "{home}/hf/hub"),
        ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "$HF_HOME/old"}, "/h/old"),
        ({"HF_HOME": "/h", "HUGGINGFACE_HUB_CACHE": "/o", "HF_HUB_CACHE": "/c"}, "/c"),
    ],
)
def test_the_folder_is_the_one_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], root: str
) -> None:
    for name in ("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(cache_root()) == root.format(home=os.environ["HOME"])


def test_what_is_published_is_found_by_all_its_names(
    cache: HubCache, publish: Publish, links: str
) -> None:
    path = publish({Q4: b"GGUF4"})
    assert path.read_bytes() == b"GGUF4"
    assert path.is_symlink() is (links == "links")
    for name in (REPO, f"{REPO}:q4_k_m", f"{REPO}/{Q4}", f"{REPO}@main", f"{REPO}@{ONE}"):
        assert find(cache, name) == path
    for name in ("owner/other", f"{REPO}:Q8_0", f"{REPO}/x.gguf", f"{REPO}@dev", f"{REPO}@{TWO}"):
        assert find(cache, name) is None


def test_the_sum_is_kept_where_no_name_says_it(
    cache: HubCache, publish: Publish, links: str
) -> None:
    from huggingface_hub import scan_cache_dir

    first = publish({SPLIT[0]: b"GGUF1", SPLIT[1]: b"GGUF2"})
    for path in first.parent.iterdir():
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        assert kept(path) == (None if links == "links" else sha256)
    scanned: Any = scan_cache_dir(cache.root)
    assert scanned.warnings == []
    assert scanned.size_on_disk == 10
    cache.remove(cache.removal(cache.models()))
    assert [path for path in cache.root.rglob("*") if path.is_file()] == []


def test_a_set_is_found_when_it_is_whole(cache: HubCache, publish: Publish, links: str) -> None:
    first = publish({SPLIT[0]: b"GGUF1"})
    assert find(cache, f"{REPO}:Q6_K") is None
    publish({SPLIT[0]: b"GGUF1", SPLIT[1]: b"GGUF2"})
    assert find(cache, f"{REPO}:Q6_K") == first == find(cache, f"{REPO}/{SPLIT[1]}")
    assert first.with_name("m-Q6_K-00002-of-00002.gguf").read_bytes() == b"GGUF2"


def test_without_a_quant_the_usual_one_or_the_only_one(cache: HubCache, publish: Publish) -> None:
    only = publish({Q8: b"GGUF8"})
    assert find(cache, REPO) == only
    usual = publish({Q4: b"GGUF4"})
    assert find(cache, REPO) == usual
    publish({"a-Q2_K.gguf": b"GGUF2", "a-Q3_K.gguf": b"GGUF33"}, repo="owner/two")
    with pytest.raises(Ambiguous):
        find(cache, "owner/two")
    best = find(cache, "owner/two", 1 << 30)
    assert best is not None and best.name == "a-Q3_K.gguf"


def test_a_link_to_nothing_is_no_model(cache: HubCache, publish: Publish) -> None:
    path = publish({Q4: b"GGUF4"})
    path.resolve().unlink()
    assert find(cache, REPO) is None
    assert cache.models() == []


def test_the_old_model_is_found_while_a_new_commit_has_only_a_ref(
    cache: HubCache, publish: Publish
) -> None:
    old = publish({Q4: b"GGUF4"})
    (cache.root / "models--owner--m-GGUF/refs/main").write_text(TWO)
    assert find(cache, REPO) == old
    (cache.root / "models--owner--m-GGUF/snapshots" / TWO).mkdir()
    assert find(cache, REPO) == old


def test_a_new_commit_with_the_same_contents_keeps_them_once(
    cache: HubCache, publish: Publish, links: str
) -> None:
    data = b"GGUF" + bytes(5000)
    old = publish({Q4: data})
    file = file_of(Q4, data)
    read: list[int] = []
    elsewhere = None
    if cache.whole_copy(REPO, TWO, file) is None:
        elsewhere = cache.same_elsewhere(REPO, file, read.append)
        assert elsewhere == old and read[-1] == len(data)
    new = cache.publish(REPO, TWO, "main", [(file, elsewhere)])
    assert new != old and new.read_bytes() == data
    assert find(cache, REPO) == new
    assert kept_bytes(cache.root) == len(data)
    assert old.read_bytes() == data


def test_where_there_are_no_second_names_either_the_file_moves(
    cache: HubCache, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "symlink", refuse)
    monkeypatch.setattr(os, "link", refuse)
    old = publish({Q4: b"GGUF4"})
    file = file_of(Q4, b"GGUF4")
    new = cache.publish(
        REPO, TWO, "main", [(file, cache.same_elsewhere(REPO, file, lambda _: None))]
    )
    assert new.read_bytes() == b"GGUF4" and not old.exists()
    assert find(cache, REPO) == new


def test_other_contents_of_the_same_size_are_not_taken_for_it(
    cache: HubCache, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    old = publish({Q4: b"GGUF4"})
    assert cache.same_elsewhere(REPO, file_of(Q4, b"GGUF5"), lambda _: None) is None
    assert cache.same_elsewhere(REPO, file_of(Q4, b"<htm>"), lambda _: None) is None
    assert old.read_bytes() == b"GGUF4"


def test_models_are_listed_with_what_finds_them_again(cache: HubCache, publish: Publish) -> None:
    publish({Q4: b"GGUF4", "mmproj-F16.gguf": b"GGUFm", "README.md": b"hi"})
    publish({Q4: b"GGUF44", SPLIT[0]: b"GGUF1", SPLIT[1]: b"GGUF2"}, commit=TWO)
    publish({Q8: b"GGUF8"}, commit=THREE, revision=THREE)
    publish({"plain.gguf": b"GGUFp"}, repo="owner/plain")
    models = cache.models()
    assert {model.reference: (model.bytes, model.refs) for model in models} == {
        f"{REPO}:Q4_K_M": (6, ("main",)),
        f"{REPO}:Q6_K": (10, ("main",)),
        f"{REPO}@{ONE}:Q4_K_M": (5, ()),
        f"{REPO}:Q8_0": (5, ()),
        "owner/plain/plain.gguf": (5, ("main",)),
    }
    for model in models:
        assert find(cache, model.reference) == model.path
        assert len(model.parts) == len(model.sha256s)
        digests = [hashlib.sha256(part.read_bytes()).hexdigest() for part in model.parts]
        assert list(model.sha256s) == digests
    assert [model.reference for model in cache.detached()] == [f"{REPO}@{ONE}:Q4_K_M"]


def test_a_removal_frees_what_nothing_else_uses(cache: HubCache, publish: Publish) -> None:
    publish({Q4: b"GGUF4", Q8: b"GGUF888"})
    publish({Q4: b"GGUF4"}, commit=TWO)
    models = {model.reference: model for model in cache.models()}
    shared = cache.removal([models[f"{REPO}:Q4_K_M"]])
    assert (shared.bytes, shared.blobs) == (0, ())
    removal = cache.removal(cache.models())
    assert removal.bytes == 12 and len(removal.blobs) == 2
    q8 = cache.removal([models[f"{REPO}:Q8_0"]])
    assert q8.bytes == 7
    cache.remove(q8)
    assert find(cache, f"{REPO}:Q8_0") is None
    assert find(cache, REPO) is not None
    cache.remove(cache.removal(cache.models()))
    assert cache.models() == []
    assert not (cache.root / "models--owner--m-GGUF").exists()


def test_a_removal_without_links_frees_the_file_itself(
    cache: HubCache, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    publish({SPLIT[0]: b"GGUF1", SPLIT[1]: b"GGUF2"})
    other = publish({Q4: b"GGUF4"}, repo="owner/other")
    removal = cache.removal([model for model in cache.models() if model.repo == REPO])
    assert removal.bytes == 10
    cache.remove(removal)
    assert [model.path for model in cache.models()] == [other]


def test_a_store_shared_by_repositories_is_freed_with_the_last(cache: HubCache) -> None:
    store = cache.root / "blobs/ab" / ("ab" * 32)
    store.parent.mkdir(parents=True)
    store.write_bytes(b"GGUF4")
    for repo in (REPO, "owner/copy"):
        blob = cache.blob(repo, file_of(Q4, b"GGUF4").etag or "")
        cache.prepare(repo, blob.name)
        blob.symlink_to(os.path.relpath(store, blob.parent))
        cache.publish(repo, ONE, "main", [(file_of(Q4, b"GGUF4"), None)])
    first, second = cache.models()
    assert first.sha256s == (file_of(Q4, b"GGUF4").sha256,)
    assert cache.removal([first]).bytes == 0
    cache.remove(cache.removal([first]))
    assert store.exists() and find(cache, second.reference) == second.path
    assert cache.removal([second]).bytes == 5
    cache.remove(cache.removal([second]))
    assert not store.exists()


def test_partials_of_all_tools_are_listed_and_removed_unless_in_use(
    cache: HubCache, publish: Publish
) -> None:
    publish({Q4: b"GGUF4"})
    etag = "a" * 64
    blobs = cache.blob(REPO, etag).parent
    names = [
        f"{etag}.nextok.incomplete",
        f"{etag}.1234abcd.incomplete",
        f"{etag}.downloadInProgress",
    ]
    for name in names:
        (blobs / name).write_bytes(b"12345")
        os.utime(blobs / name, (NOW - 3600, NOW - 3600))
    found = cache.partials()
    assert {(partial.path.name, partial.bytes, partial.ours) for partial in found} == {
        (names[0], 5, True), (names[1], 5, False), (names[2], 5, False),
    }  # fmt: skip
    with cache.lock(REPO, etag).parent.joinpath(f"{etag}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cache.partials() == []
        assert [cache.remove_partial(partial) for partial in found] == [False] * 3
    os.utime(blobs / names[2], (NOW - 1, NOW - 1))  # a tool without locks is at it
    removed = {partial.path.name: cache.remove_partial(partial) for partial in found}
    assert removed == {names[0]: True, names[1]: True, names[2]: False}
    assert find(cache, REPO) is not None


@pytest.mark.parametrize("etag", ["../../../evil", "", "abc", "A" * 64, "0" * 63, "0" * 40 + "/x"])
def test_a_hostile_hash_becomes_no_path(cache: HubCache, etag: str) -> None:
    for path_of in (cache.blob, cache.partial, cache.lock, cache.prepare):
        with pytest.raises(WrongBytes):
            path_of(REPO, etag)
    assert not cache.root.exists()


@pytest.mark.parametrize(
    ("commit", "revision", "path"),
    [
        ("../" * 8 + "evil", "main", Q4),
        ("main", "main", Q4),
        (ONE, "../../../../evil", Q4),
        (ONE, "a/../../../evil", Q4),
        (ONE, "main", "../../../../evil.gguf"),
        (ONE, "main", "/tmp/evil.gguf"),
        (ONE, "main", "a\0b.gguf"),
    ],
)
def test_a_hostile_commit_branch_or_name_becomes_no_path(
    cache: HubCache, tmp_path: Path, commit: str, revision: str, path: str
) -> None:
    file = file_of(path, b"GGUF4")
    cache.prepare(REPO, file.etag or "")
    cache.partial(REPO, file.etag or "").write_bytes(b"GGUF4")
    cache.settle(REPO, file.etag or "")
    with pytest.raises(WrongBytes):
        cache.publish(REPO, commit, revision, [(file, None)])
    assert not list(tmp_path.rglob("*evil*"))


def test_hostile_folders_are_passed_over(cache: HubCache) -> None:
    for name in ("models--..--..", "models--a", "datasets--a--b", "models----", "models--o--r"):
        (cache.root / name / "snapshots" / "notacommit").mkdir(parents=True)
    (cache.root / "models--o--r/refs").mkdir()
    (cache.root / "models--o--r/refs/main").write_text("../../../..")
    assert cache.models() == []
    assert find(cache, "o/r") is None
    assert cache.partials() == []


def test_a_read_only_cache_is_read(cache: HubCache, publish: Publish) -> None:
    path = publish({Q4: b"GGUF4"})
    folders = [at for at, _, _ in os.walk(cache.root)]
    for folder in folders:
        os.chmod(folder, 0o555)
    try:
        assert find(cache, REPO) == path
        assert len(cache.models()) == 1
        if os.geteuid():
            with pytest.raises(CacheNotWritable):
                cache.remove(cache.removal(cache.models()))
    finally:
        for folder in folders:
            os.chmod(folder, 0o755)


def test_no_cache_is_an_empty_one(tmp_path: Path) -> None:
    cache = HubCache(tmp_path / "nothing")
    assert cache.models() == cache.partials() == cache.detached() == []
    assert cache.find(HubReference(repo=REPO)) is None
    (tmp_path / "file").write_text("")
    blocked = HubCache(tmp_path / "file")
    assert blocked.models() == []
    with pytest.raises(CacheNotWritable, match="HF_HUB_CACHE"):
        blocked.prepare(REPO, "0" * 64)


def test_the_hubs_own_library_accepts_the_folder(
    cache: HubCache, publish: Publish, links: str
) -> None:
    from huggingface_hub import hf_hub_download, scan_cache_dir

    publish({Q4: b"GGUF4"})
    path = publish({Q4: b"GGUF44", SPLIT[0]: b"GGUF1", SPLIT[1]: b"GGUF2"}, commit=TWO)
    found = hf_hub_download(REPO, Q4, cache_dir=cache.root, local_files_only=True)
    assert Path(found) == path
    scanned: Any = scan_cache_dir(cache.root)
    assert scanned.warnings == []
    (repo,) = scanned.repos
    assert {revision.commit_hash for revision in repo.revisions} == {ONE, TWO}
    assert set(repo.refs) == {"main"}
    assert not [
        name for name in os.listdir(cache.root / "models--owner--m-GGUF") if "." in name[:1]
    ]
