"""The trial of a model in a child process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nextok.backends.child import module_command
from nextok.backends.seen_files import SeenFiles
from nextok.backends.trial import ensure_survives, run_trial
from nextok.generation.errors import ModelError


def test_a_good_model_passes_once_and_for_all(emoji_gguf: Path, tmp_path: Path) -> None:
    seen = SeenFiles(tmp_path)
    ensure_survives(emoji_gguf, seen)
    assert seen.has(emoji_gguf, "trial")


def test_a_file_the_engine_refuses_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(ModelError, match="no.gguf"):
        run_trial(path)


def test_a_trial_whose_parent_is_gone_already_ends() -> None:
    """It may be killed before the child has begun: then there is nobody to notice the end of."""
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, check=True).stdout.strip()
    command = [*module_command("nextok.backends.trial"), "/dev/stdin", gone.decode()]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:  # a model that never comes
        assert child.wait(timeout=60) == 1


def test_what_lies_in_the_folder_is_not_run(
    emoji_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "typing.py").write_text("raise ImportError('not this one')")
    monkeypatch.chdir(tmp_path)
    run_trial(emoji_gguf)


def test_a_trial_ends_with_the_one_who_waits_for_it() -> None:
    """Killed, a parent can end nobody: the child has to notice."""
    child = (
        "import os, sys, time; from nextok.backends.child import run_child\n"
        "sys.argv.append(os.getppid()); print('runs', flush=True)\n"
        "run_child(lambda: time.sleep(60))"
    )
    parent = subprocess.Popen(
        ["sh", "-c", f'"{sys.executable}" -c "{child}" & wait'], stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"runs\n"
    parent.kill()
    out, _ = parent.communicate(timeout=60)  # until the child closes its end, too
    assert out == b""
