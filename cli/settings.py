"""What a run was asked for: one group of settings a concern, each with its defaults.

Sampling is generation's own (`nextok.generation.sampling.Sampling`). Nothing here knows where a
value came from; `nextok.cli.resolution` does. Named tuples, because every start makes them all:
a frozen dataclass takes five times as long to make.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

ColorMode: TypeAlias = Literal["auto", "always", "never"]
ThinkMode: TypeAlias = Literal["show", "dim", "hide"]
ExportFormat: TypeAlias = Literal["md", "json"]
FullMode: TypeAlias = Literal["drop", "stop", "shift"]
FlashMode: TypeAlias = Literal["auto", "on", "off"]
CacheType: TypeAlias = Literal[
    "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"
]

ALL_LAYERS = -1
"""`gpu_layers` that means every layer of the model, however many there are."""


class LogitBias(NamedTuple):
    """Added to the score of a token, given by its id or as the text it stands for."""

    token: int | str
    value: float
    """Minus infinity bans the token."""


class BiasSettings(NamedTuple):
    """Biases as the user wrote them; a tokenizer turns texts into ids, later."""

    logit_bias: tuple[LogitBias, ...] = ()


class PromptSettings(NamedTuple):
    """What the model is to read."""

    prompt: str | None = None
    """The argument's words joined by spaces, or `-p`; None when there was neither."""
    file: tuple[str, ...] = ()
    """Paths in the order given; `-` is standard input."""
    system: str | None = None
    messages: str | None = None
    """Path of a JSON file that holds a whole conversation."""
    prefill: str | None = None
    """The beginning of the reply."""
    raw: bool = False
    special: bool = False
    escape: bool = False
    encoding: str = "utf-8"
    chat_template: str | None = None
    """The name of a template or the path of a file that holds one."""
    chat_template_kwargs: Mapping[str, object] = {}
    reasoning: bool | None = None
    """None leaves it to the model."""
    fold_system: bool = False
    """Whether the system message goes into the first user message."""
    no_stdin: bool = False


class EngineSettings(NamedTuple):
    """Which model, and how it is run."""

    model: str | None = None
    ctx_size: int | None = None
    """Tokens. None: what the model was trained for, but no more than 8192; 0: all of that."""
    threads: int | None = None
    """None: as many as are fastest here."""
    batch_size: int = 512
    ubatch_size: int | None = None
    """None: as many as are fast here."""
    gpu_layers: int | None = None
    """None: what the engine's build can do; ALL_LAYERS: all of them."""
    flash_attn: FlashMode = "auto"
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    mmap: bool = True
    mlock: bool = False


class StopSettings(NamedTuple):
    """When it ends."""

    max_tokens: int = -1
    """-1: until the model stops or the context is full."""
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False
    timeout: float | None = None
    """Seconds, like the next two; None: no limit."""
    first_token_timeout: float | None = None
    stall_timeout: float | None = None


class OutputSettings(NamedTuple):
    """What is said, and how."""

    json: bool = False
    jsonl: bool = False
    stats: bool = False
    trace: str | None = None
    """Path of the file that gets the lines of `--jsonl`."""
    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    color: ColorMode = "auto"
    think: ThinkMode | None = None
    """None: dim on a terminal, hidden from a pipe."""
    latency: bool = False
    """Whether figures are shown while tokens are made, and at the end."""
    latency_color: bool = False
    """Whether the text on a terminal is tinted by each token's time."""

    @property
    def shows_latency(self) -> bool:
        """Whether anything is shown of each token's time."""
        return self.latency or self.latency_color


class ChatSettings(NamedTuple):
    """How a conversation is carried on, and what of it is kept."""

    continue_last: bool = False
    """Whether the last chat is taken up."""
    resume: str | None = None
    """The name of a saved chat."""
    save: bool | None = None
    """None: a chat is kept, a single answer is not."""
    interactive: bool = False
    """Whether the terminal takes over when standard input has ended."""
    on_full: FullMode = "drop"
    """What makes room in a full context."""
    markdown: bool = True
    think_budget: int | None = None
    """Most tokens of reasoning; None: no limit."""
    state_cap: int = 4 << 30
    """Bytes that kept KV states may take on disk, all together."""


class CacheSettings(NamedTuple):
    """What of a prompt is kept for others that begin alike."""

    cache: bool | None = None
    """None: what is seen for the second time; False: nothing, and nothing is looked for."""


class ChatsSettings(NamedTuple):
    """What `nextok chats` was asked for."""

    export: str | None = None
    format: ExportFormat = "md"
    delete: str | None = None
    rename: bool = False


class HubSettings(NamedTuple):
    """What may be fetched, and what the commands about model files were asked for."""

    pull: bool = False
    """Whether a model that is not on disk is fetched without asking, in a script too."""
    yes: bool = False
    """The answer to every question."""
    offline: bool = False
    print_path: bool = False
    load: bool = False
    """Whether `verify` also tries the file in the engine."""
    limit: int = 20
    """Most repositories that `search` lists."""
    remove: bool = False
    """Whether `alias` takes a name away."""


class PlotSettings(NamedTuple):
    """What `nextok plot` was asked for."""

    picture: str | None = None
    """Path of the PNG or SVG to draw; None: the terminal."""


class Since(NamedTuple):
    """A moment in the past: so long ago, or a date. One of the two."""

    ago_seconds: float = 0.0
    at: float | None = None
    """Seconds since 1970."""

    def moment(self, now: float) -> float:
        """In seconds since 1970."""
        return now - self.ago_seconds if self.at is None else self.at


class JournalSettings(NamedTuple):
    """What is remembered of generations, and what the journal is asked."""

    log: bool = True
    log_text: bool = False
    """Whether what was asked and answered is remembered, too."""
    private: bool = False
    """Whether nothing at all is kept: no journal, no chat, no input, no state."""
    only_model: str | None = None
    since: Since | None = None
    rows: int = 20
    prune: Since | int | None = None
    """What to remove: what is older, or the oldest beyond so many bytes."""
    everything: bool = False
    """Whether `forget` means all that is kept."""

    @property
    def remembers(self) -> bool:
        """Whether generations leave a row."""
        return self.log and not self.private


class SpeculationSettings(NamedTuple):
    """Where guesses come from that make a step yield more than one token."""

    lookup: bool = False
    """Whether the text itself is searched for them."""
    draft: str | None = None
    """The model that makes them."""


class ConfigSettings(NamedTuple):
    """What `nextok config` was asked for itself."""

    path: bool = False
