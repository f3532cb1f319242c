"""A loaded model with the settings that hold for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nextok.backends.folders import state_folder
from nextok.backends.opening import open_weights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.seen_files import SeenFiles
from nextok.backends.threads import default_threads
from nextok.cli.console import Console
from nextok.cli.finding import Finder, Surroundings
from nextok.cli.flag_table import BY_WORD
from nextok.cli.resolution import Resolved
from nextok.cli.settings import EngineSettings
from nextok.cli.status import Status
from nextok.generation.abort import Abort
from nextok.generation.errors import UsageError

if TYPE_CHECKING:
    from nextok.backends.weights import Weights

DEFAULT_CONTEXT = 8192
"""Tokens. A model trained for more would take more memory than most conversations need."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What a generation is made from. Times in the clock's seconds."""

    weights: Weights
    resolved: Resolved
    load_seconds: float
    at: float
    """When loading was done."""
    threads: int
    context_limit: int
    """The most tokens, prompt and answer together."""

    @property
    def engine(self) -> EngineSettings:
        return self.resolved.engine

    def context_options(self, *, context_size: int) -> ContextOptions:
        """What to ask the engine for."""
        engine = self.engine
        return ContextOptions(
            context_size=context_size,
            threads=self.threads,
            batch_size=engine.batch_size,
            ubatch_size=engine.ubatch_size,
            flash_attention=engine.flash_attn,
            cache_type_k=engine.cache_type_k,
            cache_type_v=engine.cache_type_v,
        )

    @property
    def exact(self) -> bool:
        """Whether a token comes out the same alone, in a batch and from a cache.

        Measured: true of these weights' kernels with one thread, flash attention, and fewer than
        64 rows at once.
        """
        engine = self.engine
        return (
            self.weights.computes_exactly
            and self.threads == 1
            and engine.flash_attn != "off"
            and min(engine.batch_size, engine.ubatch_size) < 64
        )


def load(
    resolved: Resolved,
    abort: Abort,
    console: Console,
    status: Status,
    clock: Callable[[], float],
    *,
    around_fetching: Surroundings,
    vocabulary_only: bool = False,
    names_itself: bool = False,
    wait_for: Callable[[Callable[[], Weights]], Weights] | None = None,
) -> Loaded:
    """Find the model, or fetch it, and load it. `wait_for` runs the load itself.

    names_itself: whether the caller says which model it is.
    Raises UsageError, ModelError, HubError, EngineError, Aborted.
    """
    engine = resolved.engine
    finder = Finder(
        resolved=resolved, console=console, status=status, abort=abort,
        around_fetching=around_fetching,
    )  # fmt: skip
    path = finder.find(engine.model)
    if engine.model is None and path is not None and not names_itself:
        console.note(f"answering with {path.stem}; -m names another model")
    began = clock()

    def opened() -> Weights:
        return _open(path, resolved, abort, console, status, vocabulary_only=vocabulary_only)

    weights = opened() if wait_for is None else wait_for(opened)
    done = clock()
    recommended = recommendations(weights.recommended_sampling, console)
    resolved = resolved.with_model(names_of(engine.model, path), recommended)
    engine = resolved.engine
    return Loaded(
        weights=weights,
        resolved=resolved,
        load_seconds=done - began,
        at=done,
        threads=engine.threads or default_threads(),
        context_limit=context_limit(engine.ctx_size, weights.trained_context),
    )


def _open(
    path: Path | None,
    resolved: Resolved,
    abort: Abort,
    console: Console,
    status: Status,
    *,
    vocabulary_only: bool,
) -> Weights:
    engine = resolved.engine
    options = LoadOptions(mmap=engine.mmap, mlock=engine.mlock, vocabulary_only=vocabulary_only)
    if engine.gpu_layers is not None:
        options = replace(options, gpu_layers=engine.gpu_layers)
    try:
        weights = open_weights(
            path,
            options,
            abort,
            seen=SeenFiles(state_folder()),
            progress=lambda done: status.show(f"loading the model: {done:.0%}"),
            listener=console.plain if resolved.output.verbose else None,
        )
    finally:
        status.clear()
    if engine.gpu_layers and not weights.can_offload:
        console.warning(
            "this build of the engine has no GPU support: running on the CPU "
            "(README says how to get a CUDA, Metal or Vulkan build)"
        )
    return weights


def recommendations(texts: Mapping[str, str], console: Console) -> dict[str, object]:
    """The model's own sampling defaults as values; what no flag could set is left out, and said."""
    found: dict[str, object] = {}
    for key, text in texts.items():
        flag, _ = BY_WORD[key]
        try:
            found[key] = flag.parse(text, f"{flag.names[0]} as this model recommends it")
        except UsageError as error:
            console.warning(f"ignored: {error}")
    return found


def names_of(reference: str | None, path: Path | None) -> list[str]:
    """What a table of the config file may call the model."""
    known = [reference, path and str(path), path and path.name, path and path.stem]
    return [name for name in known if name]


def context_limit(asked: int | None, trained: int) -> int:
    """The most tokens: what was asked for, else what the model was trained for, within reason."""
    if asked is None:
        return min(trained or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
    if asked == 0:
        return trained or DEFAULT_CONTEXT
    return asked


def warn_beyond_training(asked: int | None, trained: int, console: Console) -> None:
    """Say it when the context is larger than what the model has seen."""
    if asked is not None and 0 < trained < asked:
        console.warning(
            f"--ctx-size {asked} is more than the {trained} tokens the model was trained for: "
            "expect nonsense beyond them"
        )
