"""What `nextok lab` was asked for: a group that all experiments share, and one for each of them.

Keys are unique among all settings, so an experiment's begin with its name.
"""

from typing import NamedTuple


class LabSettings(NamedTuple):
    """What holds for every experiment that can use it."""

    lab_folder: str | None = None
    """Where pictures and data go; None: nowhere but the terminal."""
    lab_full: bool = False
    """Whether the sizes are those that give good figures, however long that takes."""
    lab_tokens: int | None = None
    """Tokens to generate; None: what suits the experiment."""
    lab_prompt: str | None = None
    """What the model is asked; None: the experiment's own."""
    lab_prompts: str | None = None
    """Path of a file with a prompt a line; None: a list that is built in."""


class LoopSettings(NamedTuple):
    """`nextok lab loop`."""

    loop_at: tuple[int, ...] = ()
    """Indexes of the tokens to look at closely; none: a few, evenly spread."""
    loop_draws: int = 2000
    """How often both samplers draw at one position."""
    loop_explain: bool = False
    """Whether each token is walked through in the terminal."""


class CacheLabSettings(NamedTuple):
    """`nextok lab cache`."""

    cache_patience: float = 10.0
    """Seconds a reader waits."""
    cache_cpu_time: bool = False
    """Whether the processor's time is counted, not the clock's."""


class DivergenceSettings(NamedTuple):
    """`nextok lab divergence`."""

    divergence_against: str | None = None
    """Another model to hold against; None: variants of the same one."""
    divergence_quantize: str | None = None
    """The types to make, with commas between them; None: a finer and a coarser one."""


class AbandonmentSettings(NamedTuple):
    """`nextok lab abandonment`."""

    abandonment_workload: str | None = None
    """Path of a file with recorded requests; None: lengths as in a chat service."""
    abandonment_arrivals: str | None = None
    """`poisson` or `recorded`; None: recorded if there is a file."""
    abandonment_share: float = 0.2
    """Of requests whose reader goes away."""
    abandonment_slots: int = 4
    """Requests that can be served at once."""
    abandonment_load: float = 0.9
    """Of the slots, if every answer is made to its end."""
    abandonment_rate: float | None = None
    """Requests a second, instead of a load."""
    abandonment_generations: int | None = None
    """Real generations that are left; None: what suits."""


class LengthsSettings(NamedTuple):
    """`nextok lab lengths`."""

    lengths_log: str | None = None
    """Path of a file with lengths; None: answers are generated."""
    lengths_journal: bool = False
    """Whether lengths are those of nextok's own journal."""
    lengths_column: str | None = None
    """The column of the lengths; None: it is found by its name."""
    lengths_other: str | None = None
    """Path of another workload's file."""
    lengths_cap: int | None = None
    """Tokens no answer was allowed to exceed; None: it is found in the data, 0: there is none."""
    lengths_over: str = "cut"
    """What became of longer answers: `cut` or `missing`."""
