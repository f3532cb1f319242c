"""How much memory is left, from the kernel's files, and which contexts are refused for it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest

from nextok.backends.context_fit import check_context_fits
from nextok.backends.ggml_types import BY_NAME, FILE_TYPES, TYPES
from nextok.backends.gguf_header import Header, read_header
from nextok.backends.kv_size import kv_bytes, kv_bytes_per_token
from nextok.backends.memory import available_bytes
from nextok.generation.errors import EngineError

MIB = 1 << 20
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def starter(starter_gguf: Path) -> Header:
    return read_header(starter_gguf)


def test_the_table_of_types_is_the_formats() -> None:
    sizes = {kind.value: size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    sizes[9] = (32, 36)  # q8_1, which is in no file; the package has an old size of it
    shared = TYPES.keys() & sizes.keys()
    assert len(shared) >= 31
    assert {n: (TYPES[n].block, TYPES[n].size) for n in shared} == {n: sizes[n] for n in shared}
    for kind in gguf.LlamaFileType:
        if kind.value in FILE_TYPES:
            assert kind.name.endswith(FILE_TYPES[kind.value])


def test_bytes_of_a_row() -> None:
    assert BY_NAME["f16"].row_bytes(192) == 384
    assert BY_NAME["q8_0"].row_bytes(192) == 204
    assert BY_NAME["q4_0"].row_bytes(192) == 108


def test_kv_bytes_of_a_real_model(starter: Header) -> None:
    """The engine's own figures: 180 MiB for 8192 tokens in f16."""
    assert kv_bytes_per_token(starter) == 23040
    assert kv_bytes_per_token(starter, type_k="q8_0", type_v="q8_0") == 12240
    assert kv_bytes_per_token(starter, type_k="q4_0", type_v="q4_0") == 6480
    assert kv_bytes(starter, 8192) == 180 * MIB
    assert kv_bytes(starter, 8191) == 180 * MIB
    assert kv_bytes(starter, 100, sequences=2) == 2 * 256 * 23040


def test_layers_and_heads_of_different_size(scripted: Build) -> None:
    meta: dict[str, Any] = {
        "general.architecture": "deci",
        "deci.block_count": 3,
        "deci.attention.head_count": 8,
        "deci.attention.head_count_kv": (gguf.GGUFValueType.UINT32, [8, 0, 2]),
        "deci.attention.key_length": 128,
        "deci.attention.value_length": 64,
    }
    header = read_header(scripted(["a"], meta=meta))
    assert kv_bytes_per_token(header) == (8 + 2) * (128 + 64) * 2
    assert kv_bytes_per_token(header, type_k="q8_0") == (8 + 2) * (128 * 34 // 32 + 64 * 2)


@pytest.mark.parametrize(
    "meta",
    [
        {"general.architecture": "mamba"},
        {"general.architecture": "lfm2"},
        {"general.architecture": "new-arch"},
        {"llama.attention.kv_lora_rank": 512},
        {"llama.attention.shared_kv_layers": 1},
        {"llama.attention.head_count": None, "llama.attention.head_count_kv": None},
    ],
)
def test_where_no_formula_holds(scripted: Build, meta: dict[str, Any]) -> None:
    header = read_header(scripted(["a"], meta=meta))
    assert kv_bytes_per_token(header) is None
    check_context_fits(header, 2_000_000_000, available=1)


def test_a_context_that_does_not_fit(starter: Header) -> None:
    check_context_fits(starter, 8192, available=180 * MIB)
    message = "--ctx-size 8192 needs 180 MiB for the KV cache and 179 MiB are available"
    with pytest.raises(EngineError, match=f"{message}: lower --ctx-size"):
        check_context_fits(starter, 8192, available=180 * MIB - 1)
    with pytest.raises(EngineError, match="needs 4394532 MiB"):
        check_context_fits(starter, 200_000_000)
    check_context_fits(starter, 8192, type_k="q8_0", type_v="q8_0", available=100 * MIB)


def test_a_sliding_cache_passes(scripted: Build) -> None:
    meta = {"llama.attention.sliding_window": 512}
    header = read_header(scripted(["a"], meta=meta))
    check_context_fits(header, 1_000_000, swa_full=False, available=MIB)
    with pytest.raises(EngineError):
        check_context_fits(header, 1_000_000, available=MIB)


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[[dict[str, str]], int | None]:
    """What is available on a machine whose kernel says the given."""

    def available(files: dict[str, str]) -> int | None:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return available_bytes(tmp_path / "proc", tmp_path / "cgroup")

    return available


MEMINFO = "MemTotal: 8000000 kB\nMemAvailable:    4096 kB\nSwapFree: 1024 kB\n"


def test_a_machine_without_limits(kernel: Callable[[dict[str, str]], int | None]) -> None:
    assert kernel({"proc/meminfo": MEMINFO}) == 5 * MIB


def test_control_groups_version_2(kernel: Callable[[dict[str, str]], int | None]) -> None:
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/outer/inner\n"}
    inner, outer = "cgroup/outer/inner/", "cgroup/outer/"
    files |= {inner + "memory.max": "max\n", inner + "memory.current": "5\n"}
    assert kernel(files) == 5 * MIB
    files |= {
        outer + "memory.max": f"{3 * MIB}\n",
        outer + "memory.current": f"{2 * MIB}\n",
        outer + "memory.stat": f"anon 9\nfile {MIB}\nfile_mapped 5\n",
    }
    assert kernel(files) == 2 * MIB
    files |= {outer + "memory.swap.max": f"{MIB}\n", outer + "memory.swap.current": "0\n"}
    assert kernel(files) == 3 * MIB


def test_control_groups_version_1(kernel: Callable[[dict[str, str]], int | None]) -> None:
    group = "cgroup/memory/docker/ab/"
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "9:cpu,cpuacct:/docker/ab\n5:memory:/docker/ab\n",
        group + "memory.limit_in_bytes": f"{4 * MIB}\n",
        group + "memory.usage_in_bytes": f"{3 * MIB}\n",
        group + "memory.stat": f"cache 1\ntotal_cache {MIB // 2}\n",
        "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "cgroup/memory/memory.usage_in_bytes": "1\n",
    }
    assert kernel(files) == MIB + MIB // 2


def test_a_full_group_leaves_nothing(kernel: Callable[[dict[str, str]], int | None]) -> None:
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n"}
    files |= {"cgroup/memory.max": "100\n", "cgroup/memory.current": "120\n"}
    assert kernel(files) == 0


def test_garbage_from_the_kernel(kernel: Callable[[dict[str, str]], int | None]) -> None:
    files = {"proc/meminfo": "MemAvailable: lots\n\n:\n", "proc/self/cgroup": "what\n::\n"}
    kernel(files)


def test_this_machine() -> None:
    available = available_bytes()
    assert available is not None
    assert MIB < available < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 4


def test_an_address_space_limit_counts() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    program = "from nextok.backends.memory import available_bytes as a; print(a())"
    run = subprocess.run(
        [sys.executable, "-c", program], preexec_fn=limit, capture_output=True, check=True
    )
    assert 256 * MIB < int(run.stdout) < 1 << 30
