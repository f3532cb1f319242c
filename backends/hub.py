"""The hub, asked through huggingface_hub: the only module that imports it.

Promises one request a question, errors in our words, the token to the hub's own origin alone, and
no request when offline. Knows nothing of disks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from nextok.backends.hub_files import Found, Listing, RemoteFile
from nextok.backends.hub_reference import HubReference


class Hub:
    """Constructing one asks nothing and imports nothing.

    The endpoint, the token and the proxies come from the environment, as huggingface_hub reads it.
    All methods raise HubError (see hub_errors).
    """

    def __init__(self, *, offline: bool = False) -> None:
        """offline: no request at all; HF_HUB_OFFLINE in the environment means it too."""
        self.offline = offline

    def list_files(self, reference: HubReference) -> Listing:
        """The files of the repository at the reference's revision, sizes and hashes included."""
        raise NotImplementedError

    def locate_file(self, repo: str, commit: str, path: str) -> RemoteFile:
        """Where the bytes are now: ask again for every attempt."""
        raise NotImplementedError

    def search(self, words: Sequence[str], limit: int = 20) -> list[Found]:
        """Repositories with GGUF files whose name holds the words, most downloaded first."""
        raise NotImplementedError

    def open(
        self, remote: RemoteFile, start: int, end: int | None
    ) -> AbstractContextManager[Iterator[bytes]]:
        """The bytes from `start` up to `end` (exclusive; None: to the end)."""
        raise NotImplementedError
