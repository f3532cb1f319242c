"""`nextok lab loop`: from its settings to its findings."""

from __future__ import annotations

from nextok.cli.lab_bench import Bench
from nextok.cli.lab_explain import explained
from nextok.cli.lab_settings import LabSettings, LoopSettings
from nextok.generation.errors import UsageError
from nextok.lab.findings import Findings
from nextok.lab.loop import PROMPT, LoopOptions, work
from nextok.lab.loop import run as run_loop

_TOKENS, _FULL_TOKENS = 32, 256


def run(bench: Bench) -> Findings:
    """Run it. Raises NextokError and Aborted."""
    shared, own = bench.settings(LabSettings), bench.settings(LoopSettings)
    options = LoopOptions(
        prompt=shared.lab_prompt or PROMPT,
        tokens=shared.lab_tokens or (_FULL_TOKENS if shared.lab_full else _TOKENS),
        at=own.loop_at,
        draws=own.loop_draws,
    )
    check(options, explain=own.loop_explain, json=bench.resolved.output.json)
    subject, progress = bench.subject(), bench.progress("loop")
    bench.announce(subject, work(len(subject.prompt_tokens(options.prompt)), options))
    if not own.loop_explain:
        return run_loop(subject, options, progress)
    return run_loop(subject, options, progress, lambda one: bench.say(explained(one)))


def check(options: LoopOptions, *, explain: bool, json: bool) -> None:
    """UsageError for what cannot be done, said before a model is loaded."""
    if explain and json:
        raise UsageError("--explain and --json exclude each other: choose one")
    beyond = [place for place in options.at if place >= options.tokens]
    if beyond:
        raise UsageError(
            f"--at {beyond[0]} is beyond the last token, {options.tokens - 1}: raise -n"
        )
