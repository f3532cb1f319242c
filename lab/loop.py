"""The loop taken apart: one generation, and at each token what every sampling step did.

The tokens are those the production loop says with these settings: a sampler that looks before it
draws stands in for the usual one. Words and pictures are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from nextok.backends.sampling_stages import Stage, sampling_stages
from nextok.generation.abort import Aborted
from nextok.generation.loop import Job, plain_steps
from nextok.generation.model import Logits, Model, Sampler
from nextok.lab.estimate import Work
from nextok.lab.findings import Findings
from nextok.lab.loop_charts import loop_charts
from nextok.lab.loop_data import chosen_positions, loop_data
from nextok.lab.loop_words import loop_sentences
from nextok.lab.progress import Progress
from nextok.lab.sampler_agreement import Agreement, agreement
from nextok.lab.sampling_steps import Position, taken_apart
from nextok.lab.subject import Subject

PROMPT = "Tell me something about the sea that few people know."
_NUCLEUS = 0.95
"""The share that a nucleus is measured by where top-p is off."""


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """What is asked, for how much, and where to look."""

    prompt: str = PROMPT
    tokens: int = 32
    at: tuple[int, ...] = ()
    """Indexes of tokens; none: where the model is surest, least sure, and in between."""
    draws: int = 2000
    """Of both samplers, at the first of them that leaves the most candidates."""


def work(prompt_tokens: int, options: LoopOptions) -> Work:
    """What it makes the model do."""
    return Work(
        prefill_tokens=2 * prompt_tokens + options.tokens, decode_tokens=options.tokens,
        context_tokens=prompt_tokens + options.tokens,
    )  # fmt: skip


def run(
    subject: Subject,
    options: LoopOptions,
    progress: Progress,
    listen: Callable[[Position], None] = lambda position: None,
) -> Findings:
    """The generation, and the comparison of the samplers. Raises ContextError, EngineError.

    listen: told of each position as soon as its token is drawn.
    """
    prompt = subject.prompt_tokens(options.prompt)
    with subject.open(len(prompt) + options.tokens) as model:
        walk = _Walk(subject, model, prompt, listen)
        complete = walk.generate(options.tokens, progress)
        chosen = chosen_positions(walk.positions, options.at)
        agreed = walk.agreement(chosen, options.draws, progress) if complete else None
    data = loop_data(subject, options.prompt, len(prompt), walk.positions, chosen, agreed)
    return Findings(
        experiment="loop",
        title=f"The loop taken apart: {subject.settings}",
        model=subject.name,
        data=data,
        sentences=loop_sentences(walk.positions, agreed, subject.sampling),
        charts=loop_charts(walk.positions, chosen, agreed, subject),
    )


class _Walk:
    """One generation, watched."""

    def __init__(
        self,
        subject: Subject,
        model: Model,
        prompt: Sequence[int],
        listen: Callable[[Position], None],
    ) -> None:
        self.positions: list[Position] = []
        self._subject, self._model, self._prompt = subject, model, prompt
        self._listen = listen

    def generate(self, tokens: int, progress: Progress) -> bool:
        """Say so many, the end token among them; whether nothing cut it short."""
        subject = self._subject
        with (
            closing(self._model.new_cache()) as cache,
            closing(subject.sampler(self._prompt)) as sampler,
        ):
            job = Job(
                model=self._model, cache=cache, sampler=_Looking(sampler, self._saw),
                prompt=self._prompt, is_end=subject.tokenizer.is_end, clock=subject.clock,
                max_tokens=tokens,
            )  # fmt: skip
            try:
                for _ in plain_steps(job):
                    progress.step(len(self.positions), tokens, "tokens")
            except Aborted:
                return False
        return True

    def agreement(
        self, chosen: Sequence[Position], draws: int, progress: Progress
    ) -> Agreement | None:
        """Of the samplers, where most candidates are left; None if it was cut short."""
        widest = max(chosen or self.positions, key=lambda one: one.nucleus_size)
        text = [*self._prompt, *(one.token for one in self.positions[: widest.index])]
        try:
            with closing(self._model.new_cache()) as cache:
                for start in range(0, len(text), self._model.batch_size):
                    batch = text[start : start + self._model.batch_size]
                    logits = self._model.prefill(batch, cache)
                return agreement(self._subject, logits, widest.index, draws, progress)
        except Aborted:
            return None

    def _saw(self, token: int, stages: Sequence[Stage]) -> None:
        sampling, tokenizer = self._subject.sampling, self._subject.tokenizer
        position = taken_apart(
            len(self.positions),
            token,
            stages,
            top_p=sampling.top_p if sampling.top_p < 1 else _NUCLEUS,
            greedy=sampling.greedy,
            text=tokenizer.text,
        )
        self.positions.append(position)
        self._listen(position)


class _Looking:
    """A sampler that looks before it draws."""

    def __init__(self, inner: Sampler, saw: Callable[[int, Sequence[Stage]], None]) -> None:
        self._inner = inner
        self._saw = saw

    def sample(self, logits: Logits) -> int:
        stages = sampling_stages(self._inner, logits)
        token = self._inner.sample(logits)
        self._saw(token, stages)
        return token

    def accept(self, token: int) -> None:
        self._inner.accept(token)

    def reset(self) -> None:
        self._inner.reset()
