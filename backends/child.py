"""Child processes that run a module of ours.

Promises that whatever lies in the current folder is not run with it, and that a child whose parent
is gone ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

from nextok.generation.errors import EngineError, ModelError

# Python 3.10 knows no option for it: it looks into the current folder first.
_RUN = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
_LOOK_SECONDS = 0.2


def module_command(module: str) -> Sequence[str]:
    """What `python -m module` does elsewhere; its arguments may follow."""
    return sys.executable, "-c", _RUN, module


def child_command(module: str, *words: str) -> Sequence[str]:
    """For a module that ends with `run_child`. words: its arguments."""
    return *module_command(module), *words, str(os.getpid())


def run_child(main: Callable[..., None]) -> None:
    """In the child: call `main` with its arguments, and leave what went wrong on standard error."""
    *words, parent = sys.argv[1:]
    # By its number: it may be gone, and this process another's child, before it can be asked.
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the parent takes its signals in a thread
    try:
        main(*words)
    except (ModelError, EngineError) as error:
        sys.exit(str(error))


def _end_with(parent: int) -> None:
    """Nobody waits for the result any more."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)
