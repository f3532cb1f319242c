"""The flags of `nextok lab`: those that experiments share, and then each one's own.

An experiment's own flags stand in a file of its own, `lab_NAME_flags.py`; their values end up in
its group of `nextok.cli.lab_settings`.
"""

from __future__ import annotations

from functools import partial

from nextok.cli.flag_types import Path, Switch, Text
from nextok.cli.flags import Flag, flag
from nextok.cli.lab_abandonment_flags import ABANDONMENT_FLAGS
from nextok.cli.lab_cache_flags import LAB_CACHE_FLAGS
from nextok.cli.lab_divergence_flags import DIVERGENCE_FLAGS
from nextok.cli.lab_lengths_flags import LENGTHS_FLAGS
from nextok.cli.lab_loop_flags import LOOP_FLAGS
from nextok.cli.number_types import Number

_lab = partial(flag, panel="Experiment", commands=("lab",), ambient=False)

LAB_FLAGS: tuple[Flag, ...] = (
    _lab(
        "lab_folder",
        "-o --output",
        Path(metavar="FOLDER", expected="the path of a folder"),
        "Write pictures (PNG and SVG) and data (JSON) into this folder.",
    ),
    _lab("lab_full", "--full", Switch(), "The sizes that give good figures: takes long."),
    _lab(
        "lab_tokens",
        "-n --max-tokens",
        Number(low=2, high=2**31 - 1, whole=True),
        "Tokens of each answer. [what suits the experiment]",
        aliases="--predict --n-predict",
    ),
    _lab("lab_prompt", "-p --prompt", Text(empty=False), "What the model is asked."),
    _lab("lab_prompts", "--prompts", Path(), "A file with a prompt a line. [a built-in list]"),
    *LOOP_FLAGS,
    *LAB_CACHE_FLAGS,
    *DIVERGENCE_FLAGS,
    *ABANDONMENT_FLAGS,
    *LENGTHS_FLAGS,
)
