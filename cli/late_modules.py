"""What an answer takes beside a loaded model, imported while the engine reads the file.

That takes longer, and needs no Python.
"""

from __future__ import annotations

import contextlib
import importlib
import threading

LATE = (
    "nextok.cli.oneshot",
    "nextok.cli.delivery",
    "nextok.backends.llama_model",
    "nextok.backends.llama_sampler",
)
"""With what these import."""


def import_ahead() -> None:
    """Begin, in a thread. Whoever needs one of them waits for it as for any import."""
    threading.Thread(target=_import_all, daemon=True).start()


def _import_all() -> None:
    with contextlib.suppress(Exception):  # whoever needs it will hear of it
        for name in LATE:
            importlib.import_module(name)
