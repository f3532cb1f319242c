"""`nextok lab abandonment`: from its settings to its findings."""

from __future__ import annotations

from importlib.util import find_spec

from nextok.cli.lab_bench import Bench
from nextok.cli.lab_settings import AbandonmentSettings, LabSettings
from nextok.cli.resolution import GIVEN
from nextok.generation.errors import OutputError, UsageError
from nextok.lab.abandonment import AbandonmentOptions, work
from nextok.lab.abandonment import run as run_abandonment
from nextok.lab.arrival_log import read_arrivals
from nextok.lab.findings import Findings
from nextok.lab.prompt_file import read_prompts
from nextok.lab.prompts import PROMPTS
from nextok.lab.workload import CHAT_SERVICE

_GENERATIONS, _FULL_GENERATIONS = 12, 50
_REQUESTS, _FULL_REQUESTS = 5_000, 50_000
_TOKENS = 64


def run(bench: Bench) -> Findings:
    """Run it. Raises NextokError and Aborted."""
    own, shared = bench.settings(AbandonmentSettings), bench.settings(LabSettings)
    _check(bench, own)
    options = _options(own, shared)
    subject = bench.subject()
    bench.announce(subject, work(subject, options))
    return run_abandonment(subject, options, bench.progress("abandonment"))


def _check(bench: Bench, own: AbandonmentSettings) -> None:
    if own.abandonment_rate is not None and bench.resolved.origin("abandonment_load") == GIVEN:
        raise UsageError("--load and --rate: one of them says how many requests come")
    if own.abandonment_arrivals == "recorded" and own.abandonment_workload is None:
        raise UsageError("--arrivals recorded: give the file they are in with --workload")
    if find_spec("simpy") is None:
        raise OutputError("this simulation needs simpy: pip install 'nextok[lab]'")


def _options(own: AbandonmentSettings, shared: LabSettings) -> AbandonmentOptions:
    path, generations = own.abandonment_workload, own.abandonment_generations
    if generations is None:
        generations = _FULL_GENERATIONS if shared.lab_full else _GENERATIONS
    return AbandonmentOptions(
        slots=own.abandonment_slots,
        abandoned_share=own.abandonment_share,
        load=own.abandonment_load,
        rate=own.abandonment_rate,
        requests=_FULL_REQUESTS if shared.lab_full else _REQUESTS,
        recorded=None if path is None else read_arrivals(path),
        replays=own.abandonment_arrivals != "poisson",
        origin=CHAT_SERVICE if path is None else f"lengths of {path}",
        generations=generations,
        max_tokens=shared.lab_tokens or _TOKENS,
        prompts=PROMPTS if shared.lab_prompts is None else read_prompts(shared.lab_prompts),
    )
