"""What the KV cache saves, in three sentences and two pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nextok.lab.chart import Chart, Series
from nextok.lab.latency_figures import milliseconds

if TYPE_CHECKING:
    from nextok.lab.cache import Timed

_CACHED, _AGAIN = "with the KV cache", "reading everything again for each token"
_APART = 1.15
"""Times as much: from here on two growths are taken for different ones."""
Data = Mapping[str, object]


def cache_sentences(cached: Timed, again: Timed, data: Data) -> tuple[str, ...]:
    """Three; as many as there are figures for."""
    return tuple(_sentences(cached, again, data))


def _sentences(cached: Timed, again: Timed, data: Data) -> Iterator[str]:
    flat, steep = cached.line, again.line
    if flat is None or steep is None:
        return
    last = len(again.seconds) - 1
    yield (
        f"With the KV cache a token takes {_ms(flat.at(1))} at the beginning and "
        f"{_ms(flat.at(last))} at token {last:,}; without it {_ms(steep.at(1))} and "
        f"{_ms(steep.at(last))}: {_growth(steep.slope)} with every token there is to read again."
    )
    yield (
        f"The {last + 1:,} tokens took {_seconds(sum(cached.seconds[: last + 1]))} with it and "
        f"{_seconds(sum(again.seconds))} without; {_doubled(cached, again)}."
    )
    wait = data["patience_s"]
    yield (
        f"A reader who waits {wait:g} s reads {_read(cached, wait)} with it and "
        f"{_read(again, wait)} without; the greedy outputs {_compared(data)}."
    )


def _growth(slope: float) -> str:
    return f"{_ms(slope)} more" if slope > 0 else "nothing more"


def _doubled(cached: Timed, again: Timed) -> str:
    """What twice the length costs: the mark of O(N) is 2, that of O(N²) with nothing else 4."""
    with_it, without = cached.doubling or math.nan, again.doubling or math.nan
    said = f"twice the length takes {with_it:.1f} times as long with it"
    if without > with_it * _APART:
        return f"{said} and {without:.1f} times without it, O(N) against O(N²)"
    return f"{said} and {without:.1f} times without it: too short a text to tell O(N²) from O(N)"


def _read(timed: Timed, wait: object) -> str:
    assert isinstance(wait, float)
    found = timed.read_in(wait)
    if found is None or math.isinf(found):
        return "everything"
    seen = timed.totals[-1] >= wait
    return f"{found:,.0f} tokens" if seen else f"about {found:,.0f} tokens (by the line)"


def _compared(data: Data) -> str:
    if data["same_output"]:
        return "are the same, token for token"
    differs, margin = data["first_difference"], data["difference_margin_logits"]
    if not isinstance(differs, int):
        return "are the same as far as both go"
    near = f", where the two candidates' logits are {margin:.2g} apart" if margin else ""
    return f"part at token {differs}{near}"


def cache_charts(cached: Timed, again: Timed, data: Data) -> tuple[Chart, ...]:
    """The time of each token, and the time until each token."""
    if cached.line is None or again.line is None:
        return ()
    return _latency(cached, again, data), _totals(cached, again, data)


def _latency(cached: Timed, again: Timed, data: Data) -> Chart:
    return Chart(
        name="latency",
        title="Time of each token, with the KV cache and without it",
        x_label="token index",
        y_label="time of the token (ms)",
        series=(*_fitted(again, _AGAIN), *_fitted(cached, _CACHED)),
        notes=(_how(data), "Lines: Theil–Sen, which single slow tokens cannot bend."),
    )


def _fitted(timed: Timed, label: str) -> Iterator[Series]:
    line, last = timed.line, len(timed.seconds) - 1
    yield Series(
        label=label,
        x=list(timed.indexes),
        y=[1000 * one for one in timed.seconds[1:]],
        kind="points",
    )
    if line is not None:
        said = f"{_ms(line.intercept)} + {_ms(line.slope)} × index"
        ends = [1, last]
        yield Series(label=said, x=ends, y=[1000 * line.at(x) for x in ends], like=label)


def _totals(cached: Timed, again: Timed, data: Data) -> Chart:
    wait = data["patience_s"]
    assert isinstance(wait, float)
    last = max(len(cached.seconds), len(again.seconds))
    shown = [(timed, label) for timed, label in ((again, _AGAIN), (cached, _CACHED))]
    crossings = [(timed.read_in(wait), timed.totals[-1]) for timed, _ in shown]
    return Chart(
        name="total",
        title="Time until each token: O(N) with the KV cache, O(N²) without it",
        x_label="token index",
        y_label="time since the prompt was sent (s)",
        series=(
            *(
                Series(label=label, x=list(range(len(timed.seconds))), y=timed.totals)
                for timed, label in shown
            ),
            Series(label=f"the reader's patience: {wait:g} s", x=[0, last], y=[wait, wait]),
        ),
        marks=tuple(
            (at, f"{wait:g} s: {at:,.0f} tokens")
            for at, total in crossings
            if at is not None and total >= wait
        ),
        notes=(_how(data),),
    )


def _how(data: Data) -> str:
    return f"{data['settings']} · greedy · prompt of {data['prompt_tokens']} tokens"


def _ms(seconds: float) -> str:
    return f"{'−' if seconds < 0 else ''}{milliseconds(abs(1000 * seconds))} ms"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.1f} s"
