"""A hub on the loopback: what huggingface_hub asks of the real one, with faults on demand.

    with FakeHub() as hub:
        hub.add_repo("owner/m-GGUF", {"m-Q4_K_M.gguf": data, "README.md": b"hi"})
        hub.fault("GET /cdn/", cut_after=1000)
        ... run something with HF_ENDPOINT=hub.url ...
        assert [hit.range for hit in hub.log] == ...

Two servers: the hub, and the storage that it sends to with a new signed address each time. Files
of at least `large` bytes are in the storage and called by their sha256, smaller ones are served by
the hub itself and called by git's hash.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BAD_TOKEN = "Invalid credentials in Authorization header"


@dataclass
class Fault:
    """One queued misbehaviour. `where` is a pattern searched in "METHOD path"."""

    where: str
    status: int | None = None
    """Answer with this, `headers` and `body` instead."""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut_after: int | None = None
    """Drop the connection after so many bytes of the body."""
    stall: float = 0.0
    """Seconds of silence, before anything or after `stall_after` bytes."""
    stall_after: int | None = None
    until: threading.Event | None = None
    """Be silent until this is set, and not for `stall` seconds."""
    ignore_range: bool = False
    shift_range: int = 0
    """Serve a piece that begins so many bytes later than asked."""
    corrupt: bool = False
    short_total: int = 0
    """Announce and send so many bytes fewer."""
    rate: float = 0.0
    """Bytes a second."""
    times: int = 1
    """How many requests it hits; -1: all."""


@dataclass
class Hit:
    """One request, as it came."""

    method: str
    path: str
    origin: str
    """Either "hub" or "cdn"."""
    range: str | None
    auth: str | None
    headers: dict[str, str]
    status: int = 0
    sent: int = 0


@dataclass
class Repo:
    repo_id: str
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    gated: str | bool = False
    private: bool = False
    allowed: set[str] = field(default_factory=set)
    """Tokens that may read it, when it is gated or private."""
    downloads: int = 1
    gguf: dict[str, Any] | None = None


class FakeHub:
    """Serves from `with` to its end."""

    def __init__(self, *, large: int = 1024, certificate: Path | None = None) -> None:
        self.repos: dict[str, Repo] = {}
        self.tokens: dict[str, str] = {}
        """All valid tokens, and whose they are."""
        self.blobs: dict[str, bytes] = {}
        self.log: list[Hit] = []
        self.faults: list[Fault] = []
        self.large = large
        self.chunk = 1 << 16
        """Bytes written at a time."""
        self.lists_hashes = True
        self.signatures = itertools.count(1)
        self._lock = threading.Lock()
        self._servers = [_Server(self, origin, certificate) for origin in ("hub", "cdn")]
        self.url, self.cdn_url = (server.url for server in self._servers)

    def __enter__(self) -> FakeHub:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def add_repo(
        self,
        repo_id: str,
        files: Mapping[str, bytes | Path],
        *,
        rev: str = "main",
        gated: str | bool = False,
        private: bool = False,
        allowed: Iterable[str] = (),
        downloads: int = 1,
        gguf: dict[str, Any] | None = None,
    ) -> str:
        """Add a repository, or a commit to it; returns the commit."""
        repo = self.repos.setdefault(repo_id, Repo(repo_id))
        repo.gated, repo.private, repo.downloads, repo.gguf = gated, private, downloads, gguf
        repo.allowed |= set(allowed)
        contents = {
            path: data if isinstance(data, bytes) else data.read_bytes()
            for path, data in files.items()
        }
        digest = hashlib.sha1(f"{repo_id} {len(repo.commits)}".encode())
        for path, data in sorted(contents.items()):
            sha256 = hashlib.sha256(data).hexdigest()
            digest.update(f"{path} {sha256}".encode())
            self.blobs[sha256] = data
        commit = digest.hexdigest()
        repo.commits[commit] = contents
        repo.refs[rev] = commit
        return commit

    def fault(self, where: str, **what: Any) -> Fault:
        """Queue a fault, for the next request that fits."""
        fault = Fault(where, **what)
        with self._lock:
            self.faults.append(fault)
        return fault

    def clear(self) -> None:
        """Forget all faults and requests."""
        with self._lock:
            self.faults.clear()
            self.log.clear()

    def hits(self, where: str) -> list[Hit]:
        """The requests so far whose "METHOD path" has the pattern."""
        with self._lock:
            return [hit for hit in self.log if re.search(where, f"{hit.method} {hit.path}")]

    def note(self, hit: Hit) -> Fault | None:
        """Log a request; the fault that is due for it."""
        with self._lock:
            self.log.append(hit)
            for fault in self.faults:
                if fault.times and re.search(fault.where, f"{hit.method} {hit.path}"):
                    fault.times -= fault.times > 0
                    return fault
        return None

    def sibling(self, path: str, data: bytes) -> dict[str, Any]:
        """One file in the answer about a repository."""
        if not self.lists_hashes:
            return {"rfilename": path, "size": len(data)}
        row: dict[str, Any] = {"rfilename": path, "size": len(data), "blobId": git_sha1(data)}
        if len(data) >= self.large:
            sha256 = hashlib.sha256(data).hexdigest()
            row["lfs"] = {"sha256": sha256, "size": len(data), "pointerSize": 134}
        return row


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub: FakeHub, origin: str, certificate: Path | None) -> None:
        self.hub, self.origin = hub, origin
        super().__init__(("127.0.0.1", 0), _Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    hit: Hit

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.hit = Hit(
            self.command,
            self.path,
            self.server.origin,
            self.headers.get("Range"),
            self.headers.get("Authorization"),
            dict(self.headers.items()),
        )
        fault = self.server.hub.note(self.hit)
        if fault and fault.stall and fault.stall_after is None:
            time.sleep(fault.stall)
        try:
            if fault and fault.status:
                self._send(fault.status, fault.headers, fault.body)
            elif self.server.origin == "cdn":
                self._storage(url.path, fault)
            else:
                self._hub(url.path, parse_qs(url.query), fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def _hub(self, path: str, query: dict[str, list[str]], fault: Fault | None) -> None:
        if path == "/api/models":
            return self._search(query)
        match = re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path)
        if match:
            return self._about(unquote(match[1]), unquote(match[2] or "main"))
        match = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if match:
            return self._resolve(*map(unquote, match.groups()), fault)
        return self._error(404, None, f"no such route {path}")

    def _about(self, repo_id: str, revision: str) -> None:
        repo = self._readable(repo_id, contents=False)
        if repo is None:
            return
        commit = repo.refs.get(revision, revision)
        if commit not in repo.commits:
            return self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        self._json(self._info(repo, commit))

    def _info(self, repo: Repo, commit: str) -> dict[str, Any]:
        files = repo.commits[commit]
        return {
            "_id": "0",
            "id": repo.repo_id,
            "sha": commit,
            "private": repo.private,
            "gated": repo.gated,
            "downloads": repo.downloads,
            "likes": 2,
            "tags": ["gguf"],
            "lastModified": "2026-01-02T03:04:05.000Z",
            "siblings": [self.server.hub.sibling(path, data) for path, data in files.items()],
            **({"gguf": repo.gguf} if repo.gguf else {}),
        }

    def _search(self, query: dict[str, list[str]]) -> None:
        words = (query.get("search") or [""])[0].lower().split()
        found = [
            repo
            for repo in self.server.hub.repos.values()
            if not repo.private and all(word in repo.repo_id.lower() for word in words)
        ]
        found.sort(key=lambda repo: -repo.downloads)
        limit = int((query.get("limit") or ["1000"])[0])
        self._json([self._info(repo, list(repo.commits)[-1]) for repo in found[:limit]])

    def _resolve(self, repo_id: str, revision: str, path: str, fault: Fault | None) -> None:
        hub = self.server.hub
        repo = self._readable(repo_id, contents=True)
        if repo is None:
            return
        commit = repo.refs.get(revision, revision)
        if commit not in repo.commits:
            return self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        data = repo.commits[commit].get(path)
        if data is None:
            return self._error(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": commit}
        if len(data) < hub.large:
            return self._bytes(data, {**headers, "ETag": f'"{git_sha1(data)}"'}, fault)
        sha256 = hashlib.sha256(data).hexdigest()
        headers |= {
            "X-Linked-Size": str(len(data)),
            "X-Linked-Etag": f'"{sha256}"',
            "Location": f"{hub.cdn_url}/cdn/{sha256}?sig=secret{next(hub.signatures)}",
        }
        self._send(302, headers, b"Found")

    def _readable(self, repo_id: str, *, contents: bool) -> Repo | None:
        """The repository, unless it must be refused; gated ones list their files to all."""
        token = (self.hit.auth or "").removeprefix("Bearer ").strip() or None
        repo = self.server.hub.repos.get(repo_id)
        if token is not None and token not in self.server.hub.tokens:
            self._error(401, None, BAD_TOKEN)
        elif repo is None or (repo.private and token not in repo.allowed):
            self._error(404 if token else 401, "RepoNotFound", "Repository not found")
        elif repo.gated and contents and token not in repo.allowed:
            self._error(403 if token else 401, "GatedRepo", f"Access to {repo_id} is restricted.")
        else:
            return repo
        return None

    def _storage(self, path: str, fault: Fault | None) -> None:
        data = self.server.hub.blobs.get(path.removeprefix("/cdn/"))
        if data is None:
            return self._send(404, {}, b"no such blob")
        self._bytes(data, {}, fault)

    def _bytes(self, data: bytes, headers: dict[str, str], fault: Fault | None) -> None:
        fault = fault or Fault("")
        if fault.short_total:
            data = data[: -fault.short_total]
        if fault.corrupt:
            middle = len(data) // 2
            data = data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]
        start, end = 0, len(data) - 1
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.hit.range or "")
        if asked and not fault.ignore_range:
            start = int(asked[1]) + fault.shift_range
            end = min(int(asked[2] or end), end)
            if start > end:
                return self._send(416, {"Content-Range": f"bytes */{len(data)}"}, b"")
            headers = {**headers, "Content-Range": f"bytes {start}-{end}/{len(data)}"}
        self._start(206 if "Content-Range" in headers else 200, headers, end - start + 1)
        if self.command != "HEAD":
            self._body(memoryview(data)[start : end + 1], fault)

    def _body(self, data: memoryview, fault: Fault) -> None:
        step = max(1, int(fault.rate / 20)) if fault.rate else self.server.hub.chunk
        limit = len(data) if fault.cut_after is None else min(fault.cut_after, len(data))
        pause = limit if fault.stall_after is None else min(fault.stall_after, limit)
        while self.hit.sent < limit:
            end = min(limit, self.hit.sent + step)
            if self.hit.sent < pause:
                end = min(end, pause)
            elif self.hit.sent == pause:
                self.wfile.flush()
                fault.until.wait(60) if fault.until else time.sleep(fault.stall)
            piece = data[self.hit.sent : end]
            self.wfile.write(piece)
            self.hit.sent += len(piece)
            if fault.rate:
                time.sleep(len(piece) / fault.rate)
        if limit < len(data):
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()

    def _json(self, value: object) -> None:
        self._send(200, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def _error(self, status: int, code: str | None, message: str) -> None:
        headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
        self._send(status, headers, json.dumps({"error": message}).encode())

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self._start(status, headers, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)
            self.hit.sent += len(body)

    def _start(self, status: int, headers: Mapping[str, str], length: int) -> None:
        self.hit.status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
