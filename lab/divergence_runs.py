"""The passes of a comparison: the reference speaks, then each variant follows it.

One model runs at a time. What is done stands in `Runs` at any moment, for an abort may come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nextok.backends.options import LoadOptions
from nextok.backends.weights import Context
from nextok.generation.sampling import Sampling
from nextok.lab.forced_run import ForcedRun, ReferenceText, forced_run, reference_text
from nextok.lab.progress import Progress
from nextok.lab.subject import Subject
from nextok.lab.variants import Comparison, Variant

GREEDY, SAMPLED = "greedy", "sampled"
_SEEDS = 2**32 - 1
"""Seeds are below."""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """On how much text models are compared."""

    prompts: Sequence[str]
    max_tokens: int
    kept_tokens: int
    """Likely tokens of each distribution that are kept; the others are taken together."""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """What is done so far."""

    texts: dict[str, list[ReferenceText]] = field(default_factory=dict)
    """By the way of choosing; one for each prompt."""
    followed: dict[str, dict[str, list[ForcedRun]]] = field(default_factory=dict)
    """By variant and way of choosing, in the order of the texts."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Of each model, once it is through."""

    @property
    def any(self) -> bool:
        """Whether there is something to compare."""
        return any(runs for ways in self.followed.values() for runs in ways.values())


def ways(sampling: Sampling) -> Mapping[str, Sampling]:
    """How tokens are chosen: greedily, and drawn as asked for. Without penalties: they would count
    what a variant chose, not what was said."""
    plain = sampling._replace(
        repeat_penalty=1.0, presence_penalty=0.0, frequency_penalty=0.0, dry_multiplier=0.0
    )
    greedy = {GREEDY: plain._replace(temperature=0.0, mirostat=0)}
    return greedy if plain.greedy else {**greedy, SAMPLED: plain}


def compare(
    subject: Subject,
    comparison: Comparison,
    extent: Extent,
    load: LoadOptions,
    progress: Progress,
    runs: Runs,
) -> None:
    """Fill `runs`. Raises like a generation."""
    _Comparing(subject, comparison, extent, load, progress, runs).all()


class _Comparing:
    """All passes."""

    def __init__(
        self,
        subject: Subject,
        comparison: Comparison,
        extent: Extent,
        load: LoadOptions,
        progress: Progress,
        runs: Runs,
    ) -> None:
        self._subject, self._comparison, self._extent = subject, comparison, extent
        self._load, self._progress, self._runs = load, progress, runs
        self._ways = ways(subject.sampling)
        self._prompts = [subject.prompt_tokens(prompt) for prompt in extent.prompts]
        self._total = len(self._prompts) * len(self._ways) * (1 + len(comparison.variants))
        self._done = 0

    def all(self) -> None:
        """The reference first."""
        for variant in (self._comparison.reference, *self._comparison.variants):
            began = self._subject.clock()
            size = max(map(len, self._prompts)) + self._extent.max_tokens
            with (
                variant.opened(self._subject, self._load) as subject,
                subject.comparable().open(size) as model,
            ):
                self._pass(variant, subject, model)
            self._runs.seconds[variant.label] = self._subject.clock() - began

    def _pass(self, variant: Variant, subject: Subject, model: Context) -> None:
        """One model through all texts, prompt after prompt, so that a part of it is of use."""
        for place in range(len(self._prompts)):
            for way in self._ways:
                if variant is self._comparison.reference:
                    self._speak(way, place, subject, model)
                else:
                    self._follow(variant, way, place, subject, model)
                self._done += 1
                self._progress.step(self._done, self._total, "texts")

    def _speak(self, way: str, place: int, subject: Subject, model: Context) -> None:
        sampling = self._ways[way]
        text = reference_text(
            subject,
            model,
            self._prompts[place],
            sampling._replace(seed=(sampling.seed + place) % _SEEDS),
            most=self._extent.max_tokens,
            kept=self._extent.kept_tokens,
        )
        self._runs.texts.setdefault(way, []).append(text)

    def _follow(
        self, variant: Variant, way: str, place: int, subject: Subject, model: Context
    ) -> None:
        run = forced_run(subject, model, self._runs.texts[way][place])
        self._runs.followed.setdefault(variant.label, {}).setdefault(way, []).append(run)
