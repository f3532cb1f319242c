"""What can go wrong with the hub, one class each, so that who retries can tell what may pass.

Messages are one line, name no token and no signed address, and end with what to do.
"""

from __future__ import annotations

from nextok.generation.errors import HubError


class RepoGated(HubError):
    """The owner gives access one by one; the message says where to ask."""


class RepoNotFound(HubError):
    """No such repository, or a private one: the hub does not tell the two apart."""


class RevisionNotFound(HubError):
    """No such branch, tag or commit."""


class FileNotInRepo(HubError):
    """No such file; the message names the nearest."""


class TokenRejected(HubError):
    """The token is expired or misspelt, which the hub refuses for public repositories too."""


class TlsFailed(HubError):
    """The server's certificate is not trusted here."""


class ProxyFailed(HubError):
    """The proxy cannot be reached or refuses."""


class Offline(HubError):
    """A request would be needed, and --offline or HF_HUB_OFFLINE forbids it."""


class NoHub(HubError):
    """What answers at the hub's address is no hub."""


class WrongBytes(HubError):
    """What came is not the file: another sha256, another size, no GGUF."""


class DiskFull(HubError):
    """There is no room for the file; what came so far is kept."""


class CacheNotWritable(HubError):
    """The cache folder cannot be written."""


class Passing(HubError):
    """May be over at the next try. `wait_seconds`: how long the server asks to wait."""

    def __init__(self, what: str, remedy: str, *, wait_seconds: float | None = None) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy
        self.wait_seconds = wait_seconds

    def after(self, tries: int) -> HubError:
        """The same, saying how often it was tried."""
        what = self.what if tries < 2 else f"{self.what}, tried {tries} times"
        return type(self)(what, self.remedy, wait_seconds=self.wait_seconds)


class RateLimited(Passing):
    """Too many requests."""


class ServerFailed(Passing):
    """The server says that it failed (5xx, 408, 425)."""


class NoNetwork(Passing):
    """The connection cannot be made, was cut, or went silent."""


class AddressExpired(Passing):
    """The signed address of the bytes is no longer good; a new one is asked for."""
