"""`nextok log`: the last generations of the journal; with `prune`, the old ones taken away."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from shutil import get_terminal_size

from nextok.backends.journal import Row
from nextok.cli.answer import json_text
from nextok.cli.asked_journal import EMPTY, asked_journal
from nextok.cli.columns import Column, print_columns
from nextok.cli.console import is_terminal
from nextok.cli.exit_codes import ANSWERED
from nextok.cli.invocation import Invocation
from nextok.cli.loaded_prompt import plain_stdout
from nextok.cli.log_pruning import named_rest, prune
from nextok.cli.stats_report import utc
from nextok.cli.units import brief

Cell = tuple[Column, Callable[[Row], str]]

_ENDED = (Column(title="ended", style="dim"), lambda row: _when(row, "%Y-%m-%d %H:%M:%S"))
_BRIEFLY = (_ENDED[0], lambda row: _when(row, "%m-%d %H:%M"))
_COMMAND = (Column(title="command"), lambda row: row.command)
_MODEL = (Column(title="model", fold=True), lambda row: row.model)
_PROMPT = (Column(title="prompt", right=True), lambda row: _number(row.prompt_tokens))
_CACHED = (Column(title="cached", right=True), lambda row: _number(row.cached_tokens))
_TOKENS = (Column(title="tokens", right=True), lambda row: _number(row.completion_tokens))
_HOW = (Column(title="how it ended", style="bold", fold=True), lambda row: _ending(row))
_TTFT = (Column(title="TTFT", right=True), lambda row: _time(row.ttft_seconds))
_ITL = (Column(title="ITL p50", right=True), lambda row: _time(row.itl_p50_seconds))
_TOTAL = (Column(title="total", right=True), lambda row: _time(row.total_seconds))

_ALL: Sequence[Cell] = (
    _ENDED, _COMMAND, _MODEL, _PROMPT, _CACHED, _TOKENS, _HOW, _TTFT, _ITL, _TOTAL,
)  # fmt: skip
_BY_WIDTH: Sequence[tuple[int, Sequence[Cell]]] = (
    (110, (_BRIEFLY, *_ALL[1:])),
    (76, (_BRIEFLY, _MODEL, _TOKENS, _HOW, _TTFT, _ITL)),
    (56, (_BRIEFLY, _TOKENS, _HOW, _TTFT, _ITL)),
    (0, (_BRIEFLY, _TOKENS, _HOW)),
)
"""What a terminal of so many columns has room for."""


def log(invocation: Invocation) -> int:
    """The newest last, as a log has it."""
    settings = invocation.resolved.journal
    rest = settings.prune
    if invocation.words:
        rest = named_rest(invocation.words, rest)
    if rest is not None:
        return prune(rest, invocation)
    with asked_journal(invocation) as asked:
        rows = asked.queries.last(settings.rows, asked.models)[::-1]
        is_empty = not asked.queries.models()
    if invocation.resolved.output.json:
        plain_stdout().line(json_text({"generations": [as_dict(row) for row in rows]}))
    elif rows:
        _print(rows, invocation)
    else:
        invocation.console.note(EMPTY if is_empty else "no generation since then")
    return ANSWERED


def as_dict(row: Row) -> Mapping[str, object]:
    """For JSON, with the keys that `--json` has for one generation."""
    told: dict[str, object] = {
        "time": utc(row.ended_at),
        "command": row.command,
        "model": row.model,
        "quantization": row.quantization,
        "threads": row.threads,
        "prompt_tokens": row.prompt_tokens,
        "cached_tokens": row.cached_tokens,
        "completion_tokens": row.completion_tokens,
        "finish_reason": row.finish,
        "stop": row.stop,
        "seed": row.seed,
        "version": row.version,
        "timings": _timings(row),
    }
    if row.text is not None:
        told |= {"prompt": row.text.prompt, "text": row.text.answer}
        told |= {"reasoning": row.text.reasoning} if row.text.reasoning else {}
    return told


def _timings(row: Row) -> Mapping[str, object]:
    gaps = {
        "p50": row.itl_p50_seconds,
        "p95": row.itl_p95_seconds,
        "p99": row.itl_p99_seconds,
        "max": row.itl_max_seconds,
    }
    known = {name: round(value * 1000, 3) for name, value in gaps.items() if value is not None}
    return {
        "load_s": _rounded(row.load_seconds),
        "prefill_s": _rounded(row.prefill_seconds),
        "ttft_s": _rounded(row.ttft_seconds),
        "itl_ms": known or None,
        "decode_s": _rounded(row.decode_seconds),
        "total_s": _rounded(row.total_seconds),
    }


def _print(rows: Sequence[Row], invocation: Invocation) -> None:
    cells = _ALL
    if is_terminal(sys.stdout):
        width = get_terminal_size().columns
        cells = next(cells for least, cells in _BY_WIDTH if width >= least)
    print_columns(
        [column for column, _ in cells],
        [[value(row) for _, value in cells] for row in rows],
        invocation.resolved.output,
    )


def _when(row: Row, form: str) -> str:
    return datetime.fromtimestamp(row.ended_at).strftime(form)


def _ending(row: Row) -> str:
    return row.finish if row.stop is None else f"{row.finish} {row.stop!r}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else brief(seconds)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
