"""One file, through all that can go wrong on the way."""

from __future__ import annotations

import errno
import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nextok.backends import partial_file
from nextok.backends.download import Progress, Stage, download
from nextok.backends.hub import Hub
from nextok.backends.hub_errors import (
    AddressExpired,
    CacheNotWritable,
    DiskFull,
    NoNetwork,
    RateLimited,
    ServerFailed,
    WrongBytes,
)
from nextok.backends.hub_files import HubFile
from nextok.backends.patience import Patience
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import HubError
from nextok.generation.finish import FinishReason

REPO, PATH = "owner/m-GGUF", "m-Q4_K_M.gguf"
DATA = b"GGUF" + bytes(range(251)) * 4000
"""1,004,004 bytes without a period of any power of two."""
FILE = HubFile(path=PATH, size=len(DATA), sha256=hashlib.sha256(DATA).hexdigest())
QUICK = Patience(tries=4, first_wait=0.01, longest_wait=0.02)

Fetch = Callable[..., list[Progress]]


@pytest.fixture
def commit(hub: Any) -> str:
    made: str = hub.add_repo(REPO, {PATH: DATA})
    return made


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    return tmp_path / "blobs" / "etag.nextok.incomplete"


@pytest.fixture
def fetch(commit: str, partial: Path) -> Fetch:
    """`fetch(...)`: the file, from whatever there is; returns what was told on the way."""

    def run(
        *,
        file: HubFile = FILE,
        at: str = commit,
        abort: Abort | None = None,
        patience: Patience = QUICK,
        listener: Callable[[Progress], None] = lambda _: None,
        **more: Any,
    ) -> list[Progress]:
        told: list[Progress] = []

        def tell(progress: Progress) -> None:
            told.append(progress)
            listener(progress)

        download(
            file, partial, hub=Hub(), repo=REPO, commit=at, abort=abort or Abort(),
            progress=tell, patience=patience, **more,
        )  # fmt: skip
        return told

    return run


def ranges(hub: Any) -> list[str | None]:
    return [hit.range for hit in hub.hits("GET /cdn/")]


def test_the_whole_file_in_one_request_with_its_progress(
    hub: Any, fetch: Fetch, partial: Path
) -> None:
    hub.fault("/cdn/", rate=3_000_000)
    told = fetch(part=2, parts=3)
    assert partial.read_bytes() == DATA
    assert ranges(hub) == [None]
    assert told[0].stage is Stage.FETCHING and told[0].done == 0
    assert told[-1].stage is Stage.DONE and told[-1].done == told[-1].total == len(DATA)
    assert {(one.part, one.parts, one.file) for one in told} == {(2, 3, PATH)}
    done = [one.done for one in told]
    assert done == sorted(done) and len(set(done)) > 2
    assert any(one.rate and one.seconds_left is not None for one in told)


def test_a_cut_goes_on_where_it_was_with_a_fresh_address(
    hub: Any, fetch: Fetch, partial: Path
) -> None:
    hub.fault("GET /cdn/", cut_after=300_000)
    hub.fault("GET /cdn/", cut_after=200_000)
    told = fetch()
    assert partial.read_bytes() == DATA
    assert ranges(hub) == [None, "bytes=300000-", "bytes=500000-"]
    assert len({hit.path for hit in hub.hits("GET /cdn/")}) == 3
    retries = [one for one in told if one.stage is Stage.RETRYING]
    assert all("was cut" in (one.notice or "") for one in retries) and retries
    assert not any("sig=" in (one.notice or "") for one in told)


def test_what_an_earlier_run_left_is_read_again_and_gone_on_with(
    hub: Any, fetch: Fetch, partial: Path
) -> None:
    partial.parent.mkdir()
    partial.write_bytes(DATA[:400_000])
    told = fetch()
    assert partial.read_bytes() == DATA
    assert ranges(hub) == ["bytes=400000-"]
    assert told[-1].resumed == 400_000
    assert told[0].stage is Stage.CHECKING


def test_all_of_it_left_by_an_earlier_run_costs_no_request(
    hub: Any, fetch: Fetch, partial: Path
) -> None:
    partial.parent.mkdir()
    partial.write_bytes(DATA)
    fetch()
    assert hub.log == []


@pytest.mark.parametrize(
    "left", [DATA + b"x", b"<html>" * 100, b"GGML" + DATA[4:100], b"\0" * 4000]
)
def test_what_can_be_no_beginning_of_it_is_dropped(
    hub: Any, fetch: Fetch, partial: Path, left: bytes
) -> None:
    partial.parent.mkdir()
    partial.write_bytes(left)
    fetch()
    assert partial.read_bytes() == DATA
    assert ranges(hub) == [None]


