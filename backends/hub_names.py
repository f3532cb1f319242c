"""Which names from outside may become parts of addresses and of paths on disk.

The hub's own rules, checked here because a hub can be a mirror that somebody else runs. Every
function says yes or no and raises nothing.
"""

from __future__ import annotations

import re

_REPO_PART = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[\w.+#@%=,-]+(?:/[\w.+#@%=,-]+)*")
_MOST_REPO_LETTERS = 96
_MOST_NAME_BYTES = 255
"""Of one file name, on every file system in use."""


def is_repo(name: str) -> bool:
    """OWNER/NAME by the hub's rules."""
    owner, slash, rest = name.partition("/")
    return (
        bool(slash)
        and len(name) <= _MOST_REPO_LETTERS
        and all(_REPO_PART.fullmatch(part) for part in (owner, rest))
        and not any(pair in name for pair in ("--", ".."))
        and not name.endswith(".git")
    )


def is_commit(text: str) -> bool:
    """A full git hash."""
    return _COMMIT.fullmatch(text) is not None


def is_sha256(text: str) -> bool:
    return _SHA256.fullmatch(text) is not None


def is_etag(text: str) -> bool:
    """A content hash as the hub gives them: git's for small files, sha256 for large ones."""
    return is_commit(text) or is_sha256(text)


def is_revision(text: str) -> bool:
    """A branch, tag or commit that can be a path below refs/."""
    return _REVISION.fullmatch(text) is not None and is_file_path(text)


def is_file_path(path: str) -> bool:
    """A relative path that stays below the folder it is put into."""
    parts = path.split("/")
    return not any(
        part in ("", ".", "..")
        or "\\" in part
        or any(ord(letter) < 32 or ord(letter) == 127 for letter in part)
        or len(part.encode("utf-8", "replace")) > _MOST_NAME_BYTES
        for part in parts
    )
