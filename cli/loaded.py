"""A loaded model with the settings that hold for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nextok.backends.folders import state_folder
from nextok.backends.free_cpus import FreeCpus
from nextok.backends.opening import open_weights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.seen_files import SeenFiles
from nextok.backends.threads import default_threads
from nextok.cli.console import Console
from nextok.cli.finding import Finder, Surroundings
from nextok.cli.flag_table import BY_WORD
from nextok.cli.opened import Opened, Opening
from nextok.cli.resolution import Resolved
from nextok.cli.settings import EngineSettings
from nextok.cli.status import Status
from nextok.generation.abort import Abort
from nextok.generation.errors import UsageError

if TYPE_CHECKING:
    from nextok.backends.weights import Weights

DEFAULT_CONTEXT = 8192
"""Tokens. A model trained for more would take more memory than most conversations need."""


class Loaded(NamedTuple):
    """What a generation is made from. Times in the clock's seconds."""

    weights: Weights
    resolved: Resolved
    load_seconds: float
    at: float
    """When loading was done."""
    threads: int
    """As many as are asked for, or as many as can serve."""
    cpus: FreeCpus
    """Watched since the load began."""
    context_limit: int
    """The most tokens, prompt and answer together."""
    draft: Weights | None = None
    """A smaller model that guesses ahead."""

    def close(self) -> None:
        """Free the weights; everything made from them must be closed before."""
        self.weights.close()
        if self.draft is not None:
            self.draft.close()

    @property
    def guesses(self) -> bool:
        """Whether a step may yield more than one token."""
        return self.draft is not None or self.resolved.speculation.lookup

    @property
    def offloads(self) -> bool:
        """Whether layers are on a GPU."""
        return self.weights.can_offload and self.engine.gpu_layers != 0

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
            ubatch_size=self.ubatch_size,
            flash_attention=engine.flash_attn,
            cache_type_k=engine.cache_type_k,
            cache_type_v=engine.cache_type_v,
        )

    @property
    def ubatch_size(self) -> int:
        """Prompt tokens computed at once. A GPU is fast with many, and CPUs with a few already.

        The fewer they are, the more of a prompt's beginning can come from a cache: it is cut
        between them.
        """
        return self.engine.ubatch_size or (512 if self.offloads else 128)

    @property
    def exact(self) -> bool:
        """Whether a token comes out the same alone, in a batch and from a cache.

        Measured: true of these weights' kernels with one thread, flash attention, and fewer than
        64 rows at once.
        """
        return self.rows_are_exact and min(self.engine.batch_size, self.ubatch_size) < 64

    @property
    def rows_are_exact(self) -> bool:
        """Whether it comes out the same alone and in a batch of fewer than 64 rows."""
        is_single = self.threads == 1 and self.engine.flash_attn != "off"
        return is_single and self.weights.computes_exactly


class Loader(NamedTuple):
    """Finds the model that is meant, or fetches it, and loads it.

    All methods raise UsageError, ModelError, HubError, EngineError, Aborted.
    """

    resolved: Resolved
    abort: Abort
    console: Console
    status: Status
    clock: Callable[[], float]
    around_fetching: Surroundings
    cpus: FreeCpus
    """Looked at while the file is read: how busy others are."""
    vocabulary_only: bool = False
    found: Callable[[Path | None], None] = lambda path: None
    """Told which file it is, before it is loaded."""
    meanwhile: Callable[[], None] = lambda: None
    """Called right before the engine reads the file, to begin what it need not wait for."""

    def load(self) -> Loaded:
        """All of it, step after step; says which model answers when none was named."""
        path = self.find()
        self.found(path)
        draft = self.find_draft()
        if self.resolved.engine.model is None and path is not None:
            self.console.note(f"answering with {path.stem}; -m names another model")
        began = self.clock()
        return self.settled(path, self.open(path, draft), began)

    def find(self) -> Path | None:
        """The model's file; None is the toy."""
        return self._finder.find(self.resolved.engine.model)

    def find_draft(self) -> Opening | None:
        """What opens the model that is to guess ahead, if there is to be one."""
        reference = self.resolved.speculation.draft
        if reference is None:
            return None
        path = self._finder.find(reference)
        return lambda: self._open(path)

    def open(self, path: Path | None, draft: Opening | None = None) -> Opened:
        """Load the files. Takes long, and may do so in any thread."""
        engine = self.resolved.engine
        if engine.threads is None:
            self.cpus.look()  # how busy others are shows while the file is read
        opened = Opened(weights=self._open(path))
        if engine.gpu_layers and not opened.weights.can_offload:
            self.console.warning(
                "this build of the engine has no GPU support: running on the CPU "
                "(README says how to get a CUDA, Metal or Vulkan build)"
            )
        return opened if draft is None else opened.with_draft(draft)

    def _open(self, path: Path | None) -> Weights:
        status = self.status
        try:
            return open_weights(
                path,
                self._options(self.resolved.engine),
                self.abort,
                seen=SeenFiles(state_folder()),
                progress=lambda done: status.show(f"loading the model: {done:.0%}"),
                listener=self.console.plain if self.resolved.output.verbose else None,
                meanwhile=self.meanwhile,
            )
        finally:
            status.clear()

    def settled(self, path: Path | None, opened: Opened, began: float) -> Loaded:
        """The settings that hold for the model, its own recommendations among them."""
        done, weights = self.clock(), opened.weights
        named = self.resolved.engine.model
        recommended = recommendations(weights.recommended_sampling, self.console)
        resolved = self.resolved.with_model(names_of(named, path), recommended)
        engine = resolved.engine
        return Loaded(
            weights=weights,
            resolved=resolved,
            load_seconds=done - began,
            at=done,
            threads=engine.threads or default_threads(),
            cpus=self.cpus,
            context_limit=context_limit(engine.ctx_size, weights.trained_context),
            draft=opened.draft,
        )

    @property
    def _finder(self) -> Finder:
        return Finder(
            resolved=self.resolved,
            console=self.console,
            status=self.status,
            abort=self.abort,
            around_fetching=self.around_fetching,
        )

    def _options(self, engine: EngineSettings) -> LoadOptions:
        options = LoadOptions(
            mmap=engine.mmap, mlock=engine.mlock, vocabulary_only=self.vocabulary_only
        )
        if engine.gpu_layers is not None:
            options = options._replace(gpu_layers=engine.gpu_layers)
        return options


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
