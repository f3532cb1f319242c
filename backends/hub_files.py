"""What the hub says about its repositories and files, as plain values.

Knows no network and no disk; what is in here came from outside and is checked by who uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class HubFile:
    """One file of a repository. `path` has slashes; `size` is in bytes."""

    path: str
    size: int
    sha256: str | None
    """Of the contents; None for the small files the hub keeps in git itself."""
    git_sha1: str | None = None
    """Of those, git's hash."""

    @property
    def etag(self) -> str | None:
        """The hash that the hub calls the contents by; None when it did not say."""
        return self.sha256 or self.git_sha1


@dataclass(frozen=True, kw_only=True)
class Listing:
    """All files of a repository at one commit."""

    repo: str
    revision: str
    """As asked for: a branch, a tag or a commit."""
    commit: str
    """40 hexadecimal digits."""
    gated: bool
    """Its files are for those only to whom the owner gave access."""
    files: tuple[HubFile, ...]


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """Where the bytes of one file can be had now. The address is a secret, and it expires."""

    url: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    """What to send along: the token to the hub's own origin alone."""
    etag: str
    """The sha256 of a large file, the git hash of a small one, in hexadecimal digits."""
    size: int | None
    commit: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """One repository that a search found."""

    repo: str
    downloads: int
    """In the last 30 days, as the hub counts."""
    likes: int
    gated: bool
    updated: datetime | None
    architecture: str | None
    parameters: int | None
    context_tokens: int | None


@dataclass(frozen=True, kw_only=True)
class Body:
    """Bytes that come. They may begin before the asked offset: at 0, if the server ignored it."""

    start: int
    total: int | None
    """Size of the whole file, as far as the server says."""
    chunks: Iterator[bytes] = field(repr=False)
