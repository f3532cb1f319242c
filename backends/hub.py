"""The questions that the hub is asked, and its bytes.

Promises one request a question, errors in our words, the token to the hub's own origin alone, and
no request when offline. Knows nothing of disks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import quote

from nextok.backends.hub_answers import (
    file_facts,
    found,
    listing,
    no_hub,
    piece,
    target,
    tells_of_file,
)
from nextok.backends.hub_connection import host_of, offline_by_environment, origin_of
from nextok.backends.hub_errors import NoHub, Offline
from nextok.backends.hub_files import Body, Found, Listing, RemoteFile
from nextok.backends.hub_reference import HubReference, endpoint_in_force
from nextok.backends.hub_refusals import Subject, refusal, storage_refusal
from nextok.backends.hub_session import (
    api,
    chunks,
    library_errors,
    request_headers,
    session,
    silence_seconds,
)
from nextok.backends.shown_text import shown

QUESTION_SECONDS = 10.0
"""For each of: to connect, and to hear the next byte."""
_MOST_REDIRECTS = 5


class Hub:
    """Constructing one asks nothing and imports nothing.

    The endpoint, the token and the proxies come from the environment, as huggingface_hub reads it.
    All methods raise HubError (see hub_errors).
    """

    def __init__(self, *, offline: bool = False) -> None:
        """offline: no request at all; HF_HUB_OFFLINE in the environment means it too."""
        self.offline = offline or offline_by_environment()
        self.endpoint = endpoint_in_force()

    def list_files(self, reference: HubReference) -> Listing:
        """The files of the repository at the reference's revision, sizes and hashes included."""
        self._online(f"to list the files of {reference.repo}")
        revision = reference.revision or "main"
        subject = self._subject(repo=reference.repo, revision=revision)
        with library_errors(subject, self.endpoint):
            info = api(self.endpoint).model_info(
                reference.repo, revision=revision, files_metadata=True, timeout=QUESTION_SECONDS
            )
            return listing(info, reference.repo, revision, self.endpoint)

    def locate_file(self, repo: str, commit: str, path: str) -> RemoteFile:
        """Where the bytes are now: ask again for every attempt."""
        self._online(f"to fetch {path}")
        subject = self._subject(repo=repo, revision=commit, path=path)
        url = f"{self.endpoint}/{repo}/resolve/{commit}/{quote(path)}"
        with library_errors(subject, self.endpoint):
            url, status, headers = self._head(url)
        if status >= 400:
            raise refusal(status, headers, subject)
        address = target(url, headers)
        etag, size = file_facts(
            headers, commit=commit, moved=address != url, endpoint=self.endpoint
        )
        return RemoteFile(
            url=address,
            headers=request_headers(address, self.endpoint),
            etag=etag,
            size=size,
            commit=commit,
        )

    def search(self, words: Sequence[str], limit: int = 20) -> list[Found]:
        """Repositories with GGUF files whose name holds the words, most downloaded first.

        Entries whose names are none are dropped, but an answer of nothing else is an error.
        """
        self._online("to search")
        with library_errors(self._subject(), self.endpoint):
            models = api(self.endpoint).list_models(
                search=" ".join(words),
                filter="gguf",
                sort="downloads",
                limit=limit,
                expand=["downloads", "likes", "gated", "lastModified", "gguf"],
            )
            rows = [found(model) for model in models]
        usable = [row for row in rows if row is not None]
        if rows and not usable:
            raise NoHub(
                f"nothing usable found: {self.endpoint} answered {len(rows)} entries, and none has"
                " the name of a repository: check HF_ENDPOINT"
            )
        return usable

    @contextmanager
    def open(self, remote: RemoteFile, start: int, end: int | None) -> Iterator[Body]:
        """The bytes from `start` up to `end` (exclusive; None: to the end)."""
        self._online("to fetch a file")
        headers = {**remote.headers, "accept-encoding": "identity"}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        subject, client = self._subject(), session()
        with library_errors(subject, remote.url):
            request = client.build_request(
                "GET", remote.url, headers=headers, timeout=silence_seconds()
            )
            response = client.send(request, stream=True, follow_redirects=True)
        try:
            status, host = response.status_code, host_of(remote.url)
            if status >= 400 and origin_of(remote.url) == origin_of(self.endpoint):
                raise refusal(status, response.headers, subject)
            if status >= 400:
                raise storage_refusal(status, response.headers, host)
            at, total = piece(status, response.headers, host, start=start)
            yield Body(start=at, total=total, chunks=chunks(response, subject, remote.url))
        finally:
            response.close()

    def _head(self, url: str) -> tuple[str, int, Mapping[str, str]]:
        """Followed until an answer tells of the file: what that points at are its bytes."""
        for _ in range(_MOST_REDIRECTS):
            headers = {**request_headers(url, self.endpoint), "accept-encoding": "identity"}
            response = session().head(
                url, headers=headers, timeout=QUESTION_SECONDS, follow_redirects=False
            )
            next_url = target(url, response.headers)
            elsewhere = origin_of(next_url) != origin_of(url)
            if next_url == url or (elsewhere and tells_of_file(response.headers)):
                return url, response.status_code, response.headers
            url = next_url
        raise no_hub(self.endpoint)

    def _subject(self, *, repo: str = "", revision: str = "main", path: str = "") -> Subject:
        sent = "authorization" in request_headers(self.endpoint, self.endpoint)
        return Subject(
            endpoint=self.endpoint, repo=repo, revision=revision, path=path, sent_token=sent
        )

    def _online(self, purpose: str) -> None:
        """Before the library is imported. Raises Offline."""
        if self.offline:
            raise Offline(
                f"offline, and the hub is needed {purpose}: leave out --offline"
                " (unset HF_HUB_OFFLINE), or name a model that is on disk"
            )
        if not self.endpoint.startswith(("https://", "http://")):
            raise NoHub(f"HF_ENDPOINT is {shown(self.endpoint)!r}: it must begin with https://")