def test_a_damaged_beginning_is_found_out_and_fetched_again(
    hub: Any, fetch: Fetch, partial: Path
) -> None:
    partial.parent.mkdir()
    partial.write_bytes(DATA[:1000] + b"!" + DATA[1001:400_000])
    fetch()
    assert partial.read_bytes() == DATA
    assert ranges(hub) == ["bytes=400000-", None]


def test_wrong_bytes_are_refused_and_not_kept(hub: Any, fetch: Fetch, partial: Path) -> None:
    hub.fault("/cdn/", corrupt=True)
    with pytest.raises(WrongBytes, match="sha256"):
        fetch()
    assert not partial.exists()


def test_a_range_that_is_ignored_starts_again(hub: Any, fetch: Fetch, partial: Path) -> None:
    hub.fault("GET /cdn/", cut_after=300_000)
    hub.fault("GET /cdn/", ignore_range=True)
    fetch()
    assert partial.read_bytes() == DATA
    assert ranges(hub) == [None, "bytes=300000-"]


def test_a_server_that_ignores_ranges_and_cuts_is_given_up(hub: Any, fetch: Fetch) -> None:
    hub.fault("GET /cdn/", ignore_range=True, cut_after=300_000, times=-1)
    with pytest.raises(NoNetwork, match="tried 4 times"):
        fetch()


def test_another_piece_than_asked_for_is_refused(hub: Any, fetch: Fetch, partial: Path) -> None:
    hub.fault("GET /cdn/", cut_after=300_000)
    hub.fault("GET /cdn/", shift_range=5)
    with pytest.raises(WrongBytes, match="another piece"):
        fetch()
    assert partial.read_bytes() == DATA[:300_000]


def test_another_size_than_listed_is_refused(hub: Any, fetch: Fetch, partial: Path) -> None:
    hub.fault("/cdn/", short_total=1)
    with pytest.raises(WrongBytes, match="1,004,003 bytes"):
        fetch()
    assert not partial.exists()


@pytest.mark.parametrize("size", [40, len(DATA)])
def test_a_web_page_stops_it_at_once(hub: Any, fetch: Fetch, partial: Path, size: int) -> None:
    hub.fault("/cdn/", status=200, body=b"<!DOCTYPE html><title>Log in</title>".ljust(size))
    with pytest.raises(WrongBytes, match="web page.*log in"):
        fetch()
    assert not partial.exists()


def test_a_stall_is_noticed_told_and_overcome(
    hub: Any, fetch: Fetch, partial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 1)
    hub.fault("GET /cdn/", stall=3.0, stall_after=300_000)
    told = fetch()
    assert partial.read_bytes() == DATA
    assert ranges(hub)[1] == "bytes=300000-"
    assert max(one.idle_seconds for one in told if one.stage is Stage.FETCHING) > 0.5
    assert any("silent" in (one.notice or "") for one in told)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("where", ["HEAD", "GET /cdn/"])
def test_what_may_pass_is_tried_again(
    hub: Any, fetch: Fetch, partial: Path, status: int, where: str
) -> None:
    hub.fault(where, status=status, times=2)
    fetch()
    assert partial.read_bytes() == DATA


def test_progress_starts_the_count_again(hub: Any, fetch: Fetch, partial: Path) -> None:
    for _ in range(9):
        hub.fault("GET /cdn/", cut_after=100_000)
        hub.fault("GET /cdn/", status=503, times=2)
    fetch()
    assert partial.read_bytes() == DATA


def test_what_does_not_pass_is_given_up_with_the_number_of_tries(
    hub: Any, fetch: Fetch, partial: Path
) -> None:
    hub.fault("GET /cdn/", cut_after=300_000)
    hub.fault("GET /cdn/", status=503, times=-1)
    with pytest.raises(ServerFailed, match=r"503, tried \d times") as caught:
        fetch()
    assert "sig=" not in str(caught.value)
    assert partial.read_bytes() == DATA[:300_000]


def test_a_server_is_given_the_time_it_asks_for(hub: Any, fetch: Fetch) -> None:
    hub.fault("GET /cdn/", status=429, headers={"Retry-After": "1"})
    told = fetch()
    waits = [one.retry_seconds for one in told if one.stage is Stage.RETRYING]
    assert max(waits) > 0.9
    hub.fault("HEAD", status=429, headers={"Retry-After": "3000"})
    with pytest.raises(RateLimited, match="3000 s"):
        fetch(file=HubFile(path=PATH, size=len(DATA) + 1, sha256="0" * 64))


