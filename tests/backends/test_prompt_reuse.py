"""A prompt that is taken up from disk goes on as if it had been read, bit for bit.

Where kernels for few rows and for many differ, that holds because a state is cut where a pass
ends in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from nextok.backends.kv_store import KvStore
from nextok.backends.llama_library import library
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.prompt_prefixes import PromptPrefixes
from nextok.backends.prompt_reuse import PromptReuse
from nextok.backends.toy import Toy
from nextok.backends.weights import Weights
from nextok.generation.abort import Abort
from nextok.generation.events import Event, Finish, Prefill, Token
from nextok.generation.loop import Job
from nextok.generation.model import Logits, Sampler
from nextok.generation.sampling import Sampling
from nextok.generation.stream import generate

OPTIONS = ContextOptions(context_size=512, threads=1, batch_size=512, ubatch_size=128)
TEXT = "The quick brown fox jumps over the lazy dog; then it sleeps until noon. "
QUESTIONS = (" And who sleeps until noon?", " What does the brown fox do all night long?")
KINDS = ("toy", "recurrent", "hybrid", "sliding")
F16, Q4_K_M = 1, 15
"""llama.h, enum llama_ftype."""


@pytest.fixture(scope="module")
def weights(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Weights]:
    if request.param == "toy":
        yield Toy()
        return
    if isinstance(request.param, int):
        path = tmp_path_factory.mktemp("gguf") / "requantized.gguf"
        requantize(request.getfixturevalue("starter_gguf"), path, request.param)
    else:
        path = request.getfixturevalue(f"{request.param}_gguf")
    weights = LlamaWeights.load(path, LoadOptions(), Abort())
    yield weights
    weights.close()


def requantize(source: Path, path: Path, file_type: int) -> None:
    params = library().llama_model_quantize_default_params()
    params.ftype, params.nthread, params.allow_requantize = file_type, 1, True
    assert library().llama_model_quantize(bytes(source), bytes(path), params) == 0


class Recorder:
    """A sampler, and some of every row it was given."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self.rows: list[list[float]] = []

    def sample(self, logits: Logits) -> int:
        self.rows.append([logits[token] for token in range(0, len(logits), len(logits) // 40)])
        return self._sampler.sample(logits)

    def accept(self, token: int) -> None:
        self._sampler.accept(token)

    def reset(self) -> None:
        self._sampler.reset()


@dataclass(frozen=True, kw_only=True)
class Said:
    """What came of a prompt."""

    tokens: list[int]
    rows: list[list[float]]


class Runs:
    """One after the other, each in a context of its own, over one store."""

    def __init__(self, weights: Weights, folder: Path) -> None:
        self.store = KvStore(folder, cap_bytes=1 << 30)
        self.weights = weights

    def prompt(self, tokens: int, question: int = 0) -> list[int]:
        """So many of a text, and a question."""
        encode = self.weights.tokenizer.encode
        return [*encode(TEXT * 30)[:tokens], *encode(QUESTIONS[question])]

    def plain(self, prompt: Sequence[int], options: ContextOptions = OPTIONS) -> Said:
        """Without the cache."""
        return self._run(prompt, events_of, options)[0]

    def reused(
        self, prompt: Sequence[int], *, at_once: bool = False, options: ContextOptions = OPTIONS
    ) -> tuple[Said, int]:
        """With it, and how many tokens were cached."""
        prefixes = PromptPrefixes(
            self.store,
            prompt,
            identity=self.weights.state_identity(options),
            pass_tokens=options.ubatch_size,
            least_tokens=100,
        )
        reuse = PromptReuse(prefixes, at_once=at_once)

        def events(job: Job) -> Iterator[Event]:
            return reuse.followed(events_of(job._replace(model=reuse.model(job.model, job.cache))))

        return self._run(prompt, events, options)

    def lengths(self) -> list[int]:
        """Of what is kept, once that is written."""
        for thread in threading.enumerate():
            if thread.name == "prompt cache":
                thread.join()
        return sorted(entry.token_count for entry in self.store.entries())

    def _run(
        self,
        prompt: Sequence[int],
        run: Callable[[Job], Iterator[Event]],
        options: ContextOptions,
    ) -> tuple[Said, int]:
        model = self.weights.open(options, Abort())
        sampler = self.weights.sampler(
            Sampling(temperature=0.0, seed=1), context_size=512, history=prompt
        )
        recorder = Recorder(sampler)
        job = Job(
            model=model, cache=model.new_cache(), sampler=recorder, prompt=prompt,
            is_end=lambda token: False, clock=lambda: 0.0, max_tokens=6,
        )  # fmt: skip
        events = list(run(job))
        sampler.close()
        model.close()
        cached = next(one.cached for one in events if isinstance(one, Prefill))
        tokens = [one.id for one in events if isinstance(one, Token)]
        return Said(tokens=tokens, rows=recorder.rows), cached


def events_of(job: Job) -> Generator[Event, None, None]:
    return generate(job, lambda token: b"x", abort=Abort(), origin=0.0)


@pytest.fixture
def runs(weights: Weights, tmp_path: Path) -> Runs:
    return Runs(weights, tmp_path / "kv")


every_kind = pytest.mark.parametrize("weights", KINDS, indirect=True)
toy = pytest.mark.parametrize("weights", ["toy"], indirect=True)


@pytest.mark.parametrize(
    "weights",
    [
        *KINDS,
        F16,
        pytest.param("starter", marks=pytest.mark.slow),
        pytest.param(Q4_K_M, marks=pytest.mark.slow),
    ],
    indirect=True,
)
@pytest.mark.slow
def test_what_is_said_is_the_same_with_and_without(runs: Runs) -> None:
    """The second question shows where the text ends; the third time it need not be read.

    What is left then are some 30 rows: kernels for 64 and more would make others of them.
    """
    first, second = runs.prompt(150, 0), runs.prompt(150, 1)
    plain = runs.plain(second)
    assert runs.reused(first)[1] == 0
    assert runs.lengths() == []
    assert runs.reused(second) == (plain, 0)
    assert runs.lengths() == [128]
    assert runs.reused(second) == (plain, 128)
    assert runs.lengths() == [128]


@every_kind
@pytest.mark.parametrize("ubatch_size", [32, 128])
def test_a_longer_state_is_cut_or_left(runs: Runs, ubatch_size: int) -> None:
    """A memory that cannot be cut reads the text again, and does not answer from what is wrong."""
    options = OPTIONS._replace(ubatch_size=ubatch_size)
    longer, other = runs.prompt(400), runs.prompt(270, 1)
    runs.reused(longer, at_once=True, options=options)
    assert len(runs.lengths()) == 1
    can_be_cut = isinstance(runs.weights, Toy)
    assert runs.reused(other, options=options) == (
        runs.plain(other, options), 256 if can_be_cut else 0
    )  # fmt: skip


@every_kind
def test_the_same_prompt_again(runs: Runs) -> None:
    prompt = runs.prompt(300)
    said, cached = runs.reused(prompt, at_once=True)
    length = (len(prompt) - 1) // 128 * 128
    assert (cached, runs.lengths()) == (0, [length])
    assert runs.reused(prompt) == (said, length)


def followed(runs: Runs, *, is_end: bool) -> Generator[Event, None, None]:
    """The events of a prompt that is to be kept at once."""
    prompt = runs.prompt(300)
    prefixes = PromptPrefixes(runs.store, prompt, identity="toy", pass_tokens=128, least_tokens=100)
    reuse = PromptReuse(prefixes, at_once=True)
    model = runs.weights.open(OPTIONS, Abort())
    cache = model.new_cache()
    job = Job(
        model=reuse.model(model, cache),
        cache=cache,
        sampler=runs.weights.sampler(Sampling(seed=1), context_size=512, history=prompt),
        prompt=prompt,
        is_end=lambda token: is_end,
        clock=lambda: 0.0,
    )
    return reuse.followed(events_of(job))


@toy
def test_nothing_is_written_before_the_first_token_is_out(runs: Runs) -> None:
    events = followed(runs, is_end=False)
    next(event for event in events if isinstance(event, Token))
    assert runs.lengths() == []
    assert isinstance(next(events), Token)
    assert runs.lengths() == [256]
    events.close()


@toy
def test_a_run_without_a_token_keeps_nothing(runs: Runs) -> None:
    assert isinstance(list(followed(runs, is_end=True))[-1], Finish)
    assert runs.lengths() == []


@pytest.mark.parametrize("weights", KINDS[1:], indirect=True)
def test_another_kind_of_cache_is_another_state(runs: Runs) -> None:
    prompt = runs.prompt(200)
    runs.reused(prompt, at_once=True)
    others = OPTIONS._replace(flash_attention="on", cache_type_v="q8_0")
    assert runs.reused(prompt, options=others)[1] == 0
    assert runs.reused(prompt)[1] == 128
