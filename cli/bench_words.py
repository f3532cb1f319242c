"""What the parts of a benchmark are called, and how its figures are written."""

from __future__ import annotations

from nextok.lab.bench_plan import Kind, Measure, Plan, Subject
from nextok.lab.noise import Finding, Ratio, Spread

LETTERS = "AB"
"""Of two models that are compared."""
_MARKS = {Finding.DIFFERENT: "", Finding.NOISE: " noise", Finding.UNKNOWN: " ?"}


def measured(measure: Measure) -> str:
    """prefill 512, decode at 2048, answer, bare loop."""
    if measure.kind is Kind.PREFILL:
        return f"prefill {measure.tokens}"
    if measure.kind is Kind.DECODE:
        return f"decode at {measure.depth}"
    return "answer" if measure.kind is Kind.ANSWER else "bare loop"


def threaded(count: int) -> str:
    """1 thread, 2 threads."""
    return f"{count} thread{'' if count == 1 else 's'}"


def who(plan: Plan, subject: Subject) -> str:
    """2 threads; of two models with the letter before."""
    letter = f"{LETTERS[subject.model]}, " if plan.models > 1 else ""
    return letter + threaded(subject.threads)


def against(plan: Plan) -> str:
    """What ratios are of; empty where there are none."""
    if plan.models > 1:
        return "B ÷ A"
    return f"÷ {threaded(plan.threads[0])}" if len(plan.threads) > 1 else ""


def rate(tokens_per_second: float) -> str:
    """With three digits that mean something."""
    digits = 0 if tokens_per_second >= 1000 else 1 if tokens_per_second >= 10 else 2
    return f"{tokens_per_second:,.{digits}f}"


def rates(spread: Spread) -> str:
    """From the slowest to the fastest."""
    return f"{rate(spread.low)} to {rate(spread.high)}"


def ratio(found: Ratio | None) -> str:
    """1.90 (1.87 to 1.93), and whether that is noise."""
    if found is None:
        return "-"
    return f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f}){_MARKS[found.finding]}"


def taken(found: Ratio | None) -> str:
    """The part of its time that the faster one would have saved: 1.2 % (0.8 to 1.6)."""
    if found is None:
        return "-"
    least, middle, most = (100 * (1 - one) for one in (found.high, found.median, found.low))
    return f"{middle:.1f} % ({least:.1f} to {most:.1f}){_MARKS[found.finding]}"
