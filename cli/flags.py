"""All flags: names, values, ranges, defaults and which commands carry them, in one table.

The defaults are those of the groups the values end up in. The table knows nothing of where
values come from (`nextok.cli.arguments`, `nextok.cli.environment`, `nextok.cli.config_file`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from nextok.cli.batch_settings import BatchSettings
from nextok.cli.bench_settings import BenchSettings
from nextok.cli.commands import NAMES, CommandName
from nextok.cli.flag_types import Kind, Switch, Written
from nextok.cli.lab_settings import (
    AbandonmentSettings,
    CacheLabSettings,
    DivergenceSettings,
    LabSettings,
    LengthsSettings,
    LoopSettings,
)
from nextok.cli.settings import (
    BiasSettings,
    CacheSettings,
    ChatSettings,
    ChatsSettings,
    ConfigSettings,
    EngineSettings,
    HubSettings,
    JournalSettings,
    OutputSettings,
    PlotSettings,
    PromptSettings,
    SpeculationSettings,
    StopSettings,
)
from nextok.generation.errors import UsageError
from nextok.generation.sampling import Sampling

#: BiasSettings comes before Sampling because both have a logit_bias: the flag's is the former's.
GROUPS: tuple[type[NamedTuple], ...] = (
    EngineSettings,
    PromptSettings,
    BiasSettings,
    Sampling,
    StopSettings,
    SpeculationSettings,
    OutputSettings,
    ChatSettings,
    CacheSettings,
    ChatsSettings,
    HubSettings,
    PlotSettings,
    BatchSettings,
    BenchSettings,
    JournalSettings,
    LabSettings,
    LoopSettings,
    CacheLabSettings,
    DivergenceSettings,
    AbandonmentSettings,
    LengthsSettings,
    ConfigSettings,
)
EVERYWHERE = NAMES
GENERATION: tuple[CommandName, ...] = ("generate", "chat", "config")
ANSWERING: tuple[CommandName, ...] = (*GENERATION, "batch")
RUNS: tuple[CommandName, ...] = (*ANSWERING, "lab")
"""What runs a model."""
PROMPTS: tuple[CommandName, ...] = ("generate", "render", "tokens", "config")


class Flag(NamedTuple):
    """One setting as the command line, the environment and the config file spell it."""

    key: str
    """The field it fills."""
    names: tuple[str, ...]
    """As the help shows them; for a switch, those that turn it on."""
    kind: Kind
    help: str
    panel: str
    commands: tuple[CommandName, ...]
    on: tuple[str, ...]
    """Every name that sets it, or turns it on: `names` and `aliases`."""
    off: tuple[str, ...]
    """Every name that turns it off."""
    aliases: tuple[str, ...] = ()
    repeatable: bool = False
    cleared_by: str | None = None
    """A word that empties a repeatable flag, its default included."""
    ambient: bool = True
    """Whether the environment and the config file may set it."""

    @property
    def switch(self) -> bool:
        """Whether it takes no value on the command line."""
        return isinstance(self.kind, Switch)

    @property
    def default(self) -> object:
        """What holds when nobody says anything."""
        return _DEFAULTS[self.key]

    @property
    def shown(self) -> tuple[str, ...]:
        """The names worth showing: of a switch that is on anyway, those that turn it off."""
        return self.off[:1] if self.default is True else self.names

    @property
    def title(self) -> str:
        """The name the environment and the config file know it by first."""
        return next(name for name in self.names if name.startswith("--"))[2:]

    def words(self) -> Iterator[tuple[str, bool]]:
        """The long names without dashes, `_` for `-`, and whether they mean it or its opposite."""
        yield self.key, True
        for names, meant in ((self.on, True), (self.off, False)):
            for name in names:
                if name.startswith("--"):
                    yield name[2:].replace("-", "_"), meant

    def parse(self, text: str, source: str) -> object:
        """The value a word stands for. UsageError names source, value and range."""
        try:
            return self.kind.parse(text)
        except (ValueError, RecursionError) as error:
            raise _refused(self.kind.expected, repr(text), source) from error

    def accept(self, value: object, source: str, spelled: Callable[[object], str] = repr) -> object:
        """The same for a typed value; a list is the values of a repeatable flag.

        spelled: how the source writes values.
        """
        if not self.repeatable:
            return self._accept_one(value, source, spelled)
        items = value if isinstance(value, list) else [value]
        if isinstance(self.kind, Written) and not all(isinstance(item, str) for item in items):
            raise _refused("a text or a list of texts", spelled(value), source)
        return self.collect([self._accept_one(item, source, spelled) for item in items])

    def collect(self, values: list[object]) -> tuple[object, ...]:
        """What all values of a repeatable flag come to."""
        if self.cleared_by is not None and self.cleared_by in values:
            last = len(values) - values[::-1].index(self.cleared_by)
            values = values[last:]
        return tuple(values)

    def _accept_one(self, value: object, source: str, spelled: Callable[[object], str]) -> object:
        try:
            return self.kind.accept(value)
        except (ValueError, RecursionError) as error:
            raise _refused(self.kind.expected, spelled(value), source) from error


def _refused(expected: str, written: str, source: str) -> UsageError:
    shown = written if len(written) <= 80 else f"{written[:60]}… ({len(written)} characters)"
    return UsageError(f"{source} must be {expected}, not {shown}")


def flag(
    key: str,
    names: str,
    kind: Kind,
    help_text: str,
    commands: tuple[CommandName, ...],
    *,
    panel: str,
    aliases: str = "",
    off: str = "",
    repeatable: bool = False,
    cleared_by: str | None = None,
    ambient: bool = True,
) -> Flag:
    """A row of a flag table: a Flag whose names are written as one line of words.

    off: what turns a switch off, beside `--no-…`.
    """
    on = (*names.split(), *aliases.split())
    return Flag(
        key=key,
        names=tuple(names.split()),
        on=on,
        off=(*off.split(), *_opposites(on)) if isinstance(kind, Switch) else (),
        kind=kind,
        help=help_text,
        panel=panel,
        commands=commands,
        aliases=tuple(aliases.split()),
        repeatable=repeatable,
        cleared_by=cleared_by,
        ambient=ambient,
    )


def _opposites(names: Iterable[str]) -> Iterator[str]:
    """What turns off the switches that these turn on."""
    for name in names:
        if name.startswith("--") and not name.startswith("--no-"):
            yield "--no-" + name[2:]


def _defaults() -> dict[str, object]:
    found: dict[str, object] = {}
    for group in GROUPS:
        for key, default in group._field_defaults.items():
            found.setdefault(key, default)
    return found


_DEFAULTS = _defaults()
