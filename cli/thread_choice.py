"""Whether a run's thread count may change while it goes on.

With another count the engine cuts its sums differently, and a token near a tie may come out
differently. Who asked for reproducible tokens gets one count, the same in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nextok.backends.adaptive_threads import AdaptiveThreads
    from nextok.backends.weights import Context
    from nextok.cli.loaded import Loaded
    from nextok.cli.resolution import Resolved


def may_adapt(resolved: Resolved) -> bool:
    """`--threads`, `--seed` and greedy sampling freeze the count, wherever they were set."""
    return resolved.engine.threads is None and not is_repeatable(resolved)


def is_repeatable(resolved: Resolved) -> bool:
    """Whether the same tokens are expected of every run."""
    sampling = resolved.sampling
    return sampling.seed >= 0 or sampling.greedy


def adaptive(context: Context, loaded: Loaded) -> AdaptiveThreads | None:
    """The context with a count that follows the CPUs; None where there is nothing to choose.

    With layers on a GPU the CPU waits for it, and its times say nothing of threads.
    """
    offloads = loaded.weights.can_offload and loaded.engine.gpu_layers != 0
    if loaded.threads == 1 or offloads:
        return None
    # Runs whose count is frozen, and those with one CPU, do not wait for this.
    from nextok.backends.adaptive_threads import AdaptiveThreads
    from nextok.generation.thread_policy import ThreadPolicy

    return AdaptiveThreads(context, ThreadPolicy(loaded.threads, loaded.cpus.look))
