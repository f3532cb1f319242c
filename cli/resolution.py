"""Every setting's value and where it comes from: flag > environment > config > model > built in.

Resolved once before the model is known and, with what the model and its table in the config
file say, once more after.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from nextok.cli import environment
from nextok.cli.batch_settings import BatchSettings
from nextok.cli.bench_settings import BenchSettings
from nextok.cli.commands import CommandName
from nextok.cli.config_file import ConfigFile
from nextok.cli.flag_table import FLAGS, flags_of
from nextok.cli.settings import (
    BiasSettings,
    CacheSettings,
    ChatSettings,
    ChatsSettings,
    EngineSettings,
    HubSettings,
    JournalSettings,
    LogitBias,
    OutputSettings,
    PlotSettings,
    PromptSettings,
    SpeculationSettings,
    StopSettings,
)
from nextok.generation.errors import UsageError
from nextok.generation.sampling import Sampling

BUILT_IN = "built in"
SET_SINCE = "set in the chat"
GIVEN = "flag"
_SAMPLING_KEYS = frozenset(Sampling._fields)

Group = TypeVar("Group")


class Layer(NamedTuple):
    """Settings that come from one place."""

    origin: str
    values: Mapping[str, object]


class Resolved(NamedTuple):
    """The settings of one run: an earlier layer outranks a later one."""

    command: CommandName
    config: ConfigFile
    asked: tuple[Layer, ...]
    """The flags, and a variable each."""
    written: tuple[Layer, ...]
    """The tables of the config file."""
    recommended: Layer
    """What the model's file carries."""
    built_in: Layer

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All of them, the strongest first."""
        return (*self.asked, *self.written, self.recommended, self.built_in)

    def value(self, key: str) -> object:
        """What holds."""
        return self._layer(key).values[key]

    def origin(self, key: str) -> str:
        """Where it comes from, in words."""
        return self._layer(key).origin

    def keys(self) -> tuple[str, ...]:
        """The settings the command has, in the help's order."""
        return tuple(flag.key for flag in flags_of(self.command))

    @property
    def engine(self) -> EngineSettings:
        """Which model, and how it is run."""
        return self._fill(EngineSettings)

    @property
    def prompt(self) -> PromptSettings:
        """What the model is to read."""
        return self._fill(PromptSettings)

    @property
    def sampling(self) -> Sampling:
        """How the next token is drawn, the biases left out: they wait for a tokenizer."""
        values = {key: self.value(key) for key in _SAMPLING_KEYS - {"logit_bias"}}
        return _build(Sampling, values)

    @property
    def biases(self) -> tuple[LogitBias, ...]:
        """The biases as they were written."""
        return self._fill(BiasSettings).logit_bias

    @property
    def stops(self) -> StopSettings:
        """When it ends."""
        return self._fill(StopSettings)

    @property
    def speculation(self) -> SpeculationSettings:
        """Where guesses come from."""
        return self._fill(SpeculationSettings)

    @property
    def output(self) -> OutputSettings:
        """What is said, and how."""
        return self._fill(OutputSettings)

    @property
    def chat(self) -> ChatSettings:
        """How a conversation is carried on."""
        return self._fill(ChatSettings)

    @property
    def cache(self) -> CacheSettings:
        """What of a prompt is kept."""
        return self._fill(CacheSettings)

    @property
    def keeps_prompts(self) -> bool:
        """Whether what was read of prompts may be kept, and taken up."""
        private = self.journal.private or self.chat.state_cap == 0
        return self.cache.cache is not False and not private

    @property
    def chats(self) -> ChatsSettings:
        """What is to happen with saved chats."""
        return self._fill(ChatsSettings)

    @property
    def hub(self) -> HubSettings:
        """What may be fetched, and how."""
        return self._fill(HubSettings)

    @property
    def plot(self) -> PlotSettings:
        """How a trace is drawn."""
        return self._fill(PlotSettings)

    @property
    def batch(self) -> BatchSettings:
        """How many prompts are run."""
        return self._fill(BatchSettings)

    @property
    def bench(self) -> BenchSettings:
        """What is measured."""
        return self._fill(BenchSettings)

    @property
    def journal(self) -> JournalSettings:
        """What is remembered, and what of it is asked."""
        return self._fill(JournalSettings)

    def with_model(
        self, refs: Iterable[str], recommended: Mapping[str, object] | None = None
    ) -> Resolved:
        """The settings for a model known by any of `refs`.

        `recommended`: values of Sampling's fields from the model's file.
        """
        tables = (*_model_tables(self.config, refs), *_general(self.config, self.command))
        layer = Layer(origin="model", values=dict(recommended or {}))
        return self._replace(written=tables, recommended=layer)

    def with_set(self, values: Mapping[str, object]) -> Resolved:
        """The settings with some that were set since, above all others."""
        return self._replace(asked=(Layer(origin=SET_SINCE, values=values), *self.asked))

    def without_set(self, keys: Iterable[str]) -> Resolved:
        """The settings as they were before these were set."""
        gone = frozenset(keys)
        asked = [
            layer._replace(values={key: layer.values[key] for key in layer.values.keys() - gone})
            if layer.origin == SET_SINCE
            else layer
            for layer in self.asked
        ]
        return self._replace(asked=tuple(asked))

    def _layer(self, key: str) -> Layer:
        return next(layer for layer in self.layers if key in layer.values)

    def _fill(self, group: type[Group]) -> Group:
        names = cast(Any, group)._fields
        return _build(group, {name: self.value(name) for name in names})


