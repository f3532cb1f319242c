"""`nextok lab cache`: from its settings to its findings."""

from __future__ import annotations

import time
from dataclasses import replace

from nextok.cli.lab_bench import Bench
from nextok.cli.lab_settings import CacheLabSettings, LabSettings
from nextok.generation.errors import UsageError
from nextok.lab.cache import PROMPT, CacheOptions, work
from nextok.lab.cache import run as run_cache
from nextok.lab.findings import Findings

_TOKENS, _FULL_TOKENS = 160, 512


def run(bench: Bench) -> Findings:
    """Run it. Raises NextokError and Aborted."""
    shared, own = bench.settings(LabSettings), bench.settings(CacheLabSettings)
    options = CacheOptions(
        prompt=shared.lab_prompt or PROMPT,
        tokens=shared.lab_tokens or (_FULL_TOKENS if shared.lab_full else _TOKENS),
        patience_seconds=own.cache_patience,
        counted="processor time" if own.cache_cpu_time else "",
    )
    if own.cache_cpu_time and bench.resolved.engine.threads != 1:
        raise UsageError("--cpu-time needs -t 1: the time of several threads would be added up")
    subject = bench.subject()
    bench.announce(subject, work(len(subject.prompt_tokens(options.prompt)), options))
    if own.cache_cpu_time:
        subject = replace(subject, clock=time.process_time)
    return run_cache(subject, options, bench.progress("cache"))
