"""`nextok ls`: the models on this machine, whoever brought them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from nextok.backends.gguf_header import read_header
from nextok.backends.header_values import Values
from nextok.backends.local_models import LocalModel, local_models
from nextok.backends.locate import look_up
from nextok.backends.split_files import first_part
from nextok.cli.answer import json_text
from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.units import ago, size
from nextok.generation.errors import ModelError, NextokError

_COLUMNS = (
    Column(title="name", style="bold", fold=True),
    Column(title="quant", style="cyan"),
    Column(title="size", right=True, style="green"),
    Column(title="context", right=True),
    Column(title="last used"),
    Column(title="from", style="dim"),
)


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """One model and what else is worth a column."""

    model: LocalModel
    context_tokens: int | None
    aliases: Sequence[str]


def ls(invocation: Invocation) -> int:
    """Print a table, or one JSON object."""
    aliases = {
        name: found
        for name, target in invocation.resolved.config.aliases.items()
        if (found := _path(target)) is not None
    }
    listed = [_listed(model, aliases) for model in local_models()]
    if invocation.resolved.output.json:
        plain_stdout().line(json_text({"models": [_as_dict(one) for one in listed]}))
    elif listed:
        now = time.time()
        total = sum(one.model.bytes for one in listed)
        count = f"{len(listed)} model{'' if len(listed) == 1 else 's'}"
        print_columns(
            _COLUMNS, [_row(one, now) for one in listed], invocation.resolved.output,
            foot=f"{count}, {size(total)}",
        )  # fmt: skip
    else:
        invocation.console.note(
            "no models here yet: nextok search WORDS finds some, nextok pull REF fetches one"
        )
    return ANSWERED


def _path(target: str) -> Path | None:
    """The file an alias leads to, if it is here."""
    try:
        return look_up(target, {}).path
    except NextokError:
        return None


def _listed(model: LocalModel, aliases: Mapping[str, Path]) -> _Listed:
    return _Listed(
        model=model,
        context_tokens=context_tokens(model.path),
        aliases=sorted(alias for alias, path in aliases.items() if path == model.path),
    )


def context_tokens(path: Path) -> int | None:
    """The context a model was trained for, from its header; None when it does not say."""
    try:
        return Values(read_header(first_part(path))).integer("context_length")
    except (ModelError, OSError):
        return None


def _row(one: _Listed, now: float) -> list[str]:
    model = one.model
    also = f" ({', '.join(one.aliases)})" if one.aliases else ""
    return [
        model.name + also,
        model.quant or "-",
        size(model.bytes),
        "-" if one.context_tokens is None else f"{one.context_tokens:,}",
        "-" if model.last_used is None else ago(now - model.last_used),
        model.origin,
    ]


def _as_dict(one: _Listed) -> Mapping[str, object]:
    model = one.model
    return {
        "name": model.name,
        "aliases": one.aliases,
        "path": str(model.path),
        "quant": model.quant,
        "bytes": model.bytes,
        "context_tokens": one.context_tokens,
        "last_used": None if model.last_used is None else _moment(model.last_used),
        "origin": model.origin,
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(round(seconds), timezone.utc).isoformat()
