"""The flags that say how the next token is drawn."""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Text
from nextok.cli.flags import RUNS, Flag, flag
from nextok.cli.number_types import Number
from nextok.cli.sampling_types import Bias, Samplers

_SHARE = Number(low=0, high=1)
_PENALTY = Number(low=-100, high=100)
_WINDOW = Number(low=-1, high=2**31 - 1, whole=True)
_COUNT = Number(low=0, high=2**31 - 1, whole=True)
_STRENGTH = Number(low=0, high=100)

_sampling = partial(flag, panel="Sampling", commands=RUNS)

SAMPLING_FLAGS: tuple[Flag, ...] = (
    _sampling(
        "temperature",
        "--temp --temperature",
        Number(low=0, high=100),
        "How daring: 0 always takes the most likely token.",
    ),
    _sampling("top_k", "--top-k", _COUNT, "Only the K most likely tokens; 0 = off."),
    _sampling("top_p", "--top-p", _SHARE, "The smallest set that holds this much; 1 = off."),
    _sampling("min_p", "--min-p", _SHARE, "At least this share of the likeliest; 0 = off."),
    _sampling(
        "seed",
        "--seed",
        Number(low=-1, high=2**32 - 2, whole=True),
        "Same seed, same answer; -1 draws one.",
    ),
    _sampling(
        "typical",
        "--typical",
        Number(low=0, high=1, above=True),
        "Locally typical sampling; 1 = off.",
        aliases="--typical-p",
    ),
    _sampling(
        "top_n_sigma",
        "--top-n-sigma",
        Number(low=-1, high=100),
        "Within N standard deviations of the best; -1 = off.",
        aliases="--top-nsigma",
    ),
    _sampling(
        "xtc_probability", "--xtc-probability", _SHARE, "How often XTC cuts off the top; 0 = off."
    ),
    _sampling("xtc_threshold", "--xtc-threshold", _SHARE, "What XTC counts as top."),
    _sampling(
        "dynatemp_range", "--dynatemp-range", _STRENGTH, "Temperature may move by this; 0 = off."
    ),
    _sampling("dynatemp_exp", "--dynatemp-exp", _STRENGTH, "How entropy maps to that range."),
    _sampling(
        "mirostat",
        "--mirostat",
        Number(low=0, high=2, whole=True),
        "1 or 2: that version replaces all cuts; 0 = off.",
    ),
    _sampling("mirostat_lr", "--mirostat-lr", _SHARE, "Mirostat's learning rate (eta)."),
    _sampling("mirostat_ent", "--mirostat-ent", _STRENGTH, "Mirostat's target entropy (tau)."),
    _sampling(
        "repeat_penalty",
        "--repeat-penalty",
        Number(low=0, high=100, above=True),
        "Divides the score of what was said; 1 = off.",
    ),
    _sampling("repeat_last_n", "--repeat-last-n", _WINDOW, "Tokens penalised; -1 = all, 0 = none."),
    _sampling(
        "presence_penalty", "--presence-penalty", _PENALTY, "Taken off once for what was said."
    ),
    _sampling(
        "frequency_penalty", "--frequency-penalty", _PENALTY, "Taken off each time it was said."
    ),
    _sampling(
        "dry_multiplier", "--dry-multiplier", _STRENGTH, "Against repeated sequences; 0 = off."
    ),
    _sampling(
        "dry_base", "--dry-base", Number(low=1, high=100), "Growth with the sequence's length."
    ),
    _sampling(
        "dry_allowed_length", "--dry-allowed-length", _COUNT, "Longest repetition unpunished."
    ),
    _sampling("dry_penalty_last_n", "--dry-penalty-last-n", _WINDOW, "Tokens searched; -1 = all."),
    _sampling(
        "dry_sequence_breakers",
        "--dry-sequence-breaker",
        Text(empty=False),
        "Ends a sequence; repeatable, replaces the defaults; none = no breaker.",
        repeatable=True,
        cleared_by="none",
    ),
    _sampling("samplers", "--samplers", Samplers(), "The steps and their order."),
    _sampling(
        "logit_bias",
        "--logit-bias",
        Bias(),
        "Makes a token more or less likely; repeatable.",
        repeatable=True,
    ),
)
