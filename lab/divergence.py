"""How errors accumulate: a reference and variants of it, from the same prompts and seeds.

The reference speaks. Each variant is asked, at every token of that text, what it would have said:
so the rate of derailing is measured, and the first difference is where its own text would part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nextok.backends.options import LoadOptions
from nextok.generation.abort import Aborted
from nextok.lab.agreement import Agreement
from nextok.lab.divergence_charts import divergence_charts
from nextok.lab.divergence_data import Compared, rounded
from nextok.lab.divergence_runs import Extent, Runs, compare, ways
from nextok.lab.divergence_words import CAVEAT, divergence_sentences
from nextok.lab.estimate import Work
from nextok.lab.findings import COMPLETE, TIMES, Findings
from nextok.lab.progress import Progress
from nextok.lab.prompts import PROMPTS
from nextok.lab.subject import Subject
from nextok.lab.variants import Comparison, against_model, quantized


@dataclass(frozen=True, kw_only=True)
class DivergenceOptions:
    """What to compare, and on how much text."""

    quantizations: Sequence[str] = ("Q4_0", "Q2_K")
    """Types to make of the file, by the engine's names."""
    against: Subject | None = None
    """Another model, instead of them."""
    prompts: Sequence[str] = PROMPTS[:24]
    max_tokens: int = 128
    short_tokens: int = 32
    """Texts of at most so many tokens are called short."""
    kept_tokens: int = 512
    """Likely tokens of each distribution that are kept; the others are taken together."""
    load: LoadOptions = LoadOptions()
    """How variants are loaded."""


def work(subject: Subject, options: DivergenceOptions) -> Work:
    """What the models will have to do, at most: texts may end before they have to."""
    models = 2 if options.against is not None else 2 + len(options.quantizations)
    read = [len(subject.prompt_tokens(prompt)) for prompt in options.prompts]
    one = Work(
        prefill_tokens=sum(read),
        decode_tokens=len(read) * options.max_tokens,
        context_tokens=max(read) + options.max_tokens,
    )
    return one.times(models * len(ways(subject.sampling)))


def run(subject: Subject, options: DivergenceOptions, progress: Progress) -> Findings:
    """Compare. Cut short by an abort, it tells of what is done.

    Raises UsageError, ModelError, OutputError, EngineError, and Aborted before there is anything
    to tell of.
    """
    if options.against is not None:
        comparison = against_model(subject, options.against)
    else:
        comparison = quantized(subject, options.quantizations, progress)
    extent = Extent(
        prompts=options.prompts,
        max_tokens=options.max_tokens,
        kept_tokens=options.kept_tokens,
    )
    runs, complete = Runs(), True
    try:
        compare(subject, comparison, extent, options.load, progress, runs)
    except Aborted:
        complete = False
        if not runs.any:
            raise
    return _findings(subject, options, comparison, runs, complete)


def _findings(
    subject: Subject,
    options: DivergenceOptions,
    comparison: Comparison,
    runs: Runs,
    complete: bool,
) -> Findings:
    compared = [
        Compared(
            label=variant.label,
            bits=variant.bits,
            ways={
                way: Agreement(followed, options.short_tokens)
                for way, followed in runs.followed[variant.label].items()
            },
        )
        for variant in comparison.variants
        if variant.label in runs.followed
    ]
    seconds = {label: round(one, 3) for label, one in runs.seconds.items()}
    return Findings(
        experiment="divergence",
        title=f"Error accumulation: {comparison.title}",
        model=subject.name,
        data={
            COMPLETE: complete,
            **_settings(subject, options, comparison),
            "mean_mass_beyond_kept": _beyond(runs),
            "caveat": f"(1 − ε)^N supposes {CAVEAT}",
            "variants": [one.data() for one in compared],
            TIMES: {"seconds": seconds},
        },
        sentences=divergence_sentences(compared, comparison.reference.label),
        charts=divergence_charts(compared, comparison, subject.settings),
    )


def _settings(
    subject: Subject, options: DivergenceOptions, comparison: Comparison
) -> dict[str, object]:
    """What makes the figures what they are."""
    reference = comparison.reference
    return {
        "reference": {
            "label": reference.label,
            "bits_per_weight": reference.bits,
            "file_type": comparison.file_type,
        },
        "prompts": len(options.prompts),
        "max_tokens": options.max_tokens,
        "short_tokens": options.short_tokens,
        "kept_tokens": options.kept_tokens,
        "seed": subject.sampling.seed,
        "threads": subject.options.threads,
    }


def _beyond(runs: Runs) -> float:
    """The mean mass of the tokens that are taken together, and not seen apart."""
    rests = [row.rest for texts in runs.texts.values() for text in texts for row in text.rows]
    return rounded(sum(rests) / max(1, len(rests)))
