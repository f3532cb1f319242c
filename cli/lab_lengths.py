"""`nextok lab lengths`: from its settings to its findings."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from nextok.backends.journal import user_journal
from nextok.cli.asked_journal import EMPTY, chosen
from nextok.cli.lab_bench import Bench
from nextok.cli.lab_settings import LabSettings, LengthsSettings
from nextok.cli.resolution import GIVEN
from nextok.generation.abort import Aborted
from nextok.generation.errors import OutputError, UsageError
from nextok.lab.findings import Findings
from nextok.lab.length_data import Answer, LengthData, of_journal
from nextok.lab.length_log import read_log
from nextok.lab.length_runs import answers, work
from nextok.lab.numbers import counted
from nextok.lab.prompt_file import read_prompts
from nextok.lab.prompts import PROMPTS

if TYPE_CHECKING:
    from nextok.lab.length_study import Draws

_TOKENS, _FULL_TOKENS = 256, 1024
_PROMPTS = 24
_SECONDS_PER_DRAW = 1.5e-6
"""Of one answer, for all families, at most."""
_LONG = 30.0
"""Seconds of computing that are said before."""


class _Source(NamedTuple):
    """Answers, and where they are from."""

    data: LengthData
    model: str = ""
    settings: str = ""
    fresh: bool = False
    complete: bool = True


def run(bench: Bench) -> Findings:
    """Run it. Raises NextokError and Aborted."""
    own, shared = bench.settings(LengthsSettings), bench.settings(LabSettings)
    _check(bench, own, shared)
    if find_spec("scipy") is None:
        raise OutputError("fits need scipy: pip install 'nextok[lab]'")
    other = None if own.lengths_other is None else read_log(own.lengths_other)
    source = _source(bench, own, shared)
    from nextok.lab.length_sample import OverCap
    from nextok.lab.lengths import LengthsOptions
    from nextok.lab.lengths import run as run_lengths

    options = LengthsOptions(
        clock=bench.clock,
        model=source.model,
        settings=source.settings,
        fresh=source.fresh,
        complete=source.complete,
        other=other,
        cap=own.lengths_cap,
        over=OverCap(own.lengths_over),
        draws=_draws(bench, shared),
    )
    seconds = _SECONDS_PER_DRAW * options.draws.replicates * len(source.data.answers)
    if seconds > _LONG:
        bench.announce_seconds(seconds)
    return run_lengths(source.data, options, bench.progress("lengths"))


def _check(bench: Bench, own: LengthsSettings, shared: LabSettings) -> None:
    """UsageError for flags that contradict each other."""
    read = "--log" if own.lengths_log is not None else "--journal" if own.lengths_journal else None
    if own.lengths_log is not None and own.lengths_journal:
        raise UsageError("--log and --journal: lengths come from one of them")
    if own.lengths_column is not None and own.lengths_log is None:
        raise UsageError("--column names a column of a file: give --log FILE, too")
    if own.lengths_over == "missing" and not own.lengths_cap:
        raise UsageError("--over-cap missing: say with --cap from which length on answers are")
    for value, flag in ((shared.lab_tokens, "-n"), (shared.lab_prompts, "--prompts")):
        if read is not None and value is not None:
            raise UsageError(f"{flag} is for fresh answers: {read} reads those of others")
    if own.lengths_log is not None and bench.resolved.origin("model") == GIVEN:
        raise UsageError("-m chooses a model, and --log has answers already: leave out one of them")


def _source(bench: Bench, own: LengthsSettings, shared: LabSettings) -> _Source:
    if own.lengths_log is not None:
        return _Source(read_log(own.lengths_log, own.lengths_column))
    return _journal(bench) if own.lengths_journal else _fresh(bench, own, shared)


def _journal(bench: Bench) -> _Source:
    """All of it, or what one model said."""
    resolved, asked = bench.resolved, None
    if resolved.origin("model") == GIVEN:
        asked = resolved.engine.model
    with user_journal().reading() as queries:
        models = queries.models()
        if not models:
            raise UsageError(EMPTY)
        if asked is not None:
            models = chosen(models, asked, resolved.config.aliases)
        data = of_journal(queries.answers(models))
    return _Source(data, model="" if asked is None else ", ".join(one.name for one in models))


def _fresh(bench: Bench, own: LengthsSettings, shared: LabSettings) -> _Source:
    """What the model answers now, whatever it is; after an abort, what it had answered by then.

    UsageError, before a model is loaded, for what would make the answers of no use.
    """
    prompts: Sequence[str] = PROMPTS if shared.lab_full else PROMPTS[:_PROMPTS]
    if shared.lab_prompts is not None:
        prompts = read_prompts(shared.lab_prompts)
    tokens = shared.lab_tokens or (_FULL_TOKENS if shared.lab_full else _TOKENS)
    if len(prompts) < 2:
        raise UsageError(f"{shared.lab_prompts} has one prompt: there have to be two at least")
    if own.lengths_cap and own.lengths_cap < tokens:
        raise UsageError(f"--cap {own.lengths_cap}: answers may have {tokens} tokens: lower -n")
    subject = bench.subject()
    bench.announce(subject, work(subject, prompts, tokens))
    import_module("nextok.lab.lengths")  # after an abort there is no time for it
    found: list[Answer] = []
    try:
        found.extend(answers(subject, prompts, tokens, bench.progress("lengths")))
    except Aborted:
        if not found:
            raise
    source = f"{counted(len(found), 'prompt')}, {counted(tokens, 'token')} at most"
    data = LengthData(source=source, answers=tuple(found))
    complete = len(found) == len(prompts)
    return _Source(data, subject.name, subject.settings, fresh=True, complete=complete)


def _draws(bench: Bench, shared: LabSettings) -> Draws:
    from nextok.lab.length_study import Draws

    plenty = Draws(resamples=10_000, replicates=999) if shared.lab_full else Draws()
    return Draws(resamples=plenty.resamples, replicates=plenty.replicates, seed=bench.seed)
