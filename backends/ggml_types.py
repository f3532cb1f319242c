"""What the engine's tensor types are called and how many bytes they take.

Promises the table of the pinned engine (ggml.h, enum ggml_type; llama.h, enum llama_ftype).
Knows nothing of files.
"""

from __future__ import annotations

from typing import NamedTuple


class GgmlType(NamedTuple):
    """Numbers are stored in blocks of `block` values, `size` bytes each."""

    name: str
    block: int
    size: int

    def row_bytes(self, values: int) -> int:
        """Bytes of `values` numbers; a started block counts whole."""
        return -(-values // self.block) * self.size


#: By their number in a file. Numbers that are absent were removed, or are newer than the engine.
TYPES = {
    0: GgmlType("f32", 1, 4),
    1: GgmlType("f16", 1, 2),
    2: GgmlType("q4_0", 32, 18),
    3: GgmlType("q4_1", 32, 20),
    6: GgmlType("q5_0", 32, 22),
    7: GgmlType("q5_1", 32, 24),
    8: GgmlType("q8_0", 32, 34),
    9: GgmlType("q8_1", 32, 36),
    10: GgmlType("q2_K", 256, 84),
    11: GgmlType("q3_K", 256, 110),
    12: GgmlType("q4_K", 256, 144),
    13: GgmlType("q5_K", 256, 176),
    14: GgmlType("q6_K", 256, 210),
    15: GgmlType("q8_K", 256, 292),
    16: GgmlType("iq2_xxs", 256, 66),
    17: GgmlType("iq2_xs", 256, 74),
    18: GgmlType("iq3_xxs", 256, 98),
    19: GgmlType("iq1_s", 256, 50),
    20: GgmlType("iq4_nl", 32, 18),
    21: GgmlType("iq3_s", 256, 110),
    22: GgmlType("iq2_s", 256, 82),
    23: GgmlType("iq4_xs", 256, 136),
    24: GgmlType("i8", 1, 1),
    25: GgmlType("i16", 1, 2),
    26: GgmlType("i32", 1, 4),
    27: GgmlType("i64", 1, 8),
    28: GgmlType("f64", 1, 8),
    29: GgmlType("iq1_m", 256, 56),
    30: GgmlType("bf16", 1, 2),
    34: GgmlType("tq1_0", 256, 54),
    35: GgmlType("tq2_0", 256, 66),
    39: GgmlType("mxfp4", 32, 17),
    40: GgmlType("nvfp4", 64, 36),
    41: GgmlType("q1_0", 128, 18),
    42: GgmlType("q2_0", 64, 18),
}

BY_NAME = {kind.name: kind for kind in TYPES.values()}

#: The engine has none above; what lies between the known ones was removed from it.
NEWEST_TYPE = max(TYPES)

_RECIPES = """
F32 F16 Q4_0 Q4_1 Q4_1_SOME_F16 Q4_2 Q4_3 Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M
Q5_K_S Q5_K_M Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS
IQ1_M BF16 Q4_0_4_4 Q4_0_4_8 Q4_0_8_8 TQ1_0 TQ2_0 MXFP4_MOE NVFP4 Q1_0 Q2_0
"""

#: `general.file_type`: the recipe a file was quantised with.
FILE_TYPES = dict(enumerate(_RECIPES.split()))
