"""The folders are those of platformdirs, whatever the environment says."""

from __future__ import annotations

import platformdirs
import pytest

from nextok.backends.folders import cache_folder, config_file, state_folder


@pytest.mark.parametrize("value", [None, "", "  ", "/somewhere/else", "relative"])
def test_they_are_where_the_platform_wants_them(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    assert cache_folder() == platformdirs.user_cache_path("nextok")
    assert state_folder() == platformdirs.user_state_path("nextok")
    assert config_file() == platformdirs.user_config_path("nextok") / "config.toml"
