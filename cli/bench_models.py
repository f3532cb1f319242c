"""The models of a benchmark: which are meant, opened, with a plan that all of them can follow.

Frees what it has opened. Measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.gguf_header import read_header
from nextok.backends.kv_size import kv_bytes
from nextok.backends.options import ContextOptions
from nextok.backends.process_memory import resident_bytes
from nextok.backends.split_files import first_part
from nextok.cli.bench_settings import BenchSettings
from nextok.cli.console import Console
from nextok.cli.finding import Surroundings
from nextok.cli.loaded import Loaded, Loader
from nextok.cli.oneshot import drawn
from nextok.cli.resolution import Resolved
from nextok.cli.status import Status
from nextok.generation.abort import Abort
from nextok.generation.errors import ContextError, UsageError
from nextok.lab.bench_plan import Plan
from nextok.lab.workbench import Workbench

_SEED = 1
"""Of the tokens that are read, and of the answers: the same in every run."""


def references(words: Sequence[str], resolved: Resolved, *, compare: bool) -> list[str | None]:
    """What names the models; None is the default one. Raises UsageError."""
    named = resolved.asked[0].values.get("model")
    if compare:
        if len(words) != 2 or named is not None:
            raise UsageError("--compare takes two models: nextok bench --compare A B")
        return list(words)
    if len(words) + (named is not None) > 1:
        raise UsageError("several models: name one, or two with --compare")
    return [words[0] if words else None]


@dataclass(kw_only=True)
class Benched:
    """One of the models, and what it takes."""

    loaded: Loaded
    path: Path | None
    load_seconds: float
    resident: int | None
    """Bytes of memory it added, mapped files included; None where the system does not say."""
    kv_cache: int | None = None
    """Bytes; None where that cannot be told."""
    bench: Workbench | None = None


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Opens models, and closes all of them. Raises UsageError, ModelError, EngineError, Aborted."""

    resolved: Resolved
    abort: Abort
    console: Console
    status: Status
    clock: Callable[[], float]
    around_fetching: Surroundings
    cpus: FreeCpus
    models: list[Benched] = field(default_factory=list)

    def load(self, reference: str | None) -> None:
        """Take one more model."""
        resolved = self.resolved.with_set({"seed": _SEED})
        if reference is not None:
            resolved = resolved.with_set({"model": reference})
        loader = Loader(
            resolved=resolved,
            abort=self.abort,
            console=self.console,
            status=self.status,
            clock=self.clock,
            around_fetching=self.around_fetching,
            cpus=self.cpus,
        )
        path = loader.find()
        before, began = resident_bytes(), self.clock()
        loaded = loader.settled(path, loader.open(path), began)
        added = _added(before, resident_bytes())
        self.models.append(
            Benched(
                loaded=loaded, path=path, load_seconds=loaded.load_seconds, resident=added
            )
        )  # fmt: skip

    def plan(self, asked: BenchSettings) -> Plan:
        """What is measured of them; sizes that one of them was not trained for are left out."""
        first = self.models[0].loaded
        counts = {first.threads} if first.offloads else {1, first.threads}
        plan = Plan(
            prefill=asked.prefill_sizes,
            depths=asked.depths,
            tokens=asked.decode_tokens,
            rounds=asked.rounds,
            threads=asked.thread_counts or tuple(sorted(counts)),
            models=len(self.models),
        )
        trained = [one.loaded.weights.trained_context for one in self.models]
        return within(plan, min(filter(None, trained), default=None), self.console)

    def open(self, plan: Plan) -> list[Workbench]:
        """A bench for each, with as much context as the plan needs."""
        return [self._open(one, plan) for one in self.models]

    def close(self) -> None:
        """Free all of them."""
        while self.models:
            one = self.models.pop()
            if one.bench is not None:
                one.bench.close()
            one.loaded.close()

    def options(self, one: Benched, plan: Plan) -> ContextOptions:
        """Of its context. Where `-fa auto` comes to one thing for one model and to another for the
        other, none goes without flash attention.
        """
        found = {
            model.loaded.weights.flash_attention(_options(model, plan)) for model in self.models
        }
        settled = "on" if len(found) > 1 else found.pop()
        return _options(one, plan)._replace(flash_attention=settled)

    def _open(self, one: Benched, plan: Plan) -> Workbench:
        loaded, before = one.loaded, resident_bytes()
        one.bench = Workbench(
            loaded.weights,
            self.options(one, plan),
            drawn(loaded.resolved, loaded.weights),
            self.abort,
            clock=self.clock,
            draw=Random(_SEED),
        )
        added = _added(before, resident_bytes())
        one.resident = None if added is None or one.resident is None else one.resident + added
        one.kv_cache = _kv_bytes(one, plan.context_size)
        return one.bench


def within(plan: Plan, trained: int | None, console: Console) -> Plan:
    """The plan without what is more than a model was trained for, which is said.

    Raises ContextError where not even a short answer fits.
    """
    if trained is None or plan.context_size <= trained:
        return plan
    if plan.without(trained).context_size > trained:
        raise ContextError(
            f"the model was trained for {trained} tokens, and an answer needs "
            f"{plan.without(trained).context_size}: lower --tokens"
        )
    console.warning(f"sizes beyond the {trained} tokens of the model's training are left out")
    return plan.without(trained)


def _options(one: Benched, plan: Plan) -> ContextOptions:
    options = one.loaded.context_options(context_size=plan.context_size)
    return options._replace(threads=max(plan.threads))


def _added(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else max(0, after - before)


def _kv_bytes(one: Benched, tokens: int) -> int | None:
    if one.path is None:
        return None
    engine = one.loaded.engine
    header = read_header(first_part(one.path))
    return kv_bytes(header, tokens, type_k=engine.cache_type_k, type_v=engine.cache_type_v)
