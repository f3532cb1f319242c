"""What ignoring the reader costs: a service simulated, and the real command left by real readers.

The simulated slots are as fast as this model is on this machine. Nothing else of them is measured:
a slot does not slow down when the others read prompts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nextok.generation.abort import Aborted
from nextok.lab.abandonment_charts import abandonment_charts
from nextok.lab.abandonment_data import Abandonment, Departure
from nextok.lab.abandonment_words import abandonment_sentences
from nextok.lab.arrival_log import Recorded
from nextok.lab.estimate import Work
from nextok.lab.findings import Findings
from nextok.lab.leaving_reader import Errand, visit
from nextok.lab.progress import Progress
from nextok.lab.prompts import PROMPTS
from nextok.lab.service import LOADS, SHARES, Both, Service
from nextok.lab.slot_speed import measure_slots
from nextok.lab.slots import SlotSpeed
from nextok.lab.subject import Subject
from nextok.lab.workload import (
    CHAT_SERVICE,
    chat_lengths,
    drawn_lengths,
    poisson_arrivals,
    unit_arrivals,
)

_SEEDS = 2**32 - 1
"""Seeds are below."""


@dataclass(frozen=True, kw_only=True)
class AbandonmentOptions:
    """The service, and the readers."""

    slots: int = 4
    abandoned_share: float = 0.2
    """Of all requests; of the real ones all are."""
    load: float = 0.9
    """Part of the time that slots are busy if every answer is made to its end."""
    rate: float | None = None
    """Requests a second; None: what makes that load."""
    requests: int = 5000
    """To simulate, unless a recorded workload is replayed."""
    recorded: Recorded | None = None
    """A workload: its lengths, and (if `replays`) its arrivals."""
    replays: bool = True
    origin: str = CHAT_SERVICE
    """Where the lengths come from, in words."""
    speed: SlotSpeed | None = None
    """None: measured."""
    generations: int = 12
    """Real ones: each to its end, and again with a reader who leaves."""
    max_tokens: int = 64
    prompts: Sequence[str] = PROMPTS


def work(subject: Subject, options: AbandonmentOptions) -> Work:
    """What the real generations make of the model, at most."""
    prompts = [_prompt(options, place) for place in range(options.generations)]
    read = 2 * sum(len(subject.prompt_tokens(prompt)) for prompt in prompts)
    said = options.generations * options.max_tokens * 3 // 2
    return Work(prefill_tokens=read, decode_tokens=said)


def run(subject: Subject, options: AbandonmentOptions, progress: Progress) -> Findings:
    """Measure, simulate, then run. Cut short by an abort, it tells of what is done.

    Raises UsageError, EngineError, OutputError, and Aborted before there is anything to tell of.
    """
    speed = options.speed or measure_slots(subject, options.slots)
    service = _service(subject, options, speed)
    rate = service.rate(options.load) if options.rate is None else options.rate
    found = Abandonment(
        service=service,
        rate=rate,
        both=service.serve(rate),
        by_load=list(_by_load(service, progress)),
        gained_by_share=[(share, service.with_share(share).capacity_gained) for share in SHARES],
    )
    departures: list[Departure] = []
    complete = True
    try:
        for place in range(options.generations):
            departures.append(_departure(subject, options, place))
            progress.step(place + 1, options.generations, "generations")
    except Aborted:
        complete = False
    return Findings(
        experiment="abandonment",
        title=f"What ignoring the reader costs: {100 * options.abandoned_share:.0f} % abandoned",
        model=subject.name,
        data=found.data(departures, _arrivals_in_words(options), complete),
        sentences=abandonment_sentences(found, departures),
        timed=True,
        charts=abandonment_charts(found, departures, f"{subject.settings} · {options.origin}"),
    )


def _by_load(service: Service, progress: Progress) -> Iterator[tuple[float, Both]]:
    for place, load in enumerate(LOADS):
        progress.step(place, len(LOADS), "loads")
        yield load, service.serve(service.rate(load))


def _service(subject: Subject, options: AbandonmentOptions, speed: SlotSpeed) -> Service:
    draw = random.Random(subject.sampling.seed)
    recorded, count = options.recorded, options.requests
    if recorded is not None and options.replays:
        arrivals, lengths = unit_arrivals(recorded.arrivals), list(recorded.lengths)
    else:
        arrivals = poisson_arrivals(count, draw)
        known = None if recorded is None else recorded.lengths
        lengths = chat_lengths(count, draw) if known is None else drawn_lengths(known, count, draw)
    return Service(
        slots=options.slots,
        speed=speed,
        arrivals=arrivals,
        lengths=lengths,
        abandoned_share=options.abandoned_share,
        seed=subject.sampling.seed,
    )


def _arrivals_in_words(options: AbandonmentOptions) -> str:
    replayed = options.recorded is not None and options.replays
    return f"{'replayed' if replayed else 'Poisson'}; {options.origin}"


def _departure(subject: Subject, options: AbandonmentOptions, place: int) -> Departure:
    """One generation to its end, and again with a reader who leaves at a random token."""
    seed = (subject.sampling.seed + place) % _SEEDS
    errand = Errand(
        model="toy" if subject.path is None else str(subject.path),
        prompt=_prompt(options, place),
        seed=seed,
        max_tokens=options.max_tokens,
        threads=subject.options.threads,
    )
    stayed = visit(errand, None, abort=subject.abort, clock=subject.clock)
    leave_after = random.Random(seed).randrange(1, max(2, stayed.tokens_made))
    left = visit(errand, leave_after, abort=subject.abort, clock=subject.clock)
    return Departure(leave_after=leave_after, stayed=stayed, left=left)


def _prompt(options: AbandonmentOptions, place: int) -> str:
    return options.prompts[place % len(options.prompts)]
