"""Where nextok keeps things, by the platform's conventions.

On Linux their rule (XDG) is one line, and platformdirs, which has it too, costs every start 10 ms:
it is asked on other systems alone, and by the test that holds this line to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_APPLICATION = "nextok"


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's settings; NEXTOK_CONFIG names another file."""
    named = environ.get("NEXTOK_CONFIG")
    if named:
        return Path(os.path.abspath(os.path.expanduser(named)))
    if sys.platform == "linux":
        return _xdg("XDG_CONFIG_HOME", "~/.config", environ) / "config.toml"
    import platformdirs

    return platformdirs.user_config_path(_APPLICATION) / "config.toml"


def cache_folder() -> Path:
    """What can be computed again."""
    if sys.platform == "linux":
        return _xdg("XDG_CACHE_HOME", "~/.cache")
    import platformdirs

    return platformdirs.user_cache_path(_APPLICATION)


def state_folder() -> Path:
    """What is remembered between runs."""
    if sys.platform == "linux":
        return _xdg("XDG_STATE_HOME", "~/.local/state")
    import platformdirs

    return platformdirs.user_state_path(_APPLICATION)


def chats_folder() -> Path:
    """Saved chats."""
    return state_folder() / "chats"


def journal_file() -> Path:
    """How generations ended."""
    return state_folder() / "journal.sqlite"


def input_history() -> Path:
    """What was typed in chats."""
    return state_folder() / "history"


def states_folder() -> Path:
    """KV states, of chats and of prompts."""
    return cache_folder() / "kv"


def quantized_folder() -> Path:
    """Copies of models in other types, made for experiments."""
    return cache_folder() / "quantized"


def _xdg(variable: str, otherwise: str, environ: Mapping[str, str] = os.environ) -> Path:
    base = environ.get(variable, "")
    return Path(base if os.path.isabs(base) else os.path.expanduser(otherwise)) / _APPLICATION
