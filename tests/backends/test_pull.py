"""From the hub into the cache: whole or not at all, once, and never at the old model's cost."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_errors import (
    DiskFull,
    Offline,
    RateLimited,
    RepoGated,
    ServerFailed,
    WrongBytes,
)
from nextok.backends.hub_reference import HubReference, parse_reference
from nextok.backends.kept_sums import kept, kept_place
from nextok.backends.partial_file import is_whole
from nextok.backends.patience import Patience, Questions
from nextok.backends.pull import Plan, Pulled, fetch, plan_pull, pull
from nextok.backends.quant_choice import Ambiguous, UnknownQuant
from nextok.backends.transfer_progress import Progress, Stage
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import HubError
from nextok.generation.finish import FinishReason

Python = Callable[..., "subprocess.Popen[str]"]
REPO, Q4 = "owner/m-GGUF", "m-Q4_K_M.gguf"
SPLIT = ["q/m-Q8_0-00001-of-00002.gguf", "q/m-Q8_0-00002-of-00002.gguf"]
DATA = b"GGUF" + bytes(range(251)) * 4000
QUICK = Patience(tries=3, first_wait=0.01, longest_wait=0.02)
PULL = """
import sys
from nextok.backends.hub import Hub
from nextok.backends.hub_cache import HubCache
from nextok.backends.hub_reference import parse_reference
from nextok.backends.pull import pull
from nextok.generation.abort import Abort
notices = set()
def tell(progress):
    print(progress.stage.value, progress.done, progress.notice or "", file=sys.stderr, flush=True)
print(pull(parse_reference(sys.argv[1]), hub=Hub(), cache=HubCache(), abort=Abort(),
           progress=tell, memory_bytes=None).path)
