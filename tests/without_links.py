"""Runs a command as on a file system without links of any kind: `without_links.py COMMAND...`.

A seccomp filter, which needs no rights and is inherited, refuses the system calls that make them.
Exits with 77 where there is no such filter: other systems and processors than Linux on these two.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

REFUSED = {"x86_64": (86, 88, 265, 266), "aarch64": (36, 37)}
"""link, symlink, linkat, symlinkat."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


class Program(ctypes.Structure):
    """sock_fprog: so many instructions of 8 bytes."""

    _fields_ = (("count", ctypes.c_ushort), ("code", ctypes.c_char_p))


def refuse(calls: tuple[int, ...]) -> None:
    """For this process and all that it starts. Raises OSError."""
    steps = [(_LOAD, 0, 0, 0)]  # the number of the call
    for left, call in zip(range(len(calls), 0, -1), calls, strict=True):
        steps.append((_JUMP_IF_EQUAL, left, 0, call))  # past what is left, and the next step
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    if libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    if sys.platform != "linux" or platform.machine() not in REFUSED:
        sys.exit(77)
    try:
        refuse(REFUSED[platform.machine()])
    except OSError:
        sys.exit(77)
    os.execvp(sys.argv[1], sys.argv[1:])
