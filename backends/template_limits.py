"""How much one rendering of a chat template may use up: steps, seconds, memory.

A template comes with a model file, from anyone. Promises that one which goes over is stopped,
whatever it does, without a second process. Refuses to know the template language.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, thread_time
from types import FrameType
from typing import Any, TypeVar

MAX_STEPS = 2_000_000
"""Lines of Python run; a conversation of a thousand messages takes some 30,000."""
MAX_SECONDS = 5.0
"""Of this thread's processor time."""
MAX_SIZE = 8_000_000
"""Characters in one text, or in the printed form of one list or mapping."""
MAX_BYTES = 160 * 2**20
"""All that is made during one rendering, thrown away or not."""

_STEPS_PER_GLANCE = 4
_SECONDS_PER_LOOK = 0.02
"""How often the wall clock is glanced at, and how long after a look at the processor's, which
costs ten times as much, comes the next. A single step can take tens of milliseconds.
"""

Made = TypeVar("Made")


class Exhausted(BaseException):
    """The template went over a limit.

    No Exception, so that no `except Exception` on its way can take it for its own.
    """


class Allowance:
    """What is left of the limits. One for each rendering."""

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        self._clock = clock
        self._bytes = 0
        self._sizes: dict[int, tuple[object, int]] = {}
        """By id, with the object itself so that the id stays its own."""

    def expect(self, size: int) -> None:
        """Refuse to make a text or container of more than MAX_SIZE."""
        if size > MAX_SIZE:
            raise Exhausted(f"makes something larger than {MAX_SIZE:,} characters")

    def made(self, value: Made) -> Made:
        """Count what has been made, and hand it on."""
        self._bytes += sys.getsizeof(value) if isinstance(value, _COUNTED) else 64
        if self._bytes > MAX_BYTES:
            raise Exhausted(f"uses more than {MAX_BYTES >> 20} MiB")
        self.size(value)
        return value

    def size(self, value: object) -> int:
        """About how many characters the value prints as, at most MAX_SIZE.

        Lists that hold one another many times over are small in memory and endless to print or
        compare, and no such operation can be interrupted: hence this for each container made.
        """
        if isinstance(value, (str, bytes)):
            return len(value)
        if isinstance(value, int):
            return 1 + value.bit_length() // 3
        if not isinstance(value, _CONTAINERS):
            return 32
        known = self._sizes.get(id(value))
        if known is None:
            known = (value, self._sum(value))
            self._sizes[id(value)] = known
        return known[1]

    def _sum(self, container: Any) -> int:
        total = 2
        parts = (
            container.items() if isinstance(container, dict) else ((item,) for item in container)
        )
        for part in parts:
            total += sum(self.size(item) + 2 for item in part)
            self.expect(total)
        return total

    @contextmanager
    def enforced(self, *, lines: bool = True) -> Iterator[None]:
        """Count the steps of this thread while the block runs; Exhausted when they are too many.

        Without `lines` only calls count: a third of the cost, enough where no loop is the
        template's own. Whoever was tracing (a debugger, a coverage tool) sees nothing of it
        and goes on after.
        """
        previous = sys.gettrace()
        sys.settrace(self._tracer(lines))
        try:
            yield
        finally:
            sys.settrace(previous)

    def _tracer(self, lines: bool) -> Callable[[FrameType, str, Any], Any]:
        steps, clock = 0, self._clock
        deadline, next_look = clock() + MAX_SECONDS, monotonic() + _SECONDS_PER_LOOK

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal steps, next_look
            steps += 1
            if steps % _STEPS_PER_GLANCE == 0 and monotonic() > next_look:
                next_look = monotonic() + _SECONDS_PER_LOOK
                if steps > MAX_STEPS:
                    raise Exhausted(f"does not end within {MAX_STEPS:,} steps")
                if clock() > deadline:
                    raise Exhausted(f"takes longer than {MAX_SECONDS:g} seconds")
            return step

        def enter(frame: FrameType, event: str, argument: Any) -> Any:
            step(frame, event, argument)
            # Our own guards are bounded by what they guard.
            return step if lines and frame.f_globals.get("__name__") not in _GUARDS else None

        return enter


_CONTAINERS: tuple[type, ...] = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    type({}.items()),
    type({}.values()),
)
_COUNTED: tuple[type, ...] = (str, bytes, int, *_CONTAINERS)
_GUARDS = (
    __name__,
    "nextok.backends.template_sandbox",
    "nextok.backends.template_sizes",
)
