"""What `nextok bench` was asked for."""

from typing import NamedTuple


class BenchSettings(NamedTuple):
    """Sizes in tokens."""

    compare: bool = False
    """Whether two models are measured side by side."""
    thread_counts: tuple[int, ...] = ()
    """None of them: one, and the usual count."""
    prefill_sizes: tuple[int, ...] = (128, 512, 2048)
    depths: tuple[int, ...] = (0, 2048)
    decode_tokens: int = 64
    rounds: int = 5
