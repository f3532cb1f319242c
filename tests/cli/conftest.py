"""The real `nextok`, run as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of one run."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
SCRIPT = Path(sys.executable).with_name("nextok")


@pytest.fixture
def nextok() -> Run:
    """`nextok("--version", env={...}, input="...")` → Ran, from the installed script."""

    def run(
        *arguments: str,
        env: Mapping[str, str] | None = None,
        input: str = "",
        cwd: Path | None = None,
    ) -> Ran:
        done = subprocess.run(
            [str(SCRIPT), *arguments],
            input=input,
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **(env or {})},
            cwd=cwd,
            timeout=60,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    return run


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """`config_file(text)` writes a config file that every run then reads."""

    def write(text: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("NEXTOK_CONFIG", str(path))
        return path

    return write
