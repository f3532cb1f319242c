"""A state goes through the store into a fresh context; one of other settings does not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nextok.backends.kv_store import KvStore
from nextok.backends.llama_identity import state_identity
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import ContextOptions, LoadOptions
from nextok.backends.toy import Toy
from nextok.backends.weights import Context, Weights
from nextok.generation.abort import Abort
from nextok.generation.model import Cache
from nextok.generation.sampling import Sampling

OPTIONS = ContextOptions(
    context_size=256, threads=1, batch_size=32, ubatch_size=32, flash_attention="on"
)
GREEDY = Sampling(seed=1, temperature=0.0)
OTHERS = {
    "cache_type_k": OPTIONS._replace(cache_type_k="q8_0"),
    "cache_type_v": OPTIONS._replace(cache_type_v="q8_0"),
    "flash_attention": OPTIONS._replace(flash_attention="off"),
}


@pytest.fixture(scope="module")
def loaded(
    request: pytest.FixtureRequest, starter_gguf: Path, emoji_gguf: Path
) -> Iterator[Weights]:
    weights: Weights
    if request.param == "toy":
        weights = Toy()
    else:
        path = {"starter": starter_gguf, "scripted": emoji_gguf}[request.param]
        weights = LlamaWeights.load(path, LoadOptions(), Abort())
    yield weights
    weights.close()


@pytest.fixture
def store(tmp_path: Path) -> KvStore:
    return KvStore(tmp_path / "kv", cap_bytes=64 << 20)


every_backend = pytest.mark.parametrize("loaded", ["toy", "scripted", "starter"], indirect=True)
only_llama = pytest.mark.parametrize("loaded", ["scripted", "starter"], indirect=True)


def go_on(weights: Weights, model: Context, cache: Cache, last: int) -> list[int]:
    """Decode the last token again, and nine more, each the best after those before."""
    sampler = weights.sampler(GREEDY, context_size=256, history=())
    said = [last]
    for _ in range(10):
        said.append(sampler.sample(model.decode(said[-1], cache)))
    sampler.close()
    return said[1:]


@every_backend
def test_a_state_through_the_store(loaded: Weights, store: KvStore) -> None:
    ids = loaded.tokenizer.encode("The quick brown fox jumps over the lazy dog")[:10]
    model = loaded.open(OPTIONS, Abort())
    cache = model.new_cache()
    model.prefill(ids, cache)
    assert store.put("chat", loaded.state_identity(OPTIONS), ids, cache.export())
    cache.trim(len(ids) - 1)
    expected = go_on(loaded, model, cache, ids[-1])
    model.close()

    fresh = loaded.open(OPTIONS, Abort())
    cache = fresh.new_cache()
    kept = store.get("chat", loaded.state_identity(OPTIONS), prefix=ids)
    assert kept is not None and kept.tokens == ids
    assert cache.restore(kept.state, kept.tokens)
    assert cache.trim(len(ids) - 1) == len(ids) - 1
    assert go_on(loaded, fresh, cache, ids[-1]) == expected
    fresh.close()


@only_llama
@pytest.mark.parametrize("other", list(OTHERS))
def test_other_settings_take_no_state(loaded: Weights, store: KvStore, other: str) -> None:
    store.put("chat", loaded.state_identity(OPTIONS), [1], b"state")
    assert store.get("chat", loaded.state_identity(OTHERS[other])) is None
    assert store.get("chat", loaded.state_identity(OPTIONS)) is not None


@only_llama
def test_a_larger_context_takes_the_same_state(loaded: Weights) -> None:
    larger = OPTIONS._replace(context_size=512, sequences=3)
    assert loaded.state_identity(larger) == loaded.state_identity(OPTIONS)


def test_models_differ_and_copies_do_not(
    starter_gguf: Path, emoji_gguf: Path, loop_gguf: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copy(emoji_gguf, tmp_path / "copy.gguf"))
    found = []
    for path in (emoji_gguf, copy, loop_gguf):
        weights = LlamaWeights.load(path, LoadOptions(), Abort())
        found.append(weights.state_identity(OPTIONS))
        weights.close()
    assert found[0] == found[1] != found[2]
    assert Toy().state_identity(OPTIONS) not in found


def test_a_model_file_is_looked_at_once(emoji_gguf: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(emoji_gguf, tmp_path / "model.gguf"))
    weights = LlamaWeights.load(path, LoadOptions(mmap=False), Abort())
    first = weights.state_identity(OPTIONS)
    path.unlink()
    assert weights.state_identity(OPTIONS) == first
    weights.close()


def identity(
    options: ContextOptions, metadata: dict[str, str] | None = None, *, exactly: bool = True
) -> str:
    return state_identity(
        "fingerprint", options, metadata or {}, gpu_layers=0, computes_exactly=exactly
    )


@pytest.mark.parametrize(
    "changed",
    [OPTIONS._replace(threads=2), OPTIONS._replace(batch_size=64, ubatch_size=64)],
    ids=["threads", "batch"],
)
def test_an_exact_run_takes_states_of_exact_runs_alone(changed: ContextOptions) -> None:
    assert identity(changed) != identity(OPTIONS)
    assert identity(changed, exactly=False) == identity(OPTIONS, exactly=False)
    assert identity(OPTIONS._replace(ubatch_size=16)) == identity(OPTIONS)
    assert identity(changed._replace(threads=3)) == identity(changed)


def test_what_is_asked_of_the_gpu_matters() -> None:
    def offloaded(layers: int) -> str:
        return state_identity("f", OPTIONS, {}, gpu_layers=layers, computes_exactly=False)

    assert offloaded(0) != offloaded(-1) != offloaded(3)


def test_positions_that_are_stretched_in_a_large_context() -> None:
    """Beyond the original context such a model turns its keys by other factors."""
    stretched = {
        "general.architecture": "phi3",
        "phi3.context_length": "131072",
        "phi3.rope.scaling.original_context_length": "4096",
    }
    short, just, long = (OPTIONS._replace(context_size=size) for size in (512, 4096, 4097))
    assert identity(short, stretched) == identity(just, stretched)
    assert identity(long, stretched) != identity(just, stretched)
    plain = {key: value for key, value in stretched.items() if "rope" not in key}
    assert identity(long, plain) == identity(just, plain)
