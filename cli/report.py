"""What is said about a generation: one JSON object, and two lines for a person."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from nextok.generation.events import Finish, Speculation
from nextok.generation.sampling import Sampling
from nextok.generation.timings import Latency


class RunFacts(NamedTuple):
    """What is known before the first token."""

    model: str
    prompt_tokens: int
    context_size: int
    threads: int
    sampling: Sampling
    """With the seed that was drawn."""
    exact: bool
    """Whether tokens come out the same alone, in a batch and from a cache."""
    load_seconds: float
    start_seconds: float | None = None
    """From the process's start until the load began; None where the load was for more than this
    answer."""

    def as_dict(self) -> dict[str, object]:
        """For the `start` line."""
        return {
            "model": self.model,
            "prompt_tokens": self.prompt_tokens,
            "seed": self.sampling.seed,
            "sampling": sampling_dict(self.sampling),
            "ctx": self.context_size,
            "threads": self.threads,
            "exact": self.exact,
        }


class Outcome(NamedTuple):
    """How it ended, and all that was said."""

    finish: Finish
    text: str
    reasoning: str | None
    first_byte_seconds: float
    """From process start to the first byte written."""


def as_json(facts: RunFacts, outcome: Outcome) -> dict[str, object]:
    """The object of `--json`. Seconds and milliseconds as the keys say; null where not defined."""
    finish = outcome.finish
    report = {
        "model": facts.model,
        "prompt_tokens": finish.prompt_tokens,
        "cached_tokens": finish.cached_tokens,
        "completion_tokens": finish.completion_tokens,
        "text": outcome.text,
        "finish_reason": finish.reason.value,
        "stop": finish.stop,
        "seed": facts.sampling.seed,
        "sampling": sampling_dict(facts.sampling),
        "ctx": facts.context_size,
        "threads": facts.threads,
        "exact": facts.exact,
        "timings": _timings(facts, outcome),
    }
    if finish.speculation is not None:
        report["speculation"] = guesses_report(finish.speculation)
    if outcome.reasoning is not None:
        report["reasoning"] = outcome.reasoning
    if finish.error is not None:
        report["error"] = str(finish.error)
    return report


def sampling_dict(sampling: Sampling) -> Mapping[str, object]:
    """Every sampling setting but the seed, which stands by itself."""
    settings = sampling._asdict()
    del settings["seed"]
    # JSON has no infinity: a ban is spelt as the flag spells it.
    settings["logit_bias"] = [
        (token, value if math.isfinite(value) else str(value))
        for token, value in sampling.logit_bias
    ]
    return settings


def _timings(facts: RunFacts, outcome: Outcome) -> dict[str, object]:
    finish, timings = outcome.finish, outcome.finish.timings
    return {
        "start_s": _rounded(facts.start_seconds),
        "load_s": _rounded(facts.load_seconds),
        "queue_s": _rounded(timings.queue_seconds),
        "prefill_s": _rounded(timings.prefill_seconds),
        "first_sample_s": _rounded(timings.first_sample_seconds),
        "ttft_s": _rounded(timings.ttft_seconds),
        "first_byte_s": _rounded(outcome.first_byte_seconds),
        "itl_ms": _milliseconds(timings.latency),
        "decode_s": _rounded(timings.decode_seconds(finish.completion_tokens)),
        "decode_tps": _rounded(timings.decode_tokens_per_second, 2),
        "ending_s": _rounded(timings.ending_seconds),
        "rendering_s": _rounded(timings.rendering_seconds),
        "total_s": _rounded(timings.total_seconds),
    }


def guesses_report(figures: Speculation) -> dict[str, object]:
    """What guessing ahead came to."""
    return {**figures._asdict(), "gain": _rounded(figures.gain, 2)}


def _milliseconds(latency: Latency | None) -> dict[str, float] | None:
    if latency is None:
        return None
    seconds = latency._asdict()
    return {name: round(value * 1000, 3) for name, value in seconds.items()}


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _tokens(count: int, kind: str = "") -> str:
    return f"{count} {kind}token" if count == 1 else f"{count} {kind}tokens"


def two_lines(facts: RunFacts, outcome: Outcome) -> tuple[str, str]:
    """For `--stats`."""
    finish, timings = outcome.finish, outcome.finish.timings
    ending = finish.reason.value if finish.stop is None else f"stop {finish.stop!r}"
    prompt = _tokens(finish.prompt_tokens, "prompt ")
    counts = (
        f"{facts.model} · {prompt} ({finish.cached_tokens} cached) · "
        f"{_tokens(finish.completion_tokens)} · {ending} · seed {facts.sampling.seed}"
    )
    times = [f"load {facts.load_seconds:.2f} s", f"prefill {timings.prefill_seconds:.2f} s"]
    if timings.ttft_seconds is not None:
        times.append(f"TTFT {timings.ttft_seconds:.3f} s")
    if timings.latency is not None:
        spread = timings.latency
        times.append(
            f"ITL p50 {spread.p50 * 1000:.1f} p95 {spread.p95 * 1000:.1f} "
            f"p99 {spread.p99 * 1000:.1f} max {spread.max * 1000:.1f} ms"
        )
    if timings.decode_tokens_per_second is not None:
        times.append(f"{timings.decode_tokens_per_second:.1f} tokens/s")
    if finish.speculation is not None:
        times.append(_guessed(finish.speculation))
    times.append(f"{facts.threads} threads" if facts.threads != 1 else "1 thread")
    return counts, " · ".join(times)


def _guessed(figures: Speculation) -> str:
    """What guessing ahead came to, in words."""
    said = f"{figures.accepted} of {figures.drafted} guesses"
    return said if figures.gain is None else f"{said}, {figures.gain:.2f} ×"
