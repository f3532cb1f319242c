"""Whether a row of floats holds a NaN, asked of the engine's own vector kernel.

A row times itself is NaN if and only if one of its numbers is: 8 microseconds for 49,152 of them,
where a look at each in Python would take longer than the token.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Any

from nextok.backends.llama_library import library


def holds_nan(row: Any, count: int) -> bool:
    """row: a pointer to `count` floats. False too where a build of the engine hides the kernel."""
    dot = _dot()
    if dot is None:
        return False
    product = ctypes.c_float()
    dot(count, ctypes.byref(product), 0, row, 0, row, 0, 1)
    return math.isnan(product.value)


@cache
def _dot() -> Any:
    """ggml-cpu/vec.h: ggml_vec_dot_f32(n, result, stride, x, stride, y, stride, rows)."""
    try:
        function = library()._lib.ggml_vec_dot_f32
    except AttributeError:
        return None
    size, floats = ctypes.c_size_t, ctypes.POINTER(ctypes.c_float)
    function.restype = None
    function.argtypes = [ctypes.c_int, floats, size, floats, size, floats, size, ctypes.c_int]
    return function
