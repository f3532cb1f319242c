"""Loading: how far it is, how it is cancelled, and that the engine keeps quiet about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import LoadOptions
from nextok.generation.abort import Abort, Aborted
from nextok.generation.errors import ModelError
from nextok.generation.finish import FinishReason


@pytest.mark.parametrize("options", [LoadOptions(), LoadOptions(mmap=False)])
def test_a_load_is_cancelled_between_two_tensors(starter_gguf: Path, options: LoadOptions) -> None:
    abort = Abort()
    told: list[float] = []

    def progress(done: float) -> None:
        told.append(done)
        if done > 0.3:
            abort.trip(FinishReason.INTERRUPTED)

    with pytest.raises(Aborted):
        LlamaWeights.load(starter_gguf, options, abort, progress)
    assert told[-1] < 0.4
    abort.rearm()
    LlamaWeights.load(starter_gguf, options, abort).close()


def test_progress_goes_from_nothing_to_all(starter_gguf: Path) -> None:
    told: list[float] = []
    LlamaWeights.load(starter_gguf, LoadOptions(), Abort(), told.append).close()
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_the_engine_writes_to_no_stream(
    starter_gguf: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    LlamaWeights.load(starter_gguf, LoadOptions(), Abort()).close()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(starter_gguf.read_bytes()[:100_000])
    with pytest.raises(ModelError, match="cannot load it"):
        LlamaWeights.load(broken, LoadOptions(), Abort())
    assert capfd.readouterr() == ("", "")
