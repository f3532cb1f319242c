"""What this process takes."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import pytest

from nextok.backends.process_memory import peak_resident_bytes, resident_bytes

MIB = 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what it is now")
def test_memory_that_is_taken_shows() -> None:
    before = resident_bytes()
    taken = mmap.mmap(-1, 32 * MIB)  # of the kernel: the heap may have that much left to give
    taken.write(os.urandom(MIB) * 32)
    now = resident_bytes()
    assert before is not None and now is not None
    assert now - before > 24 * MIB
    # The kernel keeps both figures with a small delay for each of its CPUs.
    assert peak_resident_bytes() > now - 4 * MIB
    taken.close()


def test_the_second_figure_of_statm_counts_in_pages(tmp_path: Path) -> None:
    statm = tmp_path / "statm"
    statm.write_text("900 25 3 1 0 7 0\n")
    assert resident_bytes(statm) == 25 * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("text", ["", "900\n", "a b\n"])
def test_a_system_that_does_not_say_is_none(tmp_path: Path, text: str) -> None:
    statm = tmp_path / "statm"
    assert resident_bytes(statm) is None
    statm.write_text(text)
    assert resident_bytes(statm) is None
