"""How generations were made, in words: what all share is a title, the rest tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from nextok.lab.traced_generation import Generation


class Setting(Enum):
    """What may be said, in its order."""

    MODEL = "model"
    QUANTIZATION = "quantization"
    THREADS = "threads"
    CONTEXT = "context"
    TEMPERATURE = "temperature"
    SEED = "seed"
    PROMPT = "prompt"
    DRAFTED = "drafted"


Words: TypeAlias = Mapping[Setting, str]

_HEADING = (Setting.MODEL, Setting.QUANTIZATION)
_MOST_COUNTS = 4
"""Counts of threads, one after the other; of more, the extremes are said."""
_OWN = (Setting.SEED, Setting.PROMPT, Setting.DRAFTED)
"""Different in almost every run: said where all share it, and no mark of one."""


def title(generations: Sequence[Generation]) -> tuple[str, str]:
    """The model, and the settings that all share; either may be empty."""
    words = common(generations)
    heading = " ".join(words[one] for one in _HEADING if one in words)
    return heading, " · ".join(word for one, word in words.items() if one not in _HEADING)


def common(generations: Sequence[Generation]) -> Words:
    """The settings that all of them share."""
    each = [_words(one) for one in generations]
    first = each[0] if each else {}
    return {
        key: word for key, word in first.items() if all(word == one.get(key) for one in each)
    }  # fmt: skip


def telling(generation: Generation, shared: Words) -> list[str]:
    """What this one does not share and is known by."""
    words = _words(generation).items()
    return [word for one, word in words if one not in shared and one not in _OWN]


def _words(generation: Generation) -> Words:
    known = generation.settings
    said = {
        Setting.MODEL: known.model,
        Setting.QUANTIZATION: _quantization(known.model, known.quantization),
        Setting.THREADS: _threads(generation.thread_counts),
        Setting.CONTEXT: _count(known.context_tokens, "token", "context of "),
        Setting.TEMPERATURE: _value("temperature", known.temperature),
        Setting.SEED: _value("seed", known.seed),
        Setting.PROMPT: _prompt(generation),
        Setting.DRAFTED: _drafted(generation),
    }
    return {key: word for key, word in said.items() if word}


def _quantization(model: str | None, said: str | None) -> str | None:
    """None where the model's name has it already, as most have."""
    return None if said is None or said.lower() in (model or "").lower() else said


def _threads(counts: Sequence[int]) -> str | None:
    """What a run had: 1 thread, 2→1 threads, 1 to 4 threads (9 changes)."""
    if len(counts) < 2:
        return _count(counts[0], "thread") if counts else None
    if len(counts) <= _MOST_COUNTS:
        return f"{'→'.join(map(str, counts))} threads"
    return f"{min(counts)} to {max(counts)} threads ({len(counts) - 1} changes)"


def _prompt(generation: Generation) -> str | None:
    read = _count(generation.prompt_tokens, "token", "prompt of ")
    return f"{read}, {generation.cached_tokens:,} cached" if generation.cached_tokens else read


def _drafted(generation: Generation) -> str | None:
    """None where nothing was speculated."""
    drafted = generation.drafted_tokens
    return f"{drafted:,} of {generation.tokens:,} tokens drafted" if drafted else None


def _count(number: int | None, unit: str, before: str = "") -> str | None:
    return None if number is None else f"{before}{number:,} {unit}{'' if number == 1 else 's'}"


def _value(name: str, value: float | None) -> str | None:
    if value is None:
        return None
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
