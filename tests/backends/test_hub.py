"""What is asked of the hub, and what becomes of its refusals."""

from __future__ import annotations

import logging
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.hub import Hub
from nextok.backends.hub_errors import (
    AddressExpired,
    FileNotInRepo,
    NoHub,
    NoNetwork,
    Offline,
    Passing,
    RateLimited,
    RepoGated,
    RepoNotFound,
    RevisionNotFound,
    ServerFailed,
    TokenRejected,
    WrongBytes,
)
from nextok.backends.hub_files import HubFile, RemoteFile
from nextok.backends.hub_reference import HubReference
from nextok.backends.hub_refusals import seconds_asked
from nextok.generation.errors import HubError

Python = Callable[..., "subprocess.Popen[str]"]
REPO = "owner/m-GGUF"
PATH = "m-Q4_K_M.gguf"
DATA = b"GGUF" + bytes(range(256)) * 40
TOKEN = "hf_secretsecret"
ASK = """
import sys
from nextok.backends.hub import Hub
from nextok.backends.hub_reference import HubReference
from nextok.generation.errors import HubError
try:
    print(Hub().list_files(HubReference(repo="owner/m-GGUF")).commit)
except HubError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def commit(hub: Any) -> str:
    made: str = hub.add_repo(REPO, {PATH: DATA, "README.md": b"hi"})
    return made


def asked(python: Python, **environment: str) -> str:
    out, err = python(ASK, **environment).communicate(timeout=60)
    assert err == ""
    return out.strip()


def read(remote: RemoteFile, start: int = 0, end: int | None = None) -> bytes:
    with Hub().open(remote, start, end) as body:
        return b"".join(body.chunks)


def test_one_request_lists_the_files_with_sizes_and_hashes(hub: Any, commit: str) -> None:
    listing = Hub().list_files(HubReference(repo=REPO))
    assert (listing.commit, listing.revision, listing.gated) == (commit, "main", False)
    files = {file.path: file for file in listing.files}
    assert files[PATH].size == len(DATA)
    assert files[PATH].etag == files[PATH].sha256 is not None
    assert files["README.md"] == HubFile(
        path="README.md", size=2, sha256=None, git_sha1="32f95c0d1244a78b2be1bab8de17906fabb2c4a8"
    )
    assert [hit.path for hit in hub.log] == [f"/api/models/{REPO}/revision/main?blobs=true"]


def test_a_file_is_located_anew_each_time_and_read_from_any_offset(hub: Any, commit: str) -> None:
    first, second = (Hub().locate_file(REPO, commit, PATH) for _ in range(2))
    assert first.url != second.url
    assert "secret" not in repr(first)
    assert (first.size, first.commit) == (len(DATA), commit)
    assert read(first) == DATA
    assert read(second, 100) == DATA[100:]
    assert read(second, 100, 200) == DATA[100:200]
    small = Hub().locate_file(REPO, commit, "README.md")
    assert read(small) == b"hi"
    assert small.etag == "32f95c0d1244a78b2be1bab8de17906fabb2c4a8"


def test_names_are_quoted_on_the_way(hub: Any) -> None:
    name = "모델 dir/ü#?%20 m-Q4_0.gguf"
    commit = hub.add_repo(REPO, {name: DATA})
    assert read(Hub().locate_file(REPO, commit, name)) == DATA


def test_a_search_asks_for_gguf_by_downloads(hub: Any) -> None:
    facts = {"architecture": "llama", "total": 135_000_000, "context_length": 8192}
    hub.add_repo("a/small-GGUF", {PATH: DATA}, downloads=5)
    hub.add_repo("b/small-GGUF", {PATH: DATA}, downloads=9, gguf=facts, gated="manual")
    hub.add_repo("b/other", {PATH: DATA})
    found = Hub().search(["small", "gguf"], 5)
    assert [(row.repo, row.downloads, row.gated) for row in found] == [
        ("b/small-GGUF", 9, True), ("a/small-GGUF", 5, False),
    ]  # fmt: skip
    assert (found[0].architecture, found[0].parameters) == ("llama", 135_000_000)
    assert found[0].context_tokens == 8192
    assert found[0].updated == datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    query = hub.log[0].path.partition("?")[2].split("&")
    assert {"filter=gguf", "search=small+gguf", "sort=downloads", "limit=5"} <= {
        part.replace("%20", "+") for part in query
    }


def test_the_token_goes_to_the_hub_and_nowhere_else(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.tokens[TOKEN] = "alice"
    remote = Hub().locate_file(REPO, commit, PATH)
    assert read(remote) == DATA
    assert {hit.auth for hit in hub.log if hit.origin == "hub"} == {f"Bearer {TOKEN}"}
    assert {hit.auth for hit in hub.log if hit.origin == "cdn"} == {None}
    assert TOKEN not in repr(remote)


def test_the_token_does_not_follow_a_redirect_to_another_origin(
    hub: Any, fakehub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with fakehub.FakeHub() as other:
        for method in ("HEAD", "GET"):
            hub.fault(f"{method} /owner", status=302, headers={"Location": f"{other.url}/x"})
        hub.fault("GET /api", status=302, headers={"Location": f"{other.url}/api/models/x"})
        for question in (
            lambda: Hub().locate_file(REPO, commit, PATH),
            lambda: Hub().list_files(HubReference(repo=REPO)),
        ):
            with pytest.raises(HubError):
                question()
        assert {hit.auth for hit in other.log} <= {None}


def test_the_stored_token_is_used_and_a_renamed_repository_followed(
    hub: Any, commit: str, python: Python
) -> None:
    home = Path(hub_home())
    home.mkdir(parents=True)
    (home / "token").write_text(f"{TOKEN}\n")
    hub.tokens[TOKEN] = "alice"
    target = f"/api/models/{REPO}/revision/main?blobs=true"
    hub.fault("GET /api", status=307, headers={"Location": target})
    assert asked(python, HF_HUB_OFFLINE="0") == commit
    assert [hit.auth for hit in hub.log] == [f"Bearer {TOKEN}"] * 2


def test_a_mirror_that_sends_on_to_the_hub_is_followed_without_the_token(
    hub: Any, fakehub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with fakehub.FakeHub() as mirror:
        monkeypatch.setenv("HF_ENDPOINT", mirror.url)
        mirror.fault(
            "HEAD", status=308, headers={"Location": f"{hub.url}/{REPO}/resolve/main/{PATH}"}
        )
        remote = Hub().locate_file(REPO, commit, PATH)
        assert read(remote) == DATA
        assert {hit.auth for hit in hub.log} == {None}


@pytest.mark.parametrize("token", ["hf_ü", "hf_a\x01b"])
def test_a_token_that_is_none_is_said_to_be(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    error = listed(hub)
    assert isinstance(error, TokenRejected) and token not in str(error)
    assert hub.log == []


def test_a_stored_token_that_cannot_be_read_is_said(hub: Any, commit: str) -> None:
    (Path(hub_home()) / "token").mkdir(parents=True)
    assert isinstance(listed(hub), TokenRejected)


def test_an_endpoint_without_a_scheme_is_said(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "hub.example")
    assert "HF_ENDPOINT" in str(listed(hub))


def hub_home() -> str:
    from nextok.backends.hub_layout import hub_home as home

    return str(home())


def listed(hub: Any, repo: str = REPO, revision: str | None = None) -> HubError:
    with pytest.raises(HubError, match=r"^[^\n]*$") as caught:
        Hub().list_files(HubReference(repo=repo, revision=revision))
    return caught.value


def located(commit: str, path: str = PATH) -> HubError:
    with pytest.raises(HubError, match=r"^[^\n]*$") as caught:
        Hub().locate_file(REPO, commit, path)
    return caught.value


def test_gated_says_where_to_ask(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.add_repo(REPO, {PATH: DATA}, gated="manual", allowed=["hf_good"])
    assert Hub().list_files(HubReference(repo=REPO)).gated
    error = located(commit)
    assert isinstance(error, RepoGated)
    assert f"{hub.url}/{REPO}" in str(error) and "HF_TOKEN" in str(error)
    hub.tokens |= {TOKEN: "alice", "hf_good": "bob"}
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert "your account has no access" in str(located(commit))
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert read(Hub().locate_file(REPO, commit, PATH)) == DATA


def test_not_found_private_revision_and_file_are_told_apart(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add_repo("owner/hidden", {PATH: DATA}, private=True)
    for repo in ("owner/nothing", "owner/hidden"):
        error = listed(hub, repo)
        assert isinstance(error, RepoNotFound)
        assert "or a private one" in str(error) and "HF_TOKEN" in str(error)
    hub.tokens[TOKEN] = "alice"
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert isinstance(listed(hub, "owner/hidden"), RepoNotFound)
    revision = listed(hub, revision="nope")
    assert isinstance(revision, RevisionNotFound) and "nope" in str(revision)
    assert isinstance(located(commit, "x.gguf"), FileNotInRepo)


def test_a_rejected_token_is_to_be_unset_and_is_not_repeated(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    for error in (listed(hub), located(commit)):
        assert isinstance(error, TokenRejected)
        assert "HF_TOKEN" in str(error) and "unset" in str(error)
        assert TOKEN not in str(error)


@pytest.mark.parametrize(
    "headers",
    [{"Retry-After": "55"}, {"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"x";q=500;w=300'}],
)
def test_a_rate_limit_says_for_how_long(hub: Any, commit: str, headers: dict[str, str]) -> None:
    hub.fault("/api/|/resolve/", status=429, headers=headers, times=2)
    for error in (listed(hub), located(commit)):
        assert isinstance(error, RateLimited)
        assert error.wait_seconds == 55
        assert "55 s" in str(error) and "HF_TOKEN" in str(error)


@pytest.mark.parametrize("status", [408, 425, 500, 502, 503, 504])
def test_a_failing_server_may_be_tried_again(hub: Any, commit: str, status: int) -> None:
    hub.fault("/api/|/resolve/|/cdn/", status=status, times=3)
    for error in (listed(hub), located(commit)):
        assert isinstance(error, ServerFailed)
        assert str(status) in str(error)
    assert "tried 3 times" in str(error.after(3))
    with pytest.raises(ServerFailed):
        read(Hub().locate_file(REPO, commit, PATH))


def test_an_expired_address_is_told_from_a_refusal_of_the_hub(hub: Any, commit: str) -> None:
    remote = Hub().locate_file(REPO, commit, PATH)
    hub.fault("/cdn/", status=403)
    with pytest.raises(AddressExpired) as caught:
        read(remote)
    assert "sig" not in str(caught.value)


@pytest.mark.parametrize("where", ["/api/", "/resolve/"])
def test_a_page_instead_of_an_answer_is_said_to_be_no_hub(
    hub: Any, commit: str, where: str
) -> None:
    page = b"<!DOCTYPE html><title>Log in</title>"
    hub.fault(where, status=200, headers={"Content-Type": "text/html"}, body=page)
    error = listed(hub) if where == "/api/" else located(commit)
    assert isinstance(error, NoHub)


@pytest.mark.parametrize(
    "headers",
    [
        {"ETag": '"../../../../evil"'},
        {"ETag": '"abc"'},
        {},
        {"ETag": f'"{"0" * 64}"', "X-Repo-Commit": "../../x"},
    ],
)
def test_a_hostile_etag_or_commit_is_refused(
    hub: Any, commit: str, headers: dict[str, str]
) -> None:
    hub.fault("HEAD", status=200, headers={"X-Repo-Commit": commit, **headers})
    assert isinstance(located(commit), NoHub)


@pytest.mark.parametrize("sha", ["", "main", "../../../x", "A" * 40, None, 7])
def test_a_hostile_commit_in_a_listing_is_refused(hub: Any, commit: str, sha: object) -> None:
    import json

    answer = {"id": REPO, "sha": sha, "siblings": [], "tags": []}
    hub.fault("/api/", status=200, body=json.dumps(answer).encode())
    assert isinstance(listed(hub), NoHub)


def test_hostile_names_are_left_out_of_a_listing(hub: Any) -> None:
    hub.add_repo(
        REPO, {"../../x.gguf": DATA, "/etc/x.gguf": DATA, "a/../../x.gguf": DATA, PATH: DATA}
    )
    assert [file.path for file in Hub().list_files(HubReference(repo=REPO)).files] == [PATH]


def test_another_piece_than_asked_for_is_refused(hub: Any, commit: str) -> None:
    hub.fault("/cdn/", shift_range=3)
    with pytest.raises(WrongBytes):
        read(Hub().locate_file(REPO, commit, PATH), 100)


def test_an_ignored_range_is_told(hub: Any, commit: str) -> None:
    hub.fault("/cdn/", ignore_range=True)
    with Hub().open(Hub().locate_file(REPO, commit, PATH), 100, None) as body:
        assert (body.start, body.total) == (0, len(DATA))


def test_a_cut_is_a_cut_and_no_host_no_network(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.fault("/cdn/", cut_after=100)
    with pytest.raises(NoNetwork, match="was cut"):
        read(Hub().locate_file(REPO, commit, PATH))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    error = listed(hub)
    assert isinstance(error, NoNetwork) and f"127.0.0.1:{port}" in str(error)
    monkeypatch.setenv("HF_ENDPOINT", "http://no-such-host.invalid")
    error = listed(hub)
    assert isinstance(error, Passing) and "no-such-host.invalid" in str(error)


@pytest.mark.parametrize("by", ["flag", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_nothing_is_asked(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by != "flag":
        monkeypatch.setenv(by, "1")
    offline = Hub(offline=by == "flag")
    remote = RemoteFile(url=hub.url, headers={}, etag="0" * 64, size=1, commit=commit)
    for question in (
        lambda: offline.list_files(HubReference(repo=REPO)),
        lambda: offline.locate_file(REPO, commit, PATH),
        lambda: offline.search(["x"]),
        lambda: offline.open(remote, 0, None).__enter__(),
    ):
        with pytest.raises(Offline, match="--offline"):
            question()
    assert hub.log == []


def test_nothing_of_a_token_or_a_signed_address_is_logged(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_DEBUG", "1")
    hub.tokens[TOKEN] = "alice"
    with caplog.at_level(logging.DEBUG):
        for name in ("httpx2", "httpcore2", "huggingface_hub"):
            logging.getLogger(name).setLevel(logging.DEBUG)
        assert read(Hub().locate_file(REPO, commit, PATH)) == DATA
    assert TOKEN not in caplog.text and "sig=" not in caplog.text


def test_no_telemetry_and_no_import_before_a_question(hub: Any, python: Python) -> None:
    code = (
        "import sys; from nextok.backends import pull, locate, local_models, hub; hub.Hub();"
        "local_models.local_models();"
        "print([name for name in sys.modules if 'huggingface' in name or 'httpx' in name])"
    )
    assert python(code).communicate(timeout=60) == ("[]\n", "")
    asked(python, HF_HUB_OFFLINE="0", HF_HUB_DISABLE_TELEMETRY="")
    assert [hit.path.partition("?")[0] for hit in hub.log] == [f"/api/models/{REPO}/revision/main"]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT"}, 60),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"ratelimit": '"resolvers";r=0;t=12'}, 12),
    ],
)
def test_waits_are_read_in_all_their_forms(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert seconds_asked(headers, now) == seconds


class _Proxy(BaseHTTPRequestHandler):
    """Fetches for others over plain HTTP, and notes what it was asked for."""

    seen: list[str] = []

    def do_GET(self) -> None:
        import urllib.request

        self.seen.append(self.path)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.path, timeout=10) as answer:
            body = answer.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_proxy_is_used_and_not_where_it_must_not_be(
    hub: Any, commit: str, python: Python
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        proxy = f"http://user:password@127.0.0.1:{server.server_address[1]}"
        assert asked(python, HF_HUB_OFFLINE="0", HTTP_PROXY=proxy, NO_PROXY="127.0.0.1") == commit
        assert _Proxy.seen == []
        assert asked(python, HF_HUB_OFFLINE="0", HTTP_PROXY=proxy) == commit
        assert len(_Proxy.seen) == 1 and _Proxy.seen[0].startswith(hub.url)
        server.shutdown()
    told = asked(python, HF_HUB_OFFLINE="0", HTTP_PROXY=proxy)
    assert told.startswith("ProxyFailed") and "HTTPS_PROXY" in told
    assert "password" not in told


def test_an_untrusted_certificate_names_the_host_and_the_remedy(
    fakehub: Any, online: None, python: Python, tmp_path: Path
) -> None:
    certificate = tmp_path / "hub.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no openssl here to make a certificate")
    certificate.write_bytes(
        (tmp_path / "key.pem").read_bytes() + (tmp_path / "cert.pem").read_bytes()
    )
    with fakehub.FakeHub(certificate=certificate) as secure:
        commit = secure.add_repo(REPO, {PATH: DATA})
        ours = {"HF_ENDPOINT": secure.url, "HF_HUB_OFFLINE": "0"}
        told = asked(python, **ours)
        assert told.startswith("TlsFailed")
        assert secure.url.removeprefix("https://") in told and "SSL_CERT_FILE" in told
        assert asked(python, **ours, SSL_CERT_FILE=str(tmp_path / "cert.pem")) == commit


def test_plain_http_at_an_https_address_is_said(hub: Any, python: Python) -> None:
    told = asked(python, HF_ENDPOINT=hub.url.replace("http", "https"), HF_HUB_OFFLINE="0")
    assert told.startswith("TlsFailed") and "HF_ENDPOINT" in told


def test_only_one_module_imports_the_library() -> None:
    backends = Path(sys.modules["nextok.backends.hub"].__file__ or "").parent
    importing = re.compile(r"^\s*(from|import) huggingface_hub", re.MULTILINE)
    users = [path.name for path in backends.glob("*.py") if importing.search(path.read_text())]
    assert users == ["hub_session.py"]


def test_a_proxy_that_never_answers_is_given_up(
    hub: Any, commit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nextok.backends.hub.QUESTION_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "")
        error = listed(hub)
    assert "ProxyFailed" in type(error).__name__
    assert "does not answer" in str(error) and "HTTPS_PROXY" in str(error)
    assert hub.log == []
