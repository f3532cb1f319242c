"""Where the engine's library is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.backends.llama_library import library_path
from nextok.generation.errors import EngineError


def test_a_variable_that_leads_nowhere_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", str(tmp_path / "none"))
    with pytest.raises(EngineError, match=f"LLAMA_CPP_LIB_PATH is {tmp_path}/none"):
        library_path()
