"""A loaded model to be measured: a context of its own, tokens to read, and a clock.

Times what `nextok.lab.bench_plan` names. The tokens are drawn from the vocabulary: what they are
does not matter to the engine's speed. Knows nothing of rounds and of figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from nextok.backends.options import ContextOptions
from nextok.backends.weights import LoadedTokenizer, Weights
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError
from nextok.generation.events import Finish, Token
from nextok.generation.loop import Job, shared_prefix
from nextok.generation.model import Logits
from nextok.generation.sampling import Sampling
from nextok.generation.stream import generate
from nextok.lab.bench_plan import Kind, Measure

WARM_UP = 512
"""Tokens read at most before anything is timed: as many as are ever computed at once."""


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What one measurement came to."""

    tokens: int
    """In `seconds`: of an answer one less than it has, for the first token ends its prefill."""
    seconds: float
    ttft_seconds: float | None = None
    """Of an answer, from the moment it was asked for."""
    gaps: tuple[float, ...] = ()
    """Of an answer: seconds between its tokens."""

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds > 0 else 0.0


class Workbench:
    """Holds the engine's memory until it is closed. All raise Aborted and EngineError."""

    def __init__(
        self,
        weights: Weights,
        options: ContextOptions,
        sampling: Sampling,
        abort: Abort,
        *,
        clock: Callable[[], float],
        draw: Random,
    ) -> None:
        """sampling: how answers are drawn, its seed included."""
        self._clock = clock
        self._abort = abort
        self._tokenizer = weights.tokenizer
        self._tokens = _drawn(weights.tokenizer, options.context_size, draw)
        self._model = weights.open(options, abort)
        self._cache = self._model.new_cache()
        self._sampler = weights.sampler(sampling, context_size=options.context_size, history=())

    def warm_up(self, threads: int) -> None:
        """Do a little of everything once: memory is touched, threads are made."""
        self._model.set_threads(threads)
        self._hold(0)
        self._hold(min(WARM_UP, len(self._tokens) - 2))
        self._decode(len(self._cache.tokens), 2)

    def take(self, measure: Measure, threads: int) -> Timed:
        """Measure once."""
        self._model.set_threads(threads)
        if measure.kind is Kind.ANSWER:
            return self._answer(measure.depth, measure.tokens)
        if measure.kind is Kind.PREFILL:
            seconds = self._prefill(measure.tokens)
        elif measure.kind is Kind.DECODE:
            seconds = self._decode(measure.depth, measure.tokens)
        else:
            return Timed(
                tokens=measure.tokens - 1, seconds=self._bare(measure.depth, measure.tokens)
            )
        return Timed(tokens=measure.tokens, seconds=seconds)

    def close(self) -> None:
        """Free the context; the weights are somebody else's."""
        self._sampler.close()
        self._model.close()

    def _prefill(self, tokens: int) -> float:
        self._hold(0)
        began = self._clock()
        self._read(tokens)
        return self._clock() - began

    def _decode(self, depth: int, count: int) -> float:
        self._hold(depth)
        decode, cache = self._model.decode, self._cache
        began = self._clock()
        for token in self._tokens[depth : depth + count]:
            _wait(decode(token, cache))
        return self._clock() - began

    def _answer(self, prompt: int, count: int) -> Timed:
        """The loop as a run has it, but for what a run does with the events."""
        self._hold(0)
        self._sampler.reset()
        began = self._clock()
        job = Job(
            model=self._model,
            cache=self._cache,
            sampler=self._sampler,
            prompt=self._tokens[:prompt],
            is_end=lambda token: False,
            clock=self._clock,
            max_tokens=count,
        )
        gaps: list[float] = []
        for event in generate(job, self._tokenizer.piece, abort=self._abort, origin=began):
            if isinstance(event, Token):
                gaps.append(event.gap)
            elif isinstance(event, Finish):
                return self._timed(event, gaps[1:])
        raise EngineError("the generation had no end")

    def _timed(self, finish: Finish, gaps: Sequence[float]) -> Timed:
        self._abort.check()
        if finish.error is not None:
            raise finish.error
        speed = finish.timings.decode_tokens_per_second
        return Timed(
            tokens=len(gaps),
            seconds=len(gaps) / speed if speed else 0.0,
            ttft_seconds=finish.timings.ttft_seconds,
            gaps=tuple(gaps),
        )

    def _bare(self, prompt: int, count: int) -> float:
        """From the first token to the last: sample and decode in turn, and nothing else."""
        self._hold(prompt - 1)
        self._sampler.reset()
        sample, decode, cache, clock = (
            self._sampler.sample, self._model.decode, self._cache, self._clock,
        )  # fmt: skip
        token = sample(decode(self._tokens[prompt - 1], cache))
        began = clock()
        for _ in range(count - 1):
            token = sample(decode(token, cache))
        return clock() - began

    def _hold(self, length: int) -> None:
        """Have the first so many of the tokens in the cache, and nothing else."""
        same = shared_prefix(self._cache.tokens, self._tokens)
        if self._cache.trim(min(same, length)) < length:
            self._read(length)

    def _read(self, length: int) -> None:
        """Fill the cache up to there."""
        held = len(self._cache.tokens)
        while held < length:
            batch = self._tokens[held : min(length, held + self._model.batch_size)]
            logits = self._model.prefill(batch, self._cache)
            held += len(batch)
        _wait(logits)


def _wait(logits: Logits) -> float:
    """A GPU works on while Python goes on, until somebody wants a number of it."""
    return logits[0]


def _drawn(tokenizer: LoadedTokenizer, count: int, draw: Random) -> list[int]:
    """As many tokens, the one that every sequence begins with first."""
    first = [] if tokenizer.bos is None else [tokenizer.bos]
    vocabulary = len(tokenizer)
    return first + [draw.randrange(vocabulary) for _ in range(count - len(first))]
