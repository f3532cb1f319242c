"""What the hub answered, checked and turned into our values.

Knows the forms of the answers and no library: they are given as plain objects and headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol
from urllib.parse import urljoin

from nextok.backends.hub_errors import NoHub, WrongBytes
from nextok.backends.hub_files import Found, HubFile, Listing
from nextok.backends.hub_names import is_commit, is_etag, is_file_path, is_repo, is_sha256

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Sibling(Protocol):
    """One file in the hub's answer."""

    rfilename: str
    size: int | None
    blob_id: str | None

    @property
    def lfs(self) -> Mapping[str, object] | None: ...


class ModelInfo(Protocol):
    """The hub's answer about one repository, as far as it is used here."""

    id: str
    sha: str | None
    downloads: int | None
    likes: int | None
    last_modified: datetime | None
    gguf: dict[str, object] | None

    @property
    def gated(self) -> object: ...

    @property
    def siblings(self) -> list[Sibling] | None: ...


def listing(info: ModelInfo, repo: str, revision: str, endpoint: str) -> Listing:
    """The files whose names can be kept on disk. Raises NoHub."""
    if not is_commit(info.sha or ""):
        raise no_hub(endpoint)
    files = (_file(sibling) for sibling in info.siblings or ())
    return Listing(
        repo=repo,
        revision=revision,
        commit=info.sha or "",
        gated=bool(info.gated),
        files=tuple(file for file in files if is_file_path(file.path)),
    )


def found(info: ModelInfo) -> Found | None:
    """One row of a search; None when its name is none."""
    if not is_repo(info.id):
        return None
    facts = info.gguf or {}
    architecture = facts.get("architecture")
    return Found(
        repo=info.id,
        downloads=info.downloads or 0,
        likes=info.likes or 0,
        gated=bool(info.gated),
        updated=info.last_modified,
        architecture=architecture if isinstance(architecture, str) else None,
        parameters=_whole(facts.get("total")),
        context_tokens=_whole(facts.get("context_length")),
    )


def file_facts(
    headers: Mapping[str, str], *, commit: str, moved: bool, endpoint: str
) -> tuple[str, int | None]:
    """ETag and size from the answer to HEAD. moved: it points at another server. Raises NoHub."""
    etag = headers.get("x-linked-etag") or headers.get("etag") or ""
    etag = etag.removeprefix("W/").strip('"')
    if headers.get("x-repo-commit") != commit or not is_etag(etag):
        raise no_hub(endpoint)
    size = headers.get("x-linked-size") or (None if moved else headers.get("content-length"))
    return etag, _whole(size)


def tells_of_file(headers: Mapping[str, str]) -> bool:
    """Whether an answer is about a file, and not merely points at where to ask."""
    return "x-repo-commit" in headers and ("x-linked-etag" in headers or "etag" in headers)


def piece(
    status: int, headers: Mapping[str, str], host: str, *, start: int
) -> tuple[int, int | None]:
    """Where the bytes that come begin, and the size of the whole file. Raises WrongBytes.

    A server that ignores the range begins at 0.
    """
    if status != 206:
        return 0, _whole(headers.get("content-length"))
    match = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
    if match is None or int(match[1]) != start:
        raise WrongBytes(f"{host} sent another piece of the file than was asked for: try again")
    return start, _whole(match[2])


def target(url: str, headers: Mapping[str, str]) -> str:
    """Where an answer points; to itself without a Location."""
    return urljoin(url, headers.get("location") or url)


def no_hub(endpoint: str) -> NoHub:
    return NoHub(
        f"{endpoint} does not answer as a hub does: check HF_ENDPOINT,"
        " or log in to the network (hotels' and airports' answer with a page of their own)"
    )


def _file(sibling: Sibling) -> HubFile:
    sha256 = (sibling.lfs or {}).get("sha256")
    return HubFile(
        path=sibling.rfilename,
        size=sibling.size or 0,
        sha256=sha256 if isinstance(sha256, str) and is_sha256(sha256) else None,
        git_sha1=sibling.blob_id
        if sibling.lfs is None and is_commit(sibling.blob_id or "")
        else None,
    )


def _whole(value: object) -> int | None:
    """A number of at least 0, as JSON or a header writes it."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return value if isinstance(value, int) and value >= 0 else None
