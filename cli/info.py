"""`nextok info`: versions, the engine's build, threads, folders and the default model."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from nextok.backends.engine_build import EngineBuild, engine_build
from nextok.backends.folders import (
    cache_folder,
    chats_folder,
    config_file,
    input_history,
    quantized_folder,
    state_folder,
    states_folder,
)
from nextok.backends.hub_cache import HubCache
from nextok.backends.journal import user_journal
from nextok.backends.local_models import LocalModel, local_models
from nextok.backends.locate import find_starter
from nextok.backends.memory import available_bytes
from nextok.backends.threads import default_threads
from nextok.cli.answer import json_text
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import DEFAULT_CONTEXT
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.table import Row, print_table
from nextok.cli.units import size

_NO_MODEL = "none: pip install 'nextok[starter]', or name one with -m FILE.gguf"


def info(invocation: Invocation) -> int:
    """Print a table, or one JSON object."""
    build = engine_build()
    if invocation.resolved.engine.gpu_layers and not build.gpu:
        invocation.console.warning(
            "this build of the engine has no GPU support: layers stay on the CPU"
        )
    facts = _facts(invocation, build)
    if invocation.resolved.output.json:
        plain_stdout().line(json_text(facts))
    else:
        print_table([_row(name, value) for name, value in facts.items()], invocation)
    return ANSWERED


def _facts(invocation: Invocation, build: EngineBuild) -> Mapping[str, object]:
    engine = invocation.resolved.engine
    memory = available_bytes()
    return {
        "nextok": version("nextok"),
        "python": platform.python_version(),
        "engine": build.name,
        "engine library": str(build.path),
        "engine features": list(build.features),
        "GPU support": build.gpu,
        "devices": list(build.devices),
        "threads": engine.threads or default_threads(),
        "memory available": None if memory is None else size(memory),
        "context": _context(engine.ctx_size),
        "default model": _default_model(engine.model),
        "config file": _described(config_file()),
        "state folder": _described(state_folder()),
        "journal": _journal(),
        "saved chats": _described(chats_folder()),
        "input history": _described(input_history()),
        "cache folder": _described(cache_folder()),
        "KV states": _described(states_folder()),
        "quantised copies": _described(quantized_folder()),
        "hub cache": _described(HubCache().root),
        **_other_models(local_models()),
    }


def _context(asked: int | None) -> str:
    if asked is None:
        return f"what the model was trained for, at most {DEFAULT_CONTEXT} tokens (--ctx-size)"
    return "what the model was trained for" if asked == 0 else f"{asked} tokens"


def _default_model(configured: str | None) -> str:
    starter = find_starter()
    return configured or (str(starter) if starter else _NO_MODEL)


def _journal() -> str:
    """With what SQLite keeps beside it."""
    journal = user_journal()
    taken = journal.size_bytes()
    return f"{journal.path} ({size(taken) if taken else _trouble(journal.path) or size(0)})"


def _described(path: Path) -> str:
    trouble = _trouble(path)
    if trouble:
        return f"{path} ({trouble})"
    files = [path.resolve()] if path.is_file() else path.rglob("*")
    return f"{path} ({size(sum(map(_own_bytes, files)))})"


def _trouble(path: Path) -> str | None:
    """Why nobody can say how large it is."""
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            os.scandir(path).close()
    except (FileNotFoundError, NotADirectoryError):
        return "not there yet"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None


def _own_bytes(path: Path) -> int:
    """0 for what takes no room of its own: a link in the hub's cache leads to what is counted."""
    try:
        status = path.lstat()
    except OSError:  # it has gone meanwhile
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _other_models(models: Sequence[LocalModel]) -> Mapping[str, object]:
    """Where other tools' models are, that are used in place."""
    found = {}
    for origin, name in (("ollama", "Ollama's models"), ("lm studio", "LM Studio's models")):
        theirs = {model.path: model.bytes for model in models if model.origin == origin}
        if theirs:
            folder = os.path.commonpath([path.parent for path in theirs])
            found[name] = f"{folder} ({size(sum(theirs.values()))})"
    return found


def _row(name: str, value: object) -> Row:
    if isinstance(value, bool):
        return name, "yes" if value else "no"
    if isinstance(value, list):
        return name, ", ".join(map(str, value))
    return name, "unknown" if value is None else str(value)
