"""Where nextok keeps things, by the platform's conventions."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def config_file() -> Path:
    """The user's settings; NEXTOK_CONFIG names another file."""
    named = os.environ.get("NEXTOK_CONFIG")
    return Path(named) if named else platformdirs.user_config_path("nextok") / "config.toml"


def cache_folder() -> Path:
    """What can be computed again."""
    return platformdirs.user_cache_path("nextok")


def state_folder() -> Path:
    """What is remembered between runs."""
    return platformdirs.user_state_path("nextok")
