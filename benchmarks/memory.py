"""Peak memory of a one-shot, against the bare loop over the same engine at the same context.

Measured: the largest resident set of the whole process, as the kernel counts it (the weights'
mapped pages included), of `nextok generate -t 1` and of bare_decode.py, in turn.

    python benchmarks/memory.py [--runs 3] [--tokens 64]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from statistics import median

import models
from decode import Pair
from processes import in_turn, pairwise, succeeded, verdict

BAR = 1.08


def peak(command: Sequence[str]) -> float:
    """MiB."""
    return succeeded(command).peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    asked = parser.parse_args()
    for name, model in (("starter", models.starter()), ("gemma", models.gemma())):
        pair = Pair(model, asked.tokens)
        pair.check()
        ours, bare = in_turn(asked.runs, partial(peak, pair.ours), partial(peak, pair.bare))
        ratio = pairwise(ours, bare)
        print(
            f"{name}: nextok {median(ours):.1f}, bare {median(bare):.1f} MiB, "
            f"ratio {ratio:.3f}  {verdict(ratio, BAR)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
