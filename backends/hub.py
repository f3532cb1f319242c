"""The hub, asked through huggingface_hub: the only module that imports it.

Promises one request a question, errors in our words, the token to the hub's own origin alone, and
no request when offline. Knows nothing of disks.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from nextok.backends.hub_answers import file_facts, found, listing, no_hub, piece, target
from nextok.backends.hub_connection import (
    connection_fault,
    host_of,
    offline_by_environment,
    origin_of,
)
from nextok.backends.hub_errors import Offline
from nextok.backends.hub_files import Body, Found, Listing, RemoteFile
from nextok.backends.hub_reference import HubReference, endpoint_in_force
from nextok.backends.hub_refusals import Subject, refusal, storage_refusal

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
        with _errors(subject, self.endpoint):
            info = _api(self.endpoint).model_info(
                reference.repo, revision=revision, files_metadata=True, timeout=QUESTION_SECONDS
            )
            return listing(info, reference.repo, revision, self.endpoint)

    def locate_file(self, repo: str, commit: str, path: str) -> RemoteFile:
        """Where the bytes are now: ask again for every attempt."""
        self._online(f"to fetch {path}")
        subject = self._subject(repo=repo, revision=commit, path=path)
        url = f"{self.endpoint}/{repo}/resolve/{commit}/{quote(path)}"
        with _errors(subject, self.endpoint):
            url, status, headers = self._head(url)
        if status >= 400:
            raise refusal(status, headers, subject)
        address = target(url, headers)
        etag, size = file_facts(
            headers, commit=commit, moved=address != url, endpoint=self.endpoint
        )
        return RemoteFile(
            url=address, headers=self._headers(address), etag=etag, size=size, commit=commit
        )

    def search(self, words: Sequence[str], limit: int = 20) -> list[Found]:
        """Repositories with GGUF files whose name holds the words, most downloaded first."""
        self._online("to search")
        with _errors(self._subject(), self.endpoint):
            models = _api(self.endpoint).list_models(
                search=" ".join(words),
                filter="gguf",
                sort="downloads",
                limit=limit,
                expand=["downloads", "likes", "gated", "lastModified", "gguf"],
            )
            rows = [found(model) for model in models]
        return [row for row in rows if row is not None]

    @contextmanager
    def open(self, remote: RemoteFile, start: int, end: int | None) -> Iterator[Body]:
        """The bytes from `start` up to `end` (exclusive; None: to the end)."""
        self._online("to fetch a file")
        headers = {**remote.headers, "accept-encoding": "identity"}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        subject, session = self._subject(), _session()
        with _errors(subject, remote.url):
            request = session.build_request(
                "GET", remote.url, headers=headers, timeout=_silence_seconds()
            )
            response = session.send(request, stream=True, follow_redirects=True)
        try:
            status, host = response.status_code, host_of(remote.url)
            if status >= 400 and origin_of(remote.url) == origin_of(self.endpoint):
                raise refusal(status, response.headers, subject)
            if status >= 400:
                raise storage_refusal(status, response.headers, host)
            at, total = piece(status, response.headers, host, start=start)
            yield Body(start=at, total=total, chunks=_chunks(response, subject, remote.url))
        finally:
            response.close()

    def _head(self, url: str) -> tuple[str, int, Mapping[str, str]]:
        """Followed within the hub's origin alone: what points elsewhere points at the bytes."""
        for _ in range(_MOST_REDIRECTS):
            headers = {**self._headers(url), "accept-encoding": "identity"}
            response = _session().head(
                url, headers=headers, timeout=QUESTION_SECONDS, follow_redirects=False
            )
            next_url = target(url, response.headers)
            if next_url == url or origin_of(next_url) != origin_of(self.endpoint):
                return url, response.status_code, response.headers
            url = next_url
        raise no_hub(self.endpoint)

    def _headers(self, url: str) -> dict[str, str]:
        """What to send to an address: the token to none but the hub itself."""
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

        own = origin_of(url) == origin_of(self.endpoint)
        headers: dict[str, str] = build_hf_headers(
            token=None if own else False, library_name="nextok", library_version=_version()
        )
        return headers

    def _subject(self, *, repo: str = "", revision: str = "main", path: str = "") -> Subject:
        sent = "authorization" in self._headers(self.endpoint)
        return Subject(
            endpoint=self.endpoint, repo=repo, revision=revision, path=path, sent_token=sent
        )

    def _online(self, purpose: str) -> None:
        """Before the first import. Raises Offline."""
        if self.offline:
            raise Offline(
                f"offline, and the hub is needed {purpose}: leave out --offline"
                " (unset HF_HUB_OFFLINE), or name a model that is on disk"
            )
        if not os.environ.get("HF_HUB_DISABLE_TELEMETRY"):
            os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"


def _session() -> Any:
    """The library's HTTP client: its proxies and certificates are those of all its users."""
    from huggingface_hub import get_session
    from huggingface_hub.utils.logging import set_verbosity_error

    # Its warnings hold signed addresses, and so do the notes of these two.
    set_verbosity_error()  # type: ignore[no-untyped-call]
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return get_session()


def _api(endpoint: str) -> Any:
    from huggingface_hub import HfApi

    _session()
    return HfApi(endpoint=endpoint, library_name="nextok", library_version=_version())


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nextok")
    except PackageNotFoundError:
        return "0"


def _silence_seconds() -> float:
    """How long a server may send nothing in the midst of a file."""
    from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT

    return float(HF_HUB_DOWNLOAD_TIMEOUT)


def _chunks(response: Any, subject: Subject, url: str) -> Iterator[bytes]:
    """As they arrive, so that none is held back; what fails here had been connected."""
    with _errors(subject, url, connecting=False):
        yield from response.iter_raw()


@contextmanager
def _errors(subject: Subject, url: str, *, connecting: bool = True) -> Iterator[None]:
    """Turn what the library raises into HubError, with nothing of an address in it."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    try:
        yield
    except HfHubHTTPError as error:
        raise refusal(error.response.status_code, error.response.headers, subject) from None
    except httpx.RequestError as error:
        raise connection_fault(
            error,
            url,
            by_proxy=isinstance(error, httpx.ProxyError),
            timed_out=isinstance(error, httpx.TimeoutException),
            connecting=connecting,
        ) from None
    except (httpx.InvalidURL, ValueError, TypeError, LookupError, AttributeError):
        raise no_hub(subject.endpoint) from None  # a page, or other JSON than a hub's
