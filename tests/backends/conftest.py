"""A hub on the loopback for the tests of what fetches from one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process ask a hub; its library reads some of the environment only once."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("HF_", "HUGGING", "SSL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import close_session, constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    home = Path(os.environ["XDG_CACHE_HOME"]) / "huggingface"
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    close_session()


@pytest.fixture
def hub(fakehub: Any, online: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A hub that this process and its children ask; `hub.log` has all requests."""
    with fakehub.FakeHub() as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


@pytest.fixture
def cache_root() -> Path:
    """The cache folder of this test."""
    return Path(os.environ["XDG_CACHE_HOME"]) / "huggingface" / "hub"


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`python(code, *arguments, **environment)`: a process of its own, ended with the test."""
    made: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        made.append(process)
        return process

    yield start
    for process in made:
        process.kill()
        process.communicate()
