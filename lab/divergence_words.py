"""What the figures of a comparison mean, in three sentences. Knows figures only."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.lab.agreement import Agreement, Group, Horizon
from nextok.lab.divergence_data import Compared
from nextok.lab.numbers import counted, number, percent
from nextok.lab.survival import after, geometric

CAVEAT = (
    "that every token derails with the same chance, whatever came before: it is not a precise model"
)
_TOLD = 0.005
"""Shares below this after more and more tokens are not told one by one."""


def divergence_sentences(compared: Sequence[Compared], reference: str) -> tuple[str, ...]:
    """How often they differ, how long the text is the same, and what short texts hide of it."""
    if not compared:
        return ()
    telling = _telling(compared)
    return (
        _rates(compared, reference),
        _lasting(telling.label, _greedy(telling)),
        _hidden(telling.label, _greedy(telling)),
    )


def _telling(compared: Sequence[Compared]) -> Compared:
    """The worst whose texts are not all lost within the first tokens; else the best."""
    lasting = [one for one in compared if _share_after(_greedy(one), 10) >= 0.5]
    ranked = sorted(lasting or compared, key=lambda one: _greedy(one).epsilon)
    return ranked[-1] if lasting else ranked[0]


def _share_after(one: Agreement, tokens: int) -> float:
    point = after(one.curve, tokens)
    return one.curve[-1].share if point is None else point.share


def _greedy(one: Compared) -> Agreement:
    """The first way of choosing."""
    return next(iter(one.ways.values()))


def _rates(compared: Sequence[Compared], reference: str) -> str:
    """The rate of derailing of each, by the way of choosing."""
    said = []
    for one in compared:
        ways = (
            f"{way} {percent(agreement.epsilon)} (KL {number(agreement.divergence, 2)} nats)"
            for way, agreement in one.ways.items()
        )
        said.append(f"{one.label} {' and '.join(ways)}")
    return (
        f"With the text of {reference} up to there, so often another token is chosen: "
        f"{', '.join(said)}."
    )


def _lasting(label: str, one: Agreement) -> str:
    """What was seen against (1 − ε)^N, and where they part."""
    seen = [horizon for horizon in one.horizons if horizon.seen is not None]
    if not seen:
        return f"No text of {label} was long enough to hold (1 − ε)^N against it."
    first, *later = [horizon for horizon in seen if _is_told(horizon)] or seen[:1]
    said = (
        f"{percent(_share(first))} of the greedy texts of {label} are still the same "
        f"{_expected(first)}"
    )
    rest = [f"{percent(_share(horizon))} {_expected(horizon)}" for horizon in later]
    return f"{', '.join((said, *rest))}; {_parting(one)}."


def _is_told(horizon: Horizon) -> bool:
    return max(horizon.expected, _share(horizon)) >= _TOLD


def _share(horizon: Horizon) -> float:
    return horizon.seen.share if horizon.seen else 0.0


def _expected(horizon: Horizon) -> str:
    return f"after {horizon.tokens:,} tokens where (1 − ε)^N says {percent(horizon.expected)}"


def _parting(one: Agreement) -> str:
    """From where on the model is wrong, which way, and what the measured margins say of why."""
    departure = one.departure
    if departure is None:
        return _undecided(one)
    longer = departure.low > geometric(one.epsilon, departure.steps)
    how = "longer" if longer else "less long"
    said = f"from token {departure.steps:,} on they last {how} than that"
    differing, agreeing = one.margins(agrees=False), one.margins(agrees=True)
    if differing is None or agreeing is None or differing >= agreeing:
        return said
    return (
        f"{said}, for the chance is not the same everywhere: where they differ the reference's "
        f"likeliest token leads by {differing:.2f}, elsewhere by {agreeing:.2f} (medians)"
    )


def _undecided(one: Agreement) -> str:
    """No interval leaves the model out: how far apart they are all the same."""
    farthest, count = one.farthest, len(one.runs)
    if farthest is None:
        few = "1 text is" if count == 1 else f"{count} texts are"
        return f"{few} too few to tell where that is wrong"
    expected = geometric(one.epsilon, farthest.steps)
    return (
        f"farthest apart they are after {counted(farthest.steps, 'token')} "
        f"({percent(farthest.share)}, {percent(expected)}), and "
        f"{count} texts do not tell that from chance"
    )


def _hidden(label: str, one: Agreement) -> str:
    """Short texts against long ones; where none is short, first tokens against all; where none is
    long, nothing."""
    short, long, early = one.short, one.long, one.early(one.short_tokens)
    tokens = counted(one.short_tokens, "token")
    if long.share is None:
        return (
            f"With {label}, {_shares(short)} texts are the reference's token for token, and none "
            f"is longer than {tokens}: nothing can be said of what length hides."
        )
    if short.share is not None:
        hides = short.share > long.share
        said = (
            f"{_shares(short)} texts of at most {tokens} are the reference's "
            f"token for token, and {_shares(long)} longer ones"
        )
    else:
        every = one.early(max(1, one.positions))
        hides = (early.share or 0) > (every.share or 0)
        said = (
            f"{_shares(early)} texts are the reference's in their first "
            f"{tokens}, and {_shares(every)} as a whole"
        )
    return (
        f"With {label}, {said}: {'short texts hide it' if hides else 'length hides nothing here'}."
    )


def _shares(group: Group) -> str:
    return f"{group.same} of {group.count}"
