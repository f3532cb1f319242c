"""How far a benchmark is, on the status line: the round, what is measured, and how long it takes.

A thread of its own counts the seconds down: a single measurement may take minutes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from nextok.cli.bench_words import measured, who
from nextok.cli.status import Status
from nextok.cli.units import duration
from nextok.lab.bench_plan import Plan
from nextok.lab.bench_run import Progress

_TICK = 1.0
"""Seconds."""


class BenchProgress:
    """A listener of one benchmark."""

    def __init__(self, plan: Plan, status: Status, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._status = status
        self._clock = clock
        self._now: tuple[Progress, float] | None = None
        """What is going on, and since when."""

    def __call__(self, progress: Progress) -> None:
        """That is what comes now."""
        self._now = progress, self._clock()
        self.tick()

    def tick(self) -> None:
        """Time has passed."""
        if self._now is not None:
            progress, since = self._now
            self._status.show(line(self._plan, progress, self._clock() - since))

    @contextlib.contextmanager
    def ticking(self) -> Iterator[None]:
        """Show the time that is left every second, as long as this lasts."""
        over = threading.Event()
        thread = threading.Thread(target=self._tick_until, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._status.clear()

    def _tick_until(self, over: threading.Event) -> None:
        while not over.wait(_TICK):
            self.tick()


def line(plan: Plan, progress: Progress, passed_seconds: float) -> str:
    """What there is to say."""
    step = progress.step
    if step is None:
        return "warming up"
    parts = [
        f"round {step.round + 1} of {plan.rounds}",
        f"{measured(step.measure)}, {who(plan, step.subject)}",
    ]
    if progress.left_seconds is not None:
        left = max(0.0, progress.left_seconds - passed_seconds)
        parts.append(f"about {duration(left)} to go")
    return " · ".join(parts)
