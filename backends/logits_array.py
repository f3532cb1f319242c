"""A row of logits as an array, without a copy: for experiments, never for the plain path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nextok.generation.model import Logits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def logits_array(logits: Logits) -> NDArray[np.float32]:
    """One float a token. The engine's own memory: copy what must outlive the next pass.

    Other backends' rows are copied.
    """
    import numpy as np

    from nextok.backends.llama_model import LlamaLogits

    if isinstance(logits, LlamaLogits):
        return np.ctypeslib.as_array(logits.pointer(), shape=(len(logits),))
    return np.array([logits[token] for token in range(len(logits))], dtype=np.float32)
