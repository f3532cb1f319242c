"""How the next token is drawn: every knob, its default, and no way of drawing.

The defaults are llama.cpp's (common/common.h, common_params_sampling); a neutral value
switches its step off.
"""

from typing import NamedTuple

#: llama.cpp's order. Penalties and DRY come first because they reshape the whole distribution,
#: temperature last because the cuts before it are meant for the model's own probabilities.
SAMPLERS = (
    "penalties",
    "dry",
    "top_n_sigma",
    "top_k",
    "typ_p",
    "top_p",
    "min_p",
    "xtc",
    "temperature",
)


class Sampling(NamedTuple):
    """One generation's sampling settings; field names are the flags' long names."""

    seed: int = -1
    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical: float = 1.0
    top_n_sigma: float = -1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    dynatemp_range: float = 0.0
    dynatemp_exp: float = 1.0
    mirostat: int = 0
    mirostat_lr: float = 0.1
    mirostat_ent: float = 5.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = -1
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    samplers: tuple[str, ...] = SAMPLERS
    logit_bias: tuple[tuple[int, float], ...] = ()
    ignore_eos: bool = False

    @property
    def penalises(self) -> bool:
        """Whether tokens already in the context change the distribution."""
        return (
            self.repeat_penalty != 1.0 or self.presence_penalty != 0.0
            or self.frequency_penalty != 0.0
        )  # fmt: skip

    @property
    def greedy(self) -> bool:
        """Whether the most likely token always wins: below this temperature softmax is one-hot."""
        return self.temperature < 1e-5 and self.mirostat == 0
