"""The config file: `[defaults]`, `[commands.NAME]`, `[models."REF"]` and `[aliases]`.

Reads, checks and names what it does not know; a missing file is an empty one. An alias of an
alias is what that stands for; aliases that go in a circle are refused. Only UsageError leaves
here, and it names the file.
"""

from __future__ import annotations

import importlib
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nextok.backends.folders import config_file
from nextok.cli.commands import COMMANDS, CommandName, find
from nextok.cli.flag_table import BY_WORD, typed_only
from nextok.cli.flags import Flag
from nextok.cli.spelling import hint
from nextok.generation.errors import UsageError

_TABLES = ("defaults", "commands", "models", "aliases")

_MOST_BYTES = 1_000_000

Values = Mapping[str, object]


class ConfigFile(NamedTuple):
    """What the file says, checked; values by the keys of the settings."""

    path: str
    defaults: Values = {}
    commands: Mapping[str, Values] = {}
    models: Mapping[str, Values] = {}
    aliases: Mapping[str, str] = {}


def config_path(environ: Mapping[str, str]) -> str:
    """Where the file is, or would be."""
    return str(config_file(environ))


def read_config(path: str) -> ConfigFile:
    """Read and check the file at `path`."""
    tables = _load(path)
    _refuse_unknown(tables, _TABLES, path, "table")
    reader = _Reader(path)
    commands = _table(tables, "commands", path)
    models = _table(tables, "models", path)
    return ConfigFile(
        path=path,
        defaults=reader.settings("[defaults]", _table(tables, "defaults", path)),
        commands={
            reader.command(name): reader.settings(
                f"[commands.{name}]",
                _table(commands, name, path, "commands."),
                only=reader.command(name),
            )
            for name in commands
        },
        models={
            ref: reader.settings(
                f'[models."{ref}"]', _table(models, ref, path, "models."), model=True
            )
            for ref in models
        },
        aliases=reader.aliases(_table(tables, "aliases", path)),
    )


class _Reader:
    """Turns tables of one file into settings."""

    def __init__(self, path: str) -> None:
        self._path = path

    def settings(
        self,
        table: str,
        entries: Mapping[str, object],
        *,
        only: CommandName | None = None,
        model: bool = False,
    ) -> Values:
        """The settings of a table: of one command, or of a model."""
        found: dict[str, object] = {}
        for key, value in entries.items():
            flag, meant = self._flag(key, table, only)
            if flag.key in found:
                raise UsageError(f"{self._path}: {table} sets {flag.title} twice: keep one")
            if model and flag.key == "model":
                raise UsageError(f"{self._path}: {table} cannot name another model: use [aliases]")
            accepted = flag.accept(value, f"{self._path}: {key} in {table}")
            found[flag.key] = accepted if meant else not accepted
            if flag.key in ("model", "draft"):
                found[flag.key] = self._beside(str(accepted))
        return found

    def command(self, name: str) -> CommandName:
        """The command a table is named after."""
        command = find(name)
        if command is None:
            names = [one.name for one in COMMANDS]
            raise UsageError(f"{self._path}: there is no command {name}{hint(name, names)}")
        return command.name

    def aliases(self, entries: Mapping[str, object]) -> Mapping[str, str]:
        """Names for models."""
        for name, target in entries.items():
            if not isinstance(target, str) or not target:
                raise UsageError(f"{self._path}: alias {name} must be a text, not {target!r}")
        targets = {name: self._beside(str(target)) for name, target in entries.items()}
        return {name: self._end_of(name, targets) for name in targets}

    def _end_of(self, name: str, targets: Mapping[str, str]) -> str:
        """What an alias stands for in the end."""
        way = [name]
        while (target := targets[way[-1]]) in targets:
            if target in way:
                circle = " -> ".join([*way[way.index(target) :], target])
                raise UsageError(f"{self._path}: [aliases] go in a circle: {circle}")
            way.append(target)
        return target

    def _flag(self, key: str, table: str, only: CommandName | None) -> tuple[Flag, bool]:
        found = BY_WORD.get(key.replace("-", "_"))
        if found is None:
            if key.replace("-", "_") in typed_only():
                raise UsageError(
                    f"{self._path}: {table} has an unknown key {key}: "
                    "it is an option of the command line alone"
                )
            near = hint(key.replace("-", "_"), BY_WORD)
            raise UsageError(f"{self._path}: {table} has an unknown key {key}{near}")
        if only is not None and only not in found[0].commands:
            raise UsageError(f"{self._path}: {table}: `nextok {only}` has no setting {key}")
        return found

    def _beside(self, model: str) -> str:
        """A model file's path, meant from the config file's folder if it is there."""
        model = os.path.expanduser(model) if model.startswith("~") else model
        beside = os.path.join(os.path.dirname(self._path), model)
        return beside if model.endswith(".gguf") and os.path.exists(beside) else model


def _load(path: str) -> dict[str, object]:
    if path == os.devnull:
        return {}
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # to open a pipe may take for ever
            raise UsageError(f"cannot read {path}: a pipe or a device, not a file")
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES:,} bytes: this is no config file")
    return _parse(data, path)


def _parse(data: bytes, path: str) -> dict[str, object]:
    # The same library under both names; a type checker would know only one of them.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        tables: dict[str, object] = toml.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}: line {line} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    return tables


def _table(
    entries: Mapping[str, object], name: str, path: str, parent: str = ""
) -> Mapping[str, object]:
    table = entries.get(name, {})
    if not isinstance(table, dict):
        spelled = f'"{name}"' if parent == "models." else name
        raise UsageError(f"{path}: {parent}{name} must be a table, as in [{parent}{spelled}]")
    return table


def _refuse_unknown(
    entries: Mapping[str, object], known: Iterable[str], path: str, noun: str
) -> None:
    for name in entries:
        if name not in known:
            inside = " (settings go into [defaults])" if name.replace("-", "_") in BY_WORD else ""
            raise UsageError(f"{path}: unknown {noun} {name}{inside}{hint(name, known)}")