def test_an_expired_address_is_asked_for_again(hub: Any, fetch: Fetch, partial: Path) -> None:
    hub.fault("GET /cdn/", status=403, times=2)
    fetch()
    assert partial.read_bytes() == DATA
    assert len(hub.hits("HEAD /owner")) == 3
    partial.unlink()
    hub.fault("GET /cdn/", status=403, times=-1)
    with pytest.raises(AddressExpired, match="clock"):
        fetch()


def test_a_large_file_comes_in_pieces(hub: Any, fetch: Fetch, partial: Path) -> None:
    fetch(piece_bytes=400_000)
    assert partial.read_bytes() == DATA
    assert ranges(hub) == ["bytes=0-399999", "bytes=400000-799999", "bytes=800000-"]


def test_a_file_that_changed_at_the_hub_is_refused(hub: Any, fetch: Fetch, partial: Path) -> None:
    with pytest.raises(WrongBytes, match="changed"):
        fetch(file=HubFile(path=PATH, size=len(DATA), sha256="0" * 64))
    assert not partial.exists()


def test_a_small_file_is_held_to_gits_hash(
    hub: Any, fakehub: Any, fetch: Fetch, partial: Path
) -> None:
    data = b"GGUF small"
    commit = hub.add_repo(REPO, {PATH: data})
    file = HubFile(path=PATH, size=len(data), sha256=None, git_sha1=fakehub.git_sha1(data))
    hub.fault("GET /owner", corrupt=True)
    with pytest.raises(WrongBytes):
        fetch(file=file, at=commit)
    fetch(file=file, at=commit)
    assert partial.read_bytes() == data


@pytest.mark.parametrize("fault", ["before", "midway", "head"])
def test_an_abort_is_heeded_whatever_the_network_does(
    hub: Any, fetch: Fetch, partial: Path, fault: str
) -> None:
    if fault == "midway":
        hub.fault("GET /cdn/", stall=20.0, stall_after=300_000)
    else:
        hub.fault("HEAD" if fault == "head" else "GET /cdn/", stall=20.0)
    abort = Abort()

    def trip() -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not hub.hits("HEAD"):
            time.sleep(0.01)
        time.sleep(0.3)
        abort.trip(FinishReason.INTERRUPTED)

    threading.Thread(target=trip, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(Aborted):
        fetch(abort=abort)
    assert time.monotonic() - began < 15  # the server is silent for 20
    assert partial.exists() is (fault == "midway")
    if fault == "midway":
        assert DATA.startswith(partial.read_bytes())
        hub.clear()
        size = partial.stat().st_size
        fetch()
        assert ranges(hub) == [f"bytes={size}-"]


def test_an_abort_ends_a_wait(hub: Any, fetch: Fetch) -> None:
    hub.fault("GET /cdn/", status=503, headers={"Retry-After": "50"})
    abort = Abort()

    def trip(progress: Progress) -> None:
        if progress.stage is Stage.RETRYING:
            abort.trip(FinishReason.INTERRUPTED)

    with pytest.raises(Aborted):
        fetch(abort=abort, listener=trip)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_called_so_and_what_came_is_kept(
    hub: Any, fetch: Fetch, partial: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class Small(partial_file.FileIO):
        """Takes 300,000 bytes."""

        def write(self, data: Any) -> int:
            left = 300_000 - self.tell()
            if left <= 0:
                raise OSError(number, "No space left on device")
            return super().write(memoryview(data)[:left])

    monkeypatch.setattr(partial_file, "FileIO", Small)
    with pytest.raises(DiskFull, match=r"disk is full.*kept"):
        fetch()
    assert partial.read_bytes() == DATA[:300_000]
    monkeypatch.undo()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    fetch()
    assert ranges(hub)[-1] == "bytes=300000-"


def test_a_folder_that_cannot_be_made_is_said(hub: Any, fetch: Fetch, partial: Path) -> None:
    partial.parent.write_text("a file in the way")
    with pytest.raises(CacheNotWritable, match="HF_HUB_CACHE"):
        fetch()


def test_every_error_is_one_line(hub: Any, fetch: Fetch) -> None:
    for status in (400, 401, 403, 404, 410, 418, 451, 500):
        hub.fault("GET /cdn/", status=status, times=QUICK.tries)
        with pytest.raises(HubError, match=r"^[^\n]+$"):
            fetch()
        hub.clear()