def resolve(
    command: CommandName,
    given: Mapping[str, object],
    environ: Mapping[str, str],
    config: ConfigFile,
) -> Resolved:
    """Lay the settings of a command over each other. UsageError for a variable's bad value."""
    layers = [Layer(origin=GIVEN, values=given)]
    for flag in flags_of(command):
        found = environment.read_flag(flag, environ) if flag.ambient else None
        if found is not None:
            name, value = found
            layers.append(Layer(origin=f"environment {name}", values={flag.key: value}))
    resolved = Resolved(
        command=command,
        config=config,
        asked=tuple(layers),
        written=tuple(_general(config, command)),
        recommended=Layer(origin="model", values={}),
        built_in=Layer(origin=BUILT_IN, values=_defaults()),
    )
    model = resolved.engine.model
    if model is not None:
        resolved = resolved.with_model([model, config.aliases.get(model, model)])
    return _one_of(_one_of(resolved, "json", "jsonl"), "lookup", "draft")


def _one_of(resolved: Resolved, one: str, other: str) -> Resolved:
    """Settle two flags that exclude each other: the stronger layer's holds."""
    if not (resolved.value(one) and resolved.value(other)):
        return resolved
    ranks = [_rank(resolved.origin(key)) for key in (one, other)]
    if ranks[0] == ranks[1]:
        raise UsageError(f"--{one} and --{other} exclude each other: choose one")
    weaker = one if ranks[0] > ranks[1] else other
    flags, *variables = resolved.asked
    settled = flags._replace(values={**flags.values, weaker: _defaults()[weaker]})
    return resolved._replace(asked=(settled, *variables))


def _rank(origin: str) -> tuple[int, int]:
    """How weak an origin is."""
    kinds = (GIVEN, "environment", "config", "model", BUILT_IN)
    kind = next(index for index, one in enumerate(kinds) if origin.startswith(one))
    return kind, int(origin.endswith("[defaults]"))


def _general(config: ConfigFile, command: CommandName) -> list[Layer]:
    """The tables of the config file that hold whatever the model is."""
    tables = {f"[commands.{command}]": config.commands.get(command, {})}
    tables["[defaults]"] = config.defaults
    return [
        Layer(origin=f"config {config.path} {name}", values=values)
        for name, values in tables.items()
    ]


def _model_tables(config: ConfigFile, refs: Iterable[str]) -> list[Layer]:
    """The tables of the config file that are about a model, by what it may be called."""
    wanted = {os.path.expanduser(ref) for ref in refs}
    return [
        Layer(origin=f'config {config.path} [models."{ref}"]', values=values)
        for ref, values in config.models.items()
        if os.path.expanduser(ref) in wanted
    ]


def _defaults() -> dict[str, object]:
    return {flag.key: flag.default for flag in FLAGS}


def _build(group: type[Group], values: Mapping[str, Any]) -> Group:
    return group(**values)  # the table's kinds have checked the types
