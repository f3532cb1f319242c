"""How many prompts go together, in how much memory, and what they share: settled beforehand.

Two layouts. Apart, each sequence has its own memory, as large as the largest needs: its tokens lie
in order, so that it comes out as it would alone, and no other is in its way. Together, all share
one: a long beginning is held once, and each takes what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nextok.backends.memory import available_bytes
from nextok.backends.options import CONTEXT_STEP, ContextOptions
from nextok.cli.batch_prompts import Prepared
from nextok.cli.loaded import Loaded
from nextok.cli.units import size
from nextok.generation.errors import EngineError
from nextok.generation.loop import shared_prefix

USUAL_PARALLEL = 8
_LEAST_SHARED = 10
"""Tokens. A shorter beginning is read as soon as copied."""
_LONG_SHARED = 256
"""Tokens. A longer one is not held many times over, unless it has to be."""
_SHARE_TAKEN = 0.5
"""Of the memory there is: what is taken unasked."""


class Plan(NamedTuple):
    """Sizes in tokens."""

    parallel: int
    shared: Sequence[int]
    """What all prompts begin with."""
    unified: bool
    largest: int
    """The most that one sequence can come to."""
    context_size: int
    """Of all sequences together."""

    root: bool
    """Whether one more sequence keeps what is shared."""

    @property
    def sequences(self) -> int:
        """In the engine."""
        return self.parallel + self.root

    def options(self, loaded: Loaded) -> ContextOptions:
        """What to ask the engine for."""
        options = loaded.context_options(context_size=self.context_size)
        if options.flash_attention == "auto" and not loaded.offloads:
            # Without it, NaN that one line leaves in the memory would be in the sums of the next.
            options = options._replace(flash_attention="on")
        return options._replace(sequences=self.sequences, unified=self.unified)


def made_plan(
    prepared: Sequence[Prepared],
    loaded: Loaded,
    model: Path | None,
    say: Callable[[str], None] = lambda words: None,
) -> Plan:
    """The plan for these prompts, at least one. EngineError when memory is too small for it.

    model: its file. say: told what the plan is.
    """
    asked = loaded.resolved.batch.parallel
    most = min(asked or USUAL_PARALLEL, len(prepared), loaded.engine.batch_size)
    cost = _Cost(loaded, model)
    shared = _shared(prepared)
    plan = _plan(prepared, loaded, shared, most)
    if asked is None:
        while plan.parallel > 1 and not cost.fits(plan, _SHARE_TAKEN):
            plan = _plan(prepared, loaded, shared, plan.parallel - 1)
    if not cost.fits(plan, 1.0):
        raise EngineError(cost.refusal(plan))
    say(cost.words(plan))
    return plan


def _plan(
    prepared: Sequence[Prepared], loaded: Loaded, shared: Sequence[int], parallel: int
) -> Plan:
    limit = loaded.context_limit
    needs = sorted((one.most_tokens(limit) for one in prepared), reverse=True)
    is_long = len(shared) >= _LONG_SHARED and not loaded.exact
    can_be_cut = loaded.weights.memory_can_be_cut
    plan = Plan(
        parallel=parallel,
        shared=shared,
        unified=is_long or not can_be_cut,
        largest=needs[0],
        context_size=0,
        root=bool(shared) and not can_be_cut,
    )
    if plan.unified:
        own = sum(need - len(plan.shared) for need in needs[:parallel])
        total = _rounded(len(plan.shared) + own)
    else:
        total = plan.sequences * _rounded(needs[0])
    return plan._replace(context_size=total)


def _shared(prepared: Sequence[Prepared]) -> Sequence[int]:
    """The beginning that all prompts have in common, if it is worth it; each has more than that."""
    first = prepared[0].prompt.ids
    length = len(first) - 1 if len(prepared) > 1 else 0
    for one in prepared[1:]:
        ids = one.prompt.ids
        if ids[:length] != first[:length]:  # mostly equal, and that is found out fast
            length = shared_prefix(first[:length], ids)
        length = min(length, len(ids) - 1)
    return first[:length] if length >= _LEAST_SHARED else ()


def _rounded(tokens: int) -> int:
    return -(-tokens // CONTEXT_STEP) * CONTEXT_STEP


class _Cost:
    """What plans take of the memory there is."""

    def __init__(self, loaded: Loaded, model: Path | None) -> None:
        self._loaded = loaded
        self._available = available_bytes()
        self._per_token = None if model is None else self._bytes_per_token(model)

    def fits(self, plan: Plan, share: float) -> bool:
        """Where a size is not known, the engine is asked."""
        if self._available is None or self._per_token is None:
            return True
        return self._need(plan) <= share * self._available

    def words(self, plan: Plan) -> str:
        """What is about to be done."""
        kind = "one memory" if plan.unified else "memories apart"
        memory = "" if self._per_token is None else f" in {size(self._cache(plan))}"
        return (
            f"prompts at once: {plan.parallel}, beginning alike: {len(plan.shared)} tokens, "
            f"{kind}: {plan.context_size} tokens{memory}"
        )

    def refusal(self, plan: Plan) -> str:
        """In numbers."""
        each = self._need(plan) / plan.sequences
        possible = int((self._available or 0) / each)
        remedy = f"--parallel to {possible}" if possible > 1 else "--max-tokens or --ctx-size"
        return (
            f"{plan.parallel} prompts at once, of up to {plan.largest} tokens each, need "
            f"{size(self._need(plan))} for the KV cache and {size(self._available or 0)} are "
            f"available: lower {remedy}"
        )

    def _need(self, plan: Plan) -> int:
        """The cache, and a row of scores a sequence."""
        rows = 4 * plan.parallel * len(self._loaded.weights.tokenizer)
        return self._cache(plan) + rows

    def _cache(self, plan: Plan) -> int:
        return (self._per_token or 0) * plan.context_size

    def _bytes_per_token(self, model: Path) -> int | None:
        from nextok.backends.gguf_header import read_header
        from nextok.backends.kv_size import kv_bytes_per_token

        engine = self._loaded.engine
        return kv_bytes_per_token(
            read_header(model), type_k=engine.cache_type_k, type_v=engine.cache_type_v
        )
