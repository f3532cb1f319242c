"""How the process ends when something from outside ended the generation.

A signal kills us as if we had never caught it, so that the shell's loop around nextok stops too.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import NoReturn

from nextok.cli.exit_codes import TIMED_OUT
from nextok.generation.finish import FinishReason

_TIMES = (FinishReason.TIMEOUT, FinishReason.STALLED)


def leave(reason: FinishReason, signal_number: int) -> NoReturn:
    """End the process now, from any thread: exit code 124, or death by the signal."""
    if reason in _TIMES:
        os._exit(TIMED_OUT)
    die_by(signal.SIGPIPE if reason is FinishReason.DISCONNECTED else signal_number)


def die_by(signal_number: int) -> NoReturn:
    """Set the signal's default action and raise it on ourselves."""
    # C's signal(): Python's own may be called by the main thread alone.
    set_default = ctypes.CDLL(None).signal
    set_default.argtypes = [ctypes.c_int, ctypes.c_void_p]
    set_default.restype = ctypes.c_void_p
    set_default(int(signal_number), None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal_number])
    os.kill(os.getpid(), signal_number)
    signal.pause()
    os._exit(128 + signal_number)  # not reached: the signal is deadly