"""
THEIRS = """
import sys
from huggingface_hub import hf_hub_download
print(hf_hub_download(*sys.argv[1:3]))
"""


def reference(text: str = REPO) -> HubReference:
    found = parse_reference(text)
    assert found is not None
    return found


def plan(text: str = REPO, memory: int | None = None, **more: Any) -> Plan:
    more.setdefault("questions", Questions(abort=Abort(), patience=QUICK))
    return plan_pull(reference(text), hub=Hub(), cache=HubCache(), memory_bytes=memory, **more)


def carry_out(
    planned: Plan, abort: Abort | None = None, listener: Callable[[Progress], None] = lambda _: None
) -> Pulled:
    return fetch(
        planned,
        hub=Hub(),
        cache=HubCache(),
        abort=abort or Abort(),
        progress=listener,
        patience=QUICK,
    )


def bodies(hub: Any) -> list[tuple[str | None, int]]:
    return [(hit.range, hit.sent) for hit in hub.hits("GET /cdn/")]


def contents(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def repo(hub: Any) -> Any:
    """The hub, with one repository of several models."""
    hub.add_repo(
        REPO,
        {
            Q4: DATA,
            SPLIT[0]: DATA + b"1",
            SPLIT[1]: DATA + b"22",
            "mmproj-F16.gguf": DATA + b"mm",
            "README.md": b"hi",
        },
    )
    return hub


def test_a_pull_fetches_the_files_wanted_and_nothing_else(repo: Any, cache_root: Path) -> None:
    planned = plan()
    assert (planned.fetch_bytes, planned.path) == (len(DATA), None)
    assert planned.free_bytes is not None
    assert str(planned.reference) == f"{REPO}:Q4_K_M"
    assert not cache_root.exists()
    pulled = carry_out(planned)
    assert pulled.path.read_bytes() == DATA
    assert (pulled.bytes, pulled.fetched_bytes, pulled.cached) == (len(DATA), len(DATA), False)
    assert HubCache().find(pulled.reference) == pulled.path
    assert bodies(repo) == [(None, len(DATA))]
    assert len(repo.log) == 3
    other = carry_out(plan(f"{REPO}:q8_0"))
    assert other.path.name == Path(SPLIT[0]).name
    assert [part.stat().st_size for part in sorted(other.path.parent.iterdir())] == [
        len(DATA) + 1, len(DATA) + 2,
    ]  # fmt: skip
    assert len(bodies(repo)) == 3


def test_a_second_pull_asks_once_and_fetches_nothing(repo: Any) -> None:
    first = carry_out(plan())
    repo.clear()
    again = plan()
    assert again.path == first.path and again.fetch_bytes == 0
    pulled = carry_out(again)
    assert pulled.cached and pulled.path == first.path
    assert len(repo.log) == 1


def test_the_hubs_own_library_finds_what_we_fetched_and_we_what_it_did(
    repo: Any, python: Python, cache_root: Path
) -> None:
    from huggingface_hub import hf_hub_download, scan_cache_dir

    pulled = carry_out(plan(f"{REPO}:Q8_0"))
    for name in SPLIT:
        hf_hub_download(REPO, name, cache_dir=cache_root, local_files_only=True)
    out, _ = python(THEIRS, REPO, Q4, HF_HUB_OFFLINE="0").communicate(timeout=60)
    repo.clear()
    assert HubCache().find(reference()) == Path(out.strip())
    assert carry_out(plan()).cached
    assert bodies(repo) == []
    scanned: Any = scan_cache_dir(cache_root)
    assert scanned.warnings == []
    assert {len(found.revisions) for found in scanned.repos} == {1}
    assert pulled.path.exists()


def test_a_model_on_disk_costs_no_request_and_no_import(repo: Any, python: Python) -> None:
    pulled = carry_out(plan())
    repo.clear()
    code = (
        "import sys; from nextok.backends.locate import locate;"
        f"print(locate({REPO!r}, {{}})); print(locate('alias', {{'alias': '{REPO}:q4_k_m'}}));"
        "print([name for name in sys.modules if 'huggingface' in name or 'http' in name])"
    )
    out, err = python(code, HF_HUB_OFFLINE="0").communicate(timeout=60)
    assert (out.splitlines(), err) == ([str(pulled.path)] * 2 + ["[]"], "")
    assert repo.log == []


def test_an_ambiguous_or_unknown_quant_lists_the_models(repo: Any) -> None:
    with pytest.raises(UnknownQuant) as unknown:
        plan(f"{REPO}:Q9_K")
    assert {model.quant for model in unknown.value.candidates} == {"Q4_K_M", "Q8_0"}
    repo.add_repo("owner/two", {"a-Q4_K_M.gguf": DATA, "b-Q4_K_M.gguf": DATA})
    with pytest.raises(Ambiguous):
        plan("owner/two")


def test_too_little_space_is_said_before_the_first_byte(repo: Any, cache_root: Path) -> None:
    planned = plan(free=lambda path: 1000)
    with pytest.raises(DiskFull, match=r"1,004,004 bytes to fetch, and 1,000 free"):
        carry_out(planned)
    assert bodies(repo) == []
    assert not cache_root.exists()


def test_what_is_there_in_part_counts_as_there(repo: Any) -> None:
    repo.fault("GET /cdn/", cut_after=600_000)
    repo.fault("GET /cdn/", status=503, times=-1)
    with pytest.raises(ServerFailed):
        carry_out(plan())
    repo.clear()
    planned = plan(free=lambda path: 500_000)
    assert planned.fetch_bytes == len(DATA) - 600_000
    carry_out(planned)
    assert bodies(repo) == [("bytes=600000-", len(DATA) - 600_000)]


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder on a disk of 600 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)]
    if (
        sys.platform != "linux"
        or os.geteuid()
        or subprocess.run(mount, capture_output=True).returncode
    ):
        pytest.skip("a small disk takes root to make")
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_is_called_full_and_keeps_what_came(
    repo: Any, small_disk: Path
) -> None:
    with pytest.raises(DiskFull, match="to fetch"):
        carry_out(plan())
    assert bodies(repo) == []
    with pytest.raises(DiskFull, match=r"disk is full.*kept"):
        carry_out(plan(free=lambda path: None))
    (partial,) = small_disk.rglob("*.incomplete")
    assert DATA.startswith(partial.read_bytes()) and partial.stat().st_size > 400_000
    assert HubCache().find(reference()) is None


def test_wrong_bytes_get_no_name(repo: Any, cache_root: Path) -> None:
    repo.fault("GET /cdn/", corrupt=True)
    with pytest.raises(WrongBytes):
        carry_out(plan())
    assert not [path for path in cache_root.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert not list((cache_root / "models--owner--m-GGUF").glob("refs/*"))


def test_a_gated_model_is_refused_when_planning(hub: Any, cache_root: Path) -> None:
    hub.add_repo(REPO, {Q4: DATA}, gated="auto")
    with pytest.raises(RepoGated):
        plan()
    assert not cache_root.exists()


def test_offline_it_is_not_planned(repo: Any) -> None:
    with pytest.raises(Offline):
        plan_pull(
            reference(),
            hub=Hub(offline=True),
            cache=HubCache(),
            questions=Questions(abort=Abort()),
            memory_bytes=None,
        )
    assert repo.log == []


def test_a_listing_that_fails_is_asked_for_again_and_given_up(repo: Any) -> None:
    repo.fault("GET /api", status=503)
    assert plan().fetch_bytes == len(DATA)
    repo.fault("GET /api", status=500, times=-1)
    with pytest.raises(ServerFailed, match="tried 3 times"):
        plan()


@pytest.mark.parametrize("status", [429, 503])
def test_a_hub_that_asks_to_wait_is_waited_for_and_that_is_told(repo: Any, status: int) -> None:
    told: list[tuple[str, float]] = []
    questions = Questions(abort=Abort(), waiting=lambda trouble, left: told.append((trouble, left)))
    repo.fault("GET /api", status=status, headers={"Retry-After": "1"})
    assert plan(questions=questions).fetch_bytes == len(DATA)
    assert len(repo.hits("GET /api")) == 2
    trouble, left = told[0]
    assert repo.url in trouble and 0 < left <= 1


def test_a_wait_as_long_as_a_downloads_can_be_given_up_at_any_time(repo: Any) -> None:
    abort = Abort()

    def stop(trouble: str, left: float) -> None:
        assert "no more requests for 60 s" in trouble and 59 < left <= 60
        abort.trip(FinishReason.INTERRUPTED)

    repo.fault("GET /api", status=429, headers={"Retry-After": "60"})
    with pytest.raises(Aborted):
        plan(questions=Questions(abort=abort, waiting=stop))


def test_a_wait_longer_than_that_is_for_the_user_to_decide(repo: Any) -> None:
    repo.fault("GET /api", status=429, headers={"Retry-After": "3600"})
    with pytest.raises(RateLimited, match="no more requests for 3600 s: try again then"):
        plan(questions=Questions(abort=Abort()))
    assert len(repo.log) == 1


def test_what_another_tool_fetched_without_links_gets_its_sum_by_a_pull(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    path = carry_out(plan()).path
    place = kept_place(path)
    assert place is not None and kept(path) == contents(path)
    place.unlink()
    assert kept(path) is None
    assert carry_out(plan()).cached
    assert kept(path) == contents(path)


def test_a_damaged_part_is_fetched_again_and_the_others_are_not(repo: Any) -> None:
    pulled = carry_out(plan(f"{REPO}:Q8_0"))
    first, second = sorted(pulled.path.parent.iterdir())
    second.resolve().write_bytes(bytes(len(DATA) + 2))
    repo.clear()
    trusting = plan(f"{REPO}:Q8_0")
    assert (trusting.fetch_bytes, list(trusting.damaged)) == (0, [])
    planned = plan(f"{REPO}:Q8_0", intact=lambda path, file: is_whole(path, file, lambda _: None))
    assert (list(planned.damaged), planned.path) == ([SPLIT[1]], None)
    assert planned.fetch_bytes == len(DATA) + 2
    repaired = carry_out(planned)
    assert (repaired.path, repaired.fetched_bytes) == (first, len(DATA) + 2)
    assert [sent for _, sent in bodies(repo)] == [len(DATA) + 2]
    assert second.read_bytes() == DATA + b"22"
    assert carry_out(planned).fetched_bytes == 0  # as if another process had been first


def test_a_mirror_that_lists_no_hashes_will_do(repo: Any) -> None:
    repo.lists_hashes = False
    assert carry_out(plan()).path.read_bytes() == DATA


def test_a_small_model_that_git_keeps_itself(hub: Any) -> None:
    hub.add_repo(REPO, {Q4: b"GGUF small"})
    pulled = carry_out(plan())
    assert pulled.path.read_bytes() == b"GGUF small"
    hub.clear()
    assert carry_out(plan()).cached


def test_an_interrupted_update_leaves_the_old_model(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = carry_out(plan())
    repo.add_repo(REPO, {Q4: DATA + b"new"})
    repo.fault("GET /cdn/", stall=20.0, stall_after=500_000)
    abort = Abort()

    def stop(progress: Progress) -> None:
        if progress.done >= 500_000:
            abort.trip(FinishReason.INTERRUPTED)

    with pytest.raises(Aborted):
        carry_out(plan(), abort, stop)
    assert HubCache().find(reference()) == old.path
    assert old.path.read_bytes() == DATA
    from huggingface_hub import hf_hub_download

    found = hf_hub_download(REPO, Q4, cache_dir=HubCache().root, local_files_only=True)
    assert Path(found) == old.path
    repo.clear()
    new = carry_out(plan())
    assert new.path != old.path and HubCache().find(reference()) == new.path
    assert bodies(repo)[0][0] == "bytes=500000-"
    assert [model.commit for model in HubCache().detached()] == [old.commit]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_readme_costs_no_download(
    repo: Any, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    for text in (REPO, f"{REPO}:Q8_0"):
        carry_out(plan(text))
    files = {Q4: DATA, SPLIT[0]: DATA + b"1", SPLIT[1]: DATA + b"33", "README.md": b"new"}
    commit = repo.add_repo(REPO, files)
    repo.clear()
    planned = plan()
    assert planned.fetch_bytes == 0
    new = carry_out(planned)
    assert bodies(repo) == []
    assert new.cached and new.commit == commit and commit in str(new.path)
    assert new.path.is_symlink() is links
    half = carry_out(plan(f"{REPO}:Q8_0"))
    assert [sent for _, sent in bodies(repo)] == [len(DATA) + 2]
    assert [contents(part) for part in sorted(half.path.parent.iterdir())] == [
        hashlib.sha256(files[name]).hexdigest() for name in SPLIT
    ]
    used = {path.stat().st_ino: path.stat().st_size for path in HubCache().root.rglob("*.gguf")}
    assert sum(used.values()) == len(DATA) * 4 + 1 + 2 + 2


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_killed_process_loses_nothing(repo: Any, python: Python, cache_root: Path) -> None:
    repo.fault("GET /cdn/", stall=60.0, stall_after=700_000)
    process = python(PULL, REPO, HF_HUB_OFFLINE="0")

    def grown() -> bool:
        return any(path.stat().st_size == 700_000 for path in cache_root.rglob("*.incomplete"))

    wait_for(grown)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert HubCache().find(reference()) is None
    repo.clear()
    out, _ = python(PULL, REPO, HF_HUB_OFFLINE="0").communicate(timeout=60)
    assert Path(out.strip()).read_bytes() == DATA
    assert bodies(repo) == [("bytes=700000-", len(DATA) - 700_000)]
    assert not list(cache_root.rglob("*.incomplete"))


def test_three_processes_and_one_body(repo: Any, python: Python) -> None:
    second_waits = threading.Event()
    repo.fault("GET /cdn/", until=second_waits, stall_after=500_000)
    patient = {"HF_HUB_OFFLINE": "0", "HF_HUB_DOWNLOAD_TIMEOUT": "60"}
    first = python(PULL, REPO, **patient)
    wait_for(lambda: bool(repo.hits("GET /cdn/")))
    second = python(PULL, REPO, **patient)
    third = python(THEIRS, REPO, Q4, **patient)
    assert second.stderr is not None
    said = second.stderr.readline()
    while "waiting" not in said:
        said = second.stderr.readline()
    assert "another process" in said
    second_waits.set()
    paths = set()
    for process in (first, second, third):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        paths.add(out.strip())
    assert len(paths) == 1 and Path(paths.pop()).read_bytes() == DATA
    assert bodies(repo) == [(None, len(DATA))]


def test_a_lock_file_left_behind_does_not_block(repo: Any) -> None:
    cache = HubCache()
    etag = hashlib.sha256(DATA).hexdigest()
    cache.prepare(REPO, etag)
    cache.lock(REPO, etag).write_text("99999\n")
    assert carry_out(plan()).path.read_bytes() == DATA


def test_waiting_for_another_process_can_be_given_up(repo: Any) -> None:
    from filelock import FileLock

    cache, etag, abort = HubCache(), hashlib.sha256(DATA).hexdigest(), Abort()
    cache.prepare(REPO, etag)

    def stop(progress: Progress) -> None:
        assert progress.stage is Stage.WAITING and "waiting" in (progress.notice or "")
        abort.trip(FinishReason.INTERRUPTED)

    with FileLock(cache.lock(REPO, etag)), pytest.raises(Aborted):
        carry_out(plan(), abort, stop)
    assert bodies(repo) == []


def test_an_abort_while_the_hub_is_asked(repo: Any) -> None:
    repo.fault("GET /api", stall=20.0)
    abort = Abort()
    abort.trip(FinishReason.INTERRUPTED)
    with pytest.raises(Aborted):
        plan(questions=Questions(abort=abort))


def test_a_cache_that_cannot_be_written_is_said_and_one_that_has_the_model_will_do(
    repo: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pulled = carry_out(plan())

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("mkdir", "replace", "symlink", "open"):
        if name != "open":
            monkeypatch.setattr(os, name, refuse)
    assert carry_out(plan()).path == pulled.path
    with pytest.raises(HubError, match="HF_HUB_CACHE"):
        carry_out(plan(f"{REPO}:Q8_0"))


def test_names_in_any_script_and_with_spaces(hub: Any) -> None:
    name = "모델 dir/ü m-Q4_K_M.gguf"
    hub.add_repo(REPO, {name: DATA})
    pulled = carry_out(plan(f"{REPO}/{name}"))
    assert pulled.path.read_bytes() == DATA
    assert HubCache().find(reference(f"{REPO}:Q4_K_M")) == pulled.path


def test_hostile_file_names_leave_nothing_outside(hub: Any, cache_root: Path) -> None:
    hub.add_repo(REPO, {"../../../evil-Q4_K_M.gguf": DATA, "..\\evil-Q8_0.gguf": DATA, Q4: DATA})
    carry_out(plan())
    home = cache_root.parents[2]
    assert not list(home.rglob("*evil*"))


def test_pull_is_both_in_one(repo: Any) -> None:
    told: list[Progress] = []
    pulled = pull(
        reference(), hub=Hub(), cache=HubCache(), abort=Abort(), progress=told.append,
        memory_bytes=None,
    )  # fmt: skip
    assert pulled.path.read_bytes() == DATA
    assert told[-1].stage is Stage.DONE
