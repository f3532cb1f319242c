"""`nextok config`: every effective value, and where it comes from."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from shutil import get_terminal_size

from nextok.backends.gguf_header import read_header
from nextok.backends.locate import locate
from nextok.backends.recommended_sampling import recommended_sampling
from nextok.cli.commands import COMMANDS, DEFAULT, Command, find
from nextok.cli.console import Console, is_terminal, one_line, use_color
from nextok.cli.flag_table import flags_of
from nextok.cli.flag_types import Choice
from nextok.cli.flags import Flag
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import names_of, recommendations
from nextok.cli.number_types import Duration, Number
from nextok.cli.resolution import BUILT_IN, Resolved, resolve
from nextok.cli.settings import LogitBias
from nextok.cli.spelling import hint
from nextok.generation.errors import NextokError, UsageError

_LEAST_WIDTH = 40
"""Columns of a terminal that the table needs."""


@dataclass(frozen=True, kw_only=True)
class _Row:
    """One setting."""

    panel: str
    name: str
    value: object
    """As JSON can say it."""
    origin: str


def config(invocation: Invocation) -> int:
    """Print the settings of `generate`, or of the command named; or only the file's path."""
    resolved = invocation.resolved
    if resolved.value("path"):
        print(resolved.config.path)
        return 0
    command = _command(invocation.words)
    meant = resolve(command.name, _given(resolved), invocation.environ, resolved.config)
    meant = _with_model(meant, invocation.console)
    rows = [_row(flag, meant) for flag in flags_of(command.name) if flag.ambient]
    if resolved.output.json:
        print(_as_json(meant, rows))
    elif is_terminal(sys.stdout) and get_terminal_size().columns >= _LEAST_WIDTH:
        _print_table(meant, rows, invocation)
    else:
        print(_as_text(rows))
    return 0


def _with_model(resolved: Resolved, console: Console) -> Resolved:
    """With what the model's table and the model's own file say, if it is here."""
    reference = resolved.engine.model
    try:
        path = locate(reference, resolved.config.aliases)
        recommended = recommended_sampling(read_header(path).metadata) if path else {}
    except (NextokError, OSError):
        return resolved  # a run would say what is wrong with the model
    return resolved.with_model(names_of(reference, path), recommendations(recommended, console))


def _command(words: tuple[str, ...]) -> Command:
    name = words[0] if words else DEFAULT
    command = find(name)
    if command is None:
        near = hint(name, [one.name for one in COMMANDS])
        raise UsageError(f"there is no command {name}{near}")
    return command


def _given(resolved: Resolved) -> Mapping[str, object]:
    """The flags, without those that are about this command's own output."""
    flags = resolved.asked[0].values
    return {key: value for key, value in flags.items() if key not in ("json", "path")}


def _row(flag: Flag, resolved: Resolved) -> _Row:
    value = spelled(flag, resolved.value(flag.key))
    return _Row(
        panel=flag.panel, name=flag.title, value=value, origin=resolved.origin(flag.key)
    )  # fmt: skip


def spelled(flag: Flag, value: object) -> object:
    """The value as the flag spells it, if JSON has no word for it."""
    if isinstance(value, LogitBias):
        named = isinstance(value.token, str)
        return f"{value.token}={value.value:g}" if named else f"{value.token}{value.value:+g}"
    if isinstance(value, tuple):
        return [spelled(flag, one) for one in value]
    return next((word for word, meant in _words(flag).items() if meant == value), value)


def _words(flag: Flag) -> Mapping[str, object]:
    """The words of its kind that stand for values."""
    if isinstance(flag.kind, Choice):
        return flag.kind.values
    return flag.kind.words if isinstance(flag.kind, (Number, Duration)) else {}


def _as_json(resolved: Resolved, rows: list[_Row]) -> str:
    return json.dumps(
        {
            "path": resolved.config.path,
            "command": resolved.command,
            "settings": {row.name: {"value": row.value, "origin": row.origin} for row in rows},
            "aliases": dict(resolved.config.aliases),
        },
        ensure_ascii=False,
        indent=2,
    )


def _shown(value: object) -> str:
    """A value in one short line: words bare, everything else as JSON has it, nothing as -."""
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, str) and value and value == value.strip():
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False))


def _as_text(rows: list[_Row]) -> str:
    cells = [(row.name, _shown(row.value), one_line(row.origin)) for row in rows]
    names = max(len(name) for name, _, _ in cells)
    values = max(len(value) for _, value, _ in cells)
    values = min(values, 40)
    return "\n".join(f"{name:{names}}  {value:{values}}  {origin}" for name, value, origin in cells)


def _print_table(resolved: Resolved, rows: list[_Row], invocation: Invocation) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console as Page
    from rich.table import Table
    from rich.text import Text

    color = use_color(resolved.output.color, terminal=True, environ=invocation.environ)
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("setting", "value", "from"):
        table.add_column(title, overflow="fold")
    panel = rows[0].panel
    for row in rows:
        if row.panel != panel:
            table.add_section()
            panel = row.panel
        style = "dim" if row.origin == BUILT_IN else "bold"
        table.add_row(row.name, Text(_shown(row.value), style), Text(one_line(row.origin), style))
    console = Page(force_terminal=color, color_system="standard" if color else None)
    with console.capture() as page:
        console.print(table)
        console.print(Text(f"config file: {one_line(resolved.config.path)}", "dim"))
    sys.stdout.write(page.get())
