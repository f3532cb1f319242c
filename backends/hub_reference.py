"""What a user writes for a model on the hub, taken apart.

Knows the forms and the hub's rules for names; asks nobody whether there is such a thing.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from nextok.backends.hub_names import is_file_path, is_repo, is_revision
from nextok.generation.errors import UsageError

PUBLIC_HUB = "https://huggingface.co"
_PUBLIC_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")
_PAGES = ("blob", "resolve", "tree", "raw")
_OTHER_KINDS = {"datasets": "a data set", "spaces": "a space", "collections": "a collection"}
_FILE = re.compile(
    r"(?P<repo>[^/@:]+/[^/@:]+)(?:@(?P<early>refs/pr/\d+|[^/:]+))?"
    r"/(?P<file>.+?\.gguf)(?:@(?P<late>[^:]+))?",
    re.IGNORECASE,
)
_REPO = re.compile(
    r"(?P<repo>[^/@:]+/[^/@:]+)(?:@(?P<early>[^:]+))?(?::(?P<quant>[^@:/]+)(?:@(?P<late>.+))?)?"
)
_LOCAL_STARTS = ("./", "../", "/", "~", ".\\")


@dataclass(frozen=True, kw_only=True)
class HubReference:
    """`str()` gives the canonical name, which parses to an equal reference."""

    repo: str
    """OWNER/NAME."""
    revision: str | None = None
    """None is the branch `main`."""
    quant: str | None = None
    """As written, in any case; may be the name of a file."""
    file: str | None = None
    """A path inside the repository, ending in .gguf."""

    def __str__(self) -> str:
        name = f"{self.repo}/{self.file}" if self.file else self.repo
        at = f"@{self.revision}" if self.revision else ""
        return f"{name}{at}" + (f":{self.quant}" if self.quant else "")


def endpoint_in_force() -> str:
    """The hub's address: HF_ENDPOINT, else the public one."""
    return (os.environ.get("HF_ENDPOINT") or PUBLIC_HUB).rstrip("/")


def parse_reference(text: str, *, endpoint: str | None = None) -> HubReference | None:
    """The reference that the text is; None when it is none of the hub's forms.

    endpoint: the hub's address, HF_ENDPOINT by default; addresses on other hosts than this one
    and the public hub's are refused. Raises UsageError for a bad name in a hub form.
    """
    text = text.strip()
    if text.startswith(_LOCAL_STARTS):
        return None
    path = _without_host(text, endpoint or endpoint_in_force())
    if path is None and not _has_form(text.rstrip("/")):
        return None
    segments = (text if path is None else path).rstrip("/").split("/")
    if path is not None:
        from urllib.parse import unquote  # most names are no addresses

        segments = [unquote(segment) for segment in segments]
        if segments[0] in _OTHER_KINDS and len(segments) > 2:
            kind = _OTHER_KINDS[segments[0]]
            raise UsageError(f"{text}: {kind}, no model: name a model repository")
    if len(segments) > 3 and segments[2] in _PAGES:
        return _checked(_of_page(segments), text)
    return _checked(_of_name("/".join(segments), text), text)


def _has_form(name: str) -> bool:
    """Whether a name without a host can be meant for the hub, and not for a file here."""
    segments = name.split("/")
    if len(segments) < 2 or "" in segments:
        return False
    if len(segments) == 2:
        return ":" in name or not name.lower().endswith(".gguf")  # else a file in a folder
    return segments[2] in _PAGES or "@" in segments[1] or _FILE.fullmatch(name) is not None


def _without_host(text: str, endpoint: str) -> str | None:
    """The path of an address on a hub; None when the text is no address."""
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() == "hf":
        return rest.removeprefix("models/")
    if separator and scheme.lower() in ("http", "https"):
        return _known_host(text, endpoint)
    if separator:
        raise UsageError(f"{text}: not an address of the hub: it begins with https://")
    host, slash, path = text.partition("/")
    if slash and host.lower() in _PUBLIC_HOSTS:
        return path.partition("?")[0].partition("#")[0]
    return None


def _known_host(address: str, endpoint: str) -> str:
    from urllib.parse import urlsplit

    try:
        url, hub = urlsplit(address), urlsplit(endpoint)
        host = url.hostname or ""
    except ValueError:
        raise UsageError(f"{address}: no valid address") from None
    path = url.path
    if url.netloc.lower() == hub.netloc.lower():
        path = path.removeprefix(hub.path)
    elif host not in _PUBLIC_HOSTS:
        at = f"{url.scheme}://{url.netloc.rpartition('@')[2]}"
        raise UsageError(
            f"{at} is not the hub in use ({endpoint}): set HF_ENDPOINT={at} to use it as one, "
            "or download the file yourself and give its path"
        )
    return path.lstrip("/")


def _of_name(name: str, text: str) -> HubReference:
    match = _FILE.fullmatch(name) or _REPO.fullmatch(name)
    if match is None:
        raise UsageError(f"{text}: not a model of the hub: OWNER/NAME[@REVISION][:QUANT]")
    found = match.groupdict()
    return HubReference(
        repo=found["repo"],
        revision=found["early"] or found["late"],
        quant=found.get("quant"),
        file=found.get("file"),
    )


def _of_page(segments: list[str]) -> HubReference:
    """From the address of a page: OWNER/NAME/blob/REVISION/PATH."""
    owner, name, page, revision, *rest = segments
    file: str | None = "/".join(rest) or None
    quant = None
    if page == "tree" and rest and not rest[-1].lower().endswith(".gguf"):
        file, quant = None, rest[-1]  # folders are called after what is in them
    return HubReference(
        repo=f"{owner}/{name}",
        revision=None if revision == "main" else revision,
        quant=quant,
        file=file,
    )


def _checked(reference: HubReference, text: str) -> HubReference:
    """The same, once every part of it can be what it claims to be."""
    repo, file, revision = reference.repo, reference.file, reference.revision
    if not is_repo(repo):
        raise UsageError(
            f"{text}: {repo!r} is no name of a repository: OWNER/NAME, each of letters, digits, "
            "- _ and . (no -- or .., 96 at most)"
        )
    if revision is not None and not is_revision(revision):
        raise UsageError(f"{text}: {revision!r} is no branch, tag or commit")
    if file is not None and (not is_file_path(file) or not file.lower().endswith(".gguf")):
        raise UsageError(f"{text}: {file!r} is no .gguf file: name one, or OWNER/NAME alone")
    return reference
