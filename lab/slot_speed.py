"""How fast slots are that share a machine: measured, with as many answers at once as there are."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.backends.weights import Context
from nextok.generation.model import Cache, Chunk
from nextok.lab.slots import SlotSpeed
from nextok.lab.subject import Subject

_PROMPT = (
    "A reader asks, and goes away before the answer is done. Nobody reads what is written from "
    "then on, and yet it is written, word after word, unless somebody says that it can stop. "
)
_REPEATS = 4
_STEPS = 12


def measure_slots(subject: Subject, slots: int) -> SlotSpeed:
    """Read a prompt in each of the sequences, and decode a few steps in all of them at once.

    Raises EngineError and Aborted.
    """
    prompt = subject.raw_tokens(_PROMPT * _REPEATS)
    with subject.open((len(prompt) + _STEPS) * slots, sequences=slots) as model:
        caches = [model.new_cache() for _ in range(slots)]
        began = subject.clock()
        for cache in caches:
            _read(model, prompt, cache)
        read = subject.clock()
        for step in range(_STEPS):
            model.extend([Chunk(cache, (prompt[step],)) for cache in caches])
        ended = subject.clock()
    return SlotSpeed(
        prefill_tokens_per_second=len(prompt) * slots / max(read - began, 1e-9),
        decode_seconds=max(ended - read, 1e-9) / _STEPS,
    )


def _read(model: Context, prompt: Sequence[int], cache: Cache) -> None:
    for start in range(0, len(prompt), model.batch_size):
        model.prefill(prompt[start : start + model.batch_size], cache)
