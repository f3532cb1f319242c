"""What `show` says of a model, held to what is known of real and scripted files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest

from nextok.backends.model_facts import ModelFacts, model_facts
from nextok.backends.split_files import part_paths
from nextok.generation.sampling import Sampling

Build = Callable[..., Path]
KINDS = gguf.GGUFValueType


def test_a_real_model(starter_gguf: Path) -> None:
    facts = model_facts(starter_gguf)
    template = facts.chat_template
    assert template is not None and template.startswith("{% for message in messages %}")
    assert facts == ModelFacts(
        name="Smollm2 135M 8k Lc100K Mix1 Ep2",
        architecture="llama",
        parameters=134_515_008,
        quantization="Q4_1",
        file_bytes=starter_gguf.stat().st_size,
        files=1,
        context_tokens=8192,
        layers=30,
        heads=9,
        kv_heads=3,
        embedding=576,
        vocabulary=49152,
        tokenizer="gpt2",
        pre_tokenizer="smollm",
        kv_bytes_per_token=23040,
        sliding_window=None,
        sampling={},
        chat_template=template,
        license="apache-2.0",
    )
    assert model_facts(starter_gguf, type_k="q8_0", type_v="q8_0").kv_bytes_per_token == 12240


def test_a_model_without_template(no_template_gguf: Path) -> None:
    facts = model_facts(no_template_gguf)
    assert facts.chat_template is None
    assert (facts.name, facts.license, facts.quantization) == ("scripted", None, "F32")


def test_a_split_model_is_summed(scripted: Build) -> None:
    whole = model_facts(scripted(["a"]))
    first = scripted(["a"], split_tensors=4)
    facts = model_facts(first)
    assert (facts.files, facts.parameters) == (3, whole.parameters)
    assert facts.file_bytes == sum(part.stat().st_size for part in part_paths(first))
    assert model_facts(part_paths(first)[2]) == facts


def test_the_recipe_is_named_or_found(scripted: Build) -> None:
    assert model_facts(scripted(["a"], weights="Q8_0")).quantization == "Q8_0"
    assert model_facts(scripted(["a"], meta={"general.file_type": 15})).quantization == "Q4_K_M"
    assert model_facts(scripted(["a"], meta={"general.file_type": 999})).quantization == "F32"


def test_recommended_sampling_by_our_names(scripted: Build) -> None:
    meta = {
        "general.sampling.temp": 0.6,
        "general.sampling.top_k": 20,
        "general.sampling.top_p": 0.95,
        "general.sampling.penalty_last_n": (KINDS.INT32, -1),
        "general.sampling.penalty_repeat": 1.05,
        "general.sampling.mirostat_tau": 4.0,
        "general.sampling.mirostat_eta": 0.2,
        "general.sampling.sequence": "top_k;unheard_of;temperature",
        "general.sampling.min_p": "not a number",
        "general.sampling.xtc_threshold": float("nan"),
    }
    sampling = model_facts(scripted(["a"], meta=meta)).sampling
    assert sampling == {
        "temperature": "0.6",
        "top_k": "20",
        "top_p": "0.95",
        "min_p": "not a number",
        "xtc_threshold": "nan",
        "repeat_last_n": "-1",
        "repeat_penalty": "1.05",
        "mirostat_ent": "4",
        "mirostat_lr": "0.2",
        "samplers": "top_k;temperature",
    }
    assert sampling.keys() <= set(Sampling._fields)


def test_a_header_that_says_nothing(tmp_path: Path, write_gguf: Callable[..., None]) -> None:
    path = tmp_path / "bare.gguf"
    write_gguf(path, {"general.name": 7}, {"x": np.zeros((2, 3), np.float16)})
    facts = model_facts(path)
    assert (facts.name, facts.architecture, facts.parameters) == (None, "", 6)
    assert facts.quantization == "F16"
    unknown = (facts.context_tokens, facts.layers, facts.heads, facts.kv_heads, facts.vocabulary)
    assert unknown == (None, None, None, None, None)


@pytest.mark.parametrize("window", [(0, None), (4096, 4096)])
def test_sliding_window(scripted: Build, window: tuple[int, int | None]) -> None:
    meta = {"llama.attention.sliding_window": window[0]}
    assert model_facts(scripted(["a"], meta=meta)).sliding_window == window[1]
