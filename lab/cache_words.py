"""What the KV cache saves, in three sentences and two pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator

from nextok.lab.cache_comparison import CacheComparison, Timed
from nextok.lab.chart import Chart, Series
from nextok.lab.latency_figures import milliseconds
from nextok.lab.numbers import counted, number

_CACHED, _AGAIN = "with the KV cache", "reading everything again for each token"
FEWEST_TOKENS = 4
"""Three times between tokens, through which a line can go."""
_APART = 1.15
"""Times as much: from here on two growths are taken for different ones."""


def cache_sentences(found: CacheComparison) -> tuple[str, ...]:
    """Three; as many as there are figures for."""
    return tuple(_sentences(found))


def _sentences(found: CacheComparison) -> Iterator[str]:
    cached, again = found.cached, found.again
    flat, steep = cached.line, again.line
    if flat is None or (steep is None and found.whole):
        yield from _tiny(found)
        return
    if steep is None:
        yield (
            f"With the KV cache a token takes {_ms(flat.at(1))} at the beginning and "
            f"{_ms(flat.at(len(cached.seconds) - 1))} at token {len(cached.seconds) - 1:,}; "
            "it was cut short before as much was known without it."
        )
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
    wait = found.patience_seconds
    yield (
        f"A reader who waits {wait:g} s reads {_read(cached, wait)} with it and "
        f"{_read(again, wait)} without; the greedy outputs {_compared(found)}."
    )


def _tiny(found: CacheComparison) -> Iterator[str]:
    """Of so few tokens that no line goes through their times."""
    cached, again, few = found.cached.seconds, found.again.seconds, f"{FEWEST_TOKENS} tokens on"
    if not found.whole:
        yield (
            f"It was cut short after {counted(len(cached), 'token')} with the KV cache and "
            f"{len(again):,} without it: the time of each can be told from {few}."
        )
        return
    yield (
        f"{counted(len(cached), 'token')} took {_seconds(sum(cached))} with the KV cache and "
        f"{_seconds(sum(again))} without it."
    )
    yield f"How the time of a token grows can be told from {few}: a larger -n shows it."
    yield f"The greedy outputs {_compared(found)}."


def _growth(slope: float) -> str:
    return f"{_ms(slope)} more" if slope > 0 else "nothing more"


def _doubled(cached: Timed, again: Timed) -> str:
    """What twice the length costs: the mark of O(N) is 2, that of O(N²) with nothing else 4."""
    with_it, without = cached.doubling or math.nan, again.doubling or math.nan
    said = f"twice the length takes {with_it:.1f} times as long with it"
    if _tells(cached, again):
        return f"{said} and {without:.1f} times without it, O(N) against O(N²)"
    return f"{said} and {without:.1f} times without it: too short a text to tell O(N²) from O(N)"


def _tells(cached: Timed, again: Timed) -> bool:
    """Whether the text was long enough to tell O(N²) from O(N)."""
    with_it, without = cached.doubling, again.doubling
    return with_it is not None and without is not None and without > with_it * _APART


def _read(timed: Timed, wait: float) -> str:
    count = timed.read_in(wait)
    if count is None or math.isinf(count):
        return "everything"
    seen = sum(timed.seconds) >= wait
    said = counted(round(count), "token")
    return said if seen else f"about {said} (by the line)"


def _compared(found: CacheComparison) -> str:
    if found.differs is None:
        return "are the same, token for token"
    near = "" if found.margin is None else f", where two logits are {number(found.margin, 2)} apart"
    return f"part at token {found.differs}{near}"


def cache_charts(found: CacheComparison) -> tuple[Chart, ...]:
    """The time of each token, and the time until each token."""
    return () if found.cached.line is None else (_latency(found), _totals(found))


def _latency(found: CacheComparison) -> Chart:
    return Chart(
        name="latency",
        title="Time of each token, with the KV cache and without it",
        x_label="token index",
        y_label="time of the token (ms)",
        series=(*_fitted(found.again, _AGAIN), *_fitted(found.cached, _CACHED)),
        notes=(_how(found), "Lines: Theil–Sen, which single slow tokens cannot bend."),
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
        sign = "−" if line.slope < 0 else "+"
        said = f"{_ms(line.intercept)} {sign} {_ms(abs(line.slope))} × index"
        ends = [1, last]
        yield Series(label=said, x=ends, y=[1000 * line.at(x) for x in ends], like=label)


def _totals(found: CacheComparison) -> Chart:
    wait, shown = found.patience_seconds, ((found.again, _AGAIN), (found.cached, _CACHED))
    last = max(len(timed.seconds) for timed, _ in shown)
    crossings = [timed.read_in(wait) for timed, _ in shown if sum(timed.seconds) >= wait]
    tells = _tells(found.cached, found.again)
    orders = f"{'O(N) ' * tells}with the KV cache, {'O(N²) ' * tells}without it"
    return Chart(
        name="total",
        title=f"Time until each token: {orders}",
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
            (at, f"{wait:g} s: {counted(round(at), 'token')}") for at in crossings if at is not None
        ),
        notes=(_how(found),),
    )


def _how(found: CacheComparison) -> str:
    return f"{found.settings} · greedy · prompt of {counted(found.prompt_tokens, 'token')}"


def _ms(seconds: float) -> str:
    return f"{'−' if seconds < 0 else ''}{milliseconds(abs(1000 * seconds))} ms"


def _seconds(seconds: float) -> str:
    if seconds < 0.1:
        return _ms(seconds)
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.1f} s"
