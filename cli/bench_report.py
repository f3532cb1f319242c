"""A benchmark's figures for a program: one JSON object, or names and values for a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nextok.backends.options import ContextOptions
from nextok.cli.bench_words import against, measured, rate, rates, ratio, taken, who
from nextok.cli.table import Row
from nextok.cli.units import size
from nextok.generation.timings import Latency
from nextok.lab.bench_figures import Answers, Figures, Speed
from nextok.lab.bench_plan import Plan, Subject
from nextok.lab.noise import Ratio, Spread

DONE, INTERRUPTED, FAILED = "done", "interrupted", "error"


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """What is known of one of the models. Sizes in bytes; None where it cannot be told."""

    name: str
    quantization: str | None
    weights: int
    kv_cache: int | None
    resident: int | None
    load_seconds: float


@dataclass(frozen=True, kw_only=True)
class Reported:
    """All that there is to report."""

    plan: Plan
    figures: Figures
    models: Sequence[ModelFacts]
    options: ContextOptions
    """Of the first model's context."""
    ended: str
    peak_resident: int
    """Bytes that the process took at most, with all models."""
    cpus: int
    others: float | None
    """CPUs of those that other processes took meanwhile."""


def as_json(reported: Reported) -> Mapping[str, object]:
    """Seconds, milliseconds and bytes as the keys say; null where there is nothing to tell."""
    plan, options = reported.plan, reported.options
    return {
        "finish_reason": reported.ended,
        "rounds": {"asked": plan.rounds, "whole": reported.figures.whole_rounds},
        "settings": {
            "batch_size": options.batch_size,
            "ubatch_size": options.ubatch_size,
            "flash_attn": options.flash_attention,
            "cache_type_k": options.cache_type_k,
            "cache_type_v": options.cache_type_v,
            "context_tokens": plan.context_size,
        },
        "models": [_model(one) for one in reported.models],
        "speeds": [_speed(one, reported) for one in reported.figures.speeds],
        "answers": [_answers(one, reported) for one in reported.figures.answers],
        "peak_resident_bytes": reported.peak_resident,
        "cpus": {"usable": reported.cpus, "others_used": _rounded(reported.others, 2)},
    }


def as_rows(reported: Reported) -> list[Row]:
    """For a pipe: the same figures, a line each."""
    return [*_head(reported), *_speed_rows(reported), *_answer_rows(reported)]


def memory(one: ModelFacts, plan: Plan) -> str:
    """What a model takes, in words."""
    kv = "unknown" if one.kv_cache is None else size(one.kv_cache)
    parts = [f"weights {size(one.weights)}", f"KV cache {kv} for {plan.context_size:,} tokens"]
    if one.resident is not None:
        parts.insert(0, f"{size(one.resident)} resident")
    return " · ".join(parts)


def settings(reported: Reported) -> str:
    """How the contexts were made, as flags."""
    options = reported.options
    return (
        f"-b {options.batch_size} -ub {options.ubatch_size} -fa {options.flash_attention} "
        f"-ctk {options.cache_type_k} -ctv {options.cache_type_v}"
    )


def ending(reported: Reported) -> str:
    """How far it got."""
    whole, asked = reported.figures.whole_rounds, reported.plan.rounds
    how = "" if reported.ended == DONE else f", {reported.ended}"
    return f"{whole} of {asked} rounds{how}"


def others(reported: Reported) -> str | None:
    """A word about the neighbours."""
    if reported.others is None:
        return None
    return f"other processes took {reported.others:.1f} of {reported.cpus} CPUs meanwhile"


def _head(reported: Reported) -> Iterator[Row]:
    for index, one in enumerate(reported.models):
        letter = f" {'AB'[index]}" if len(reported.models) > 1 else ""
        yield f"model{letter}", one.name
        yield f"memory{letter}", memory(one, reported.plan)
    yield "peak memory", size(reported.peak_resident)
    yield "rounds", ending(reported)
    yield "settings", settings(reported)
    busy = others(reported)
    if busy is not None:
        yield "neighbours", busy


def _speed_rows(reported: Reported) -> Iterator[Row]:
    plan = reported.plan
    for one in reported.figures.speeds:
        text = f"{rate(one.spread.median)} tokens/s ({rates(one.spread)})"
        if one.ratio is not None:
            text += f", {against(plan)} {ratio(one.ratio)}"
        yield f"{measured(one.measure)}, {who(plan, one.subject)}", text


def _answer_rows(reported: Reported) -> Iterator[Row]:
    for one in reported.figures.answers:
        whom = who(reported.plan, one.subject)
        for name, found in (("TTFT", one.ttft), ("ITL", one.itl)):
            values = (f"{key} {value * 1000:.1f}" for key, value in _percentiles(found).items())
            yield f"{name}, {whom}", f"{' '.join(values)} ms"
        bare = "-" if one.bare is None else rate(one.bare.median)
        speeds = f"{rate(one.loop.median)} tokens/s, bare {bare}"
        yield f"loop, {whom}", f"{speeds}, takes {taken(one.ratio)}"


def _model(one: ModelFacts) -> Mapping[str, object]:
    return {
        "model": one.name,
        "quantization": one.quantization,
        "load_s": round(one.load_seconds, 4),
        "weight_bytes": one.weights,
        "kv_cache_bytes": one.kv_cache,
        "resident_bytes": one.resident,
    }


def _speed(one: Speed, reported: Reported) -> Mapping[str, object]:
    return {
        "measure": one.measure.kind.value,
        "tokens": one.measure.tokens,
        "depth": one.measure.depth,
        **_subject(one.subject, reported),
        "tokens_per_s": {**_spread(one.spread), "samples": [round(x, 3) for x in one.samples]},
        "against": None if one.against is None else _subject(one.against, reported),
        "ratio": _ratio(one.ratio),
    }


def _answers(one: Answers, reported: Reported) -> Mapping[str, object]:
    return {
        **_subject(one.subject, reported),
        "prompt_tokens": one.measure.depth,
        "tokens": one.measure.tokens,
        "ttft_s": {key: round(value, 5) for key, value in _percentiles(one.ttft).items()},
        "itl_ms": {key: round(value * 1000, 3) for key, value in _percentiles(one.itl).items()},
        "loop_tokens_per_s": _spread(one.loop),
        "bare_tokens_per_s": None if one.bare is None else _spread(one.bare),
        "loop_to_bare": _ratio(one.ratio),
    }


def _subject(subject: Subject, reported: Reported) -> Mapping[str, object]:
    return {"model": reported.models[subject.model].name, "threads": subject.threads}


def _percentiles(found: Latency) -> Mapping[str, float]:
    return {"p50": found.p50, "p95": found.p95, "p99": found.p99, "max": found.max}


def _spread(found: Spread) -> Mapping[str, float]:
    values = {"median": found.median, "low": found.low, "high": found.high}
    return {key: round(value, 4) for key, value in values.items()}


def _ratio(found: Ratio | None) -> Mapping[str, object] | None:
    return None if found is None else {**_spread(found), "finding": found.finding.value}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
