"""huggingface_hub, as far as it is used: the only module that imports it.

Its session brings the proxies, certificates and tokens that all its users share. Promises to keep
it quiet, and that nothing of an address or a token is in an error. Imported by who is to ask the
hub, and even then the library only at the first question: it takes a third of a second.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nextok.backends.hub_answers import no_hub
from nextok.backends.hub_connection import connection_fault, origin_of
from nextok.backends.hub_errors import ProxyFailed, TlsFailed, TokenRejected
from nextok.backends.hub_refusals import Subject, refusal


def session() -> Any:
    """The library's HTTP client. Raises TlsFailed and ProxyFailed for settings it cannot use."""
    _silence()
    from huggingface_hub import get_session

    try:
        return get_session()
    except ImportError:  # of what speaks SOCKS
        raise ProxyFailed(
            "a SOCKS proxy is set, and the package socksio is not here: pip install socksio, "
            "or unset ALL_PROXY"
        ) from None
    except OSError:
        named = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or "not set"
        raise TlsFailed(
            f"the certificates cannot be read: SSL_CERT_FILE ({named}) is missing or holds none"
        ) from None


def api(endpoint: str) -> Any:
    """The library's questions. Raises like `session`."""
    session()
    from huggingface_hub import HfApi

    return HfApi(endpoint=endpoint, library_name="nextok", library_version=_version())


def request_headers(url: str, endpoint: str) -> dict[str, str]:
    """What to send to an address: the token to none but the hub itself. Raises TokenRejected."""
    _silence()
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    own = origin_of(url) == origin_of(endpoint)
    try:
        headers: dict[str, str] = build_hf_headers(
            token=None if own else False, library_name="nextok", library_version=_version()
        )
    except (OSError, ValueError):
        raise TokenRejected(
            "the token that hf auth login stored cannot be read: log in again, or set HF_TOKEN"
        ) from None
    token = headers.get("authorization", "")
    if not (token.isascii() and token.isprintable()):
        raise TokenRejected("the token has letters that none has: set HF_TOKEN again, or unset it")
    return headers


def silence_seconds() -> float:
    """How long a server may send nothing in the midst of a file."""
    from huggingface_hub.constants import HF_HUB_DOWNLOAD_TIMEOUT

    return float(HF_HUB_DOWNLOAD_TIMEOUT)


def chunks(response: Any, subject: Subject, url: str) -> Iterator[bytes]:
    """As they arrive, so that none is held back; what fails here had been connected."""
    with library_errors(subject, url, connecting=False):
        yield from response.iter_raw()


@contextmanager
def library_errors(subject: Subject, url: str, *, connecting: bool = True) -> Iterator[None]:
    """Turn what the library raises into HubError."""
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


def _silence() -> None:
    """No telemetry, and no log: the library's warnings hold signed addresses."""
    if not os.environ.get("HF_HUB_DISABLE_TELEMETRY"):
        os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when the library is first imported
    from huggingface_hub.utils.logging import set_verbosity_error

    set_verbosity_error()  # type: ignore[no-untyped-call]
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nextok")
    except PackageNotFoundError:
        return "0"
