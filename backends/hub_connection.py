"""From a failed connection to an error in our words.

Knows exceptions by what they are made from (sockets, TLS), so that no HTTP library need be
imported, and hosts by name, so that no address reaches a message.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from nextok.backends.hub_errors import NoNetwork, ProxyFailed, TlsFailed
from nextok.backends.shown_text import shown
from nextok.generation.errors import HubError

_YES = ("1", "ON", "YES", "TRUE")
_UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


def offline_by_environment() -> bool:
    """Whether the user forbade requests to all programs of this kind."""
    named = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return named.upper() in _YES


def host_of(url: str) -> str:
    """Host and port, and nothing else that an address may hold."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or ''}{port}"


def origin_of(url: str) -> tuple[str, str, int]:
    """What a token must not leave."""
    parts = urlsplit(url)
    default = 443 if parts.scheme == "https" else 80
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def proxy_for(url: str) -> str | None:
    """The proxy that the environment sets for an address, without its password."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return host_of(proxy if "://" in proxy else f"http://{proxy}")


def connection_fault(
    error: BaseException, url: str, *, by_proxy: bool, timed_out: bool, connecting: bool
) -> HubError:
    """Why no bytes came, or no more. connecting: none at all. by_proxy: it refused."""
    host, proxy = host_of(url), proxy_for(url)
    causes = list(_causes(error))
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if connecting and isinstance(tls, ssl.SSLCertVerificationError):
        return TlsFailed(
            f"the certificate of {host} is not trusted here ({shown(tls.verify_message, 200)}):"
            " set SSL_CERT_FILE to the file with your network's certificates"
        )
    if by_proxy or (connecting and proxy):
        how = "does not answer" if timed_out else "refuses or cannot be reached"
        return ProxyFailed(
            f"the proxy {proxy or 'in use'} {how} (for {host}):"
            " check HTTPS_PROXY, or name the host in NO_PROXY"
        )
    if connecting and tls is not None:
        return TlsFailed(
            f"no secure connection to {host} ({shown(tls.reason or tls, 200)}): check HF_ENDPOINT,"
            " or set SSL_CERT_FILE to the file with your network's certificates"
        )
    return NoNetwork(_words(host, causes, timed_out, connecting), "check the network connection")


def _words(host: str, causes: list[BaseException], timed_out: bool, connecting: bool) -> str:
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"no network, or there is no host {host}"
    if any(isinstance(cause, OSError) and cause.errno in _UNREACHABLE for cause in causes):
        return f"no network: {host} cannot be reached"
    if timed_out:
        return f"{host} does not answer" if connecting else f"{host} went silent"
    return f"{host} cannot be reached" if connecting else f"the connection to {host} was cut"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what it came from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
