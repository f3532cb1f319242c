"""From a refusal of the hub to an error in our words.

Knows statuses and headers only, so that nothing of an address can reach a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from nextok.backends.hub_errors import (
    AddressExpired,
    FileNotInRepo,
    RateLimited,
    RepoGated,
    RepoNotFound,
    RevisionNotFound,
    ServerFailed,
    TokenRejected,
    WrongBytes,
)
from nextok.backends.shown_text import shown
from nextok.generation.errors import HubError

_BAD_CREDENTIALS = "Invalid credentials in Authorization header"
_PASSING = (408, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524)
_RATE_LIMIT = re.compile(r";\s*t\s*=\s*(\d+)")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What was asked for."""

    endpoint: str
    repo: str = ""
    revision: str = "main"
    path: str = ""
    sent_token: bool = False

    @property
    def page(self) -> str:
        return f"{self.endpoint}/{self.repo}" if self.repo else self.endpoint


def refusal(status: int, headers: Mapping[str, str], subject: Subject) -> HubError:
    """What the hub means by a status of 400 or more. headers: looked up in any case."""
    code, said = headers.get("x-error-code"), headers.get("x-error-message", "")
    if code == "GatedRepo":
        return RepoGated(_gated(status, subject))
    if said == _BAD_CREDENTIALS or (status == 401 and subject.sent_token and code is None):
        return TokenRejected(_rejected())
    if code == "RevisionNotFound":
        where, what = shown(subject.repo), shown(subject.revision)
        return RevisionNotFound(f"{where} has no branch, tag or commit {what}: leave out @{what}")
    if code == "EntryNotFound":
        return FileNotInRepo(
            f"{shown(subject.repo)} has no file {shown(subject.path)}: its files are at"
            f" {subject.page}/tree/{shown(subject.revision)}"
        )
    if status == 429:
        return _rate_limited(headers, subject)
    if status in _PASSING or status >= 500:
        return _failed(status, headers, subject.endpoint)
    if subject.repo and (code == "RepoNotFound" or status in (401, 404)):
        return RepoNotFound(_not_found(subject))
    reason = f" ({shown(said, 200)})" if said else ""
    return HubError(f"{subject.endpoint} refused with status {status}{reason}: see {subject.page}")


def storage_refusal(status: int, headers: Mapping[str, str], host: str) -> HubError:
    """The same for the servers that keep the bytes, which know no repositories."""
    if status == 429:
        return _rate_limited(headers, Subject(endpoint=host, sent_token=True))
    if status == 416:
        return WrongBytes(f"{host} has another file than the hub lists: try again later")
    if status in (400, 401, 403, 404, 410):
        return AddressExpired(
            f"{host} refused the address that the hub gave (status {status})",
            "check this machine's clock, then try again",
        )
    if status in _PASSING or status >= 500:
        return _failed(status, headers, host)
    return HubError(f"{host} refused with status {status}: try again later")


def seconds_asked(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """How long the server asks to wait: Retry-After in both its forms, else RateLimit's t."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    if text:
        try:
            until = parsedate_to_datetime(text)
        except ValueError:
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=timezone.utc)
        return max(0.0, (until - (now or datetime.now(timezone.utc))).total_seconds())
    limit = _RATE_LIMIT.search(headers.get("ratelimit", ""))
    return float(limit[1]) if limit else None


def _gated(status: int, subject: Subject) -> str:
    ask = f"ask for it at {subject.page}"
    if status == 401 or not subject.sent_token:
        return (
            f"{shown(subject.repo)} is gated: {ask}, then set HF_TOKEN to a token of your account"
            " (or run: hf auth login)"
        )
    return f"{shown(subject.repo)} is gated and your account has no access: {ask}"


def _rejected() -> str:
    where = "in HF_TOKEN" if os.environ.get("HF_TOKEN") else "that hf auth login stored"
    return (
        f"the hub rejected the token {where}: renew it, or do without"
        " (unset HF_TOKEN, or: hf auth logout): public repositories need none"
    )


def _not_found(subject: Subject) -> str:
    login = "" if subject.sent_token else "; for a private one set HF_TOKEN"
    name = subject.repo.partition("/")[2]
    return (
        f"{shown(subject.repo)}: no such repository, or a private one: check the spelling"
        f" (nextok search {shown(name)}){login}"
    )


def _rate_limited(headers: Mapping[str, str], subject: Subject) -> RateLimited:
    seconds = seconds_asked(headers)
    when = "for now" if seconds is None else f"for {seconds:.0f} s"
    token = "" if subject.sent_token else " (with a token, HF_TOKEN, the limit is higher)"
    what = f"{subject.endpoint} allows no more requests {when}"
    return RateLimited(what, f"try again then{token}", wait_seconds=seconds)


def _failed(status: int, headers: Mapping[str, str], host: str) -> ServerFailed:
    what = f"{host} failed with status {status}"
    return ServerFailed(what, "try again later", wait_seconds=seconds_asked(headers))
