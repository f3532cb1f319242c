"""Which files of a repository are the model."""

from __future__ import annotations

import pytest

from nextok.backends.hub_errors import FileNotInRepo
from nextok.backends.hub_files import HubFile, Listing
from nextok.backends.hub_reference import HubReference
from nextok.backends.quant_choice import Ambiguous, UnknownQuant, candidates, choose
from nextok.generation.errors import HubError, UsageError

GIB = 1 << 30
REPO = [
    "BF16/a-BF16-00001-of-00002.gguf",
    "BF16/a-BF16-00002-of-00002.gguf",
    "a-F16.gguf",
    "a-IQ4_NL.gguf",
    "a-Q4_K_S.gguf",
    "a-Q4_K_M.gguf",
    "a-Q8_0-00001-of-00002.gguf",
    "a-Q8_0-00002-of-00002.gguf",
    "a-UD-Q4_K_M.gguf",
    "a-UD-Q4_K_XL.gguf",
    "mmproj-a-F16.gguf",
    "mmproj-a-Q8_0.gguf",
    "a.imatrix.gguf",
    "mtp-a-Q4_K_M.gguf",
    "a-eagle3-Q4_K_M.gguf",
    "a_dflash_Q4_K_M.gguf",
    "README.md",
]


def listing(*paths: str, size: int = GIB) -> Listing:
    files = tuple(HubFile(path=path, size=size, sha256="0" * 64) for path in paths)
    return Listing(repo="o/r", revision="main", commit="c" * 40, gated=False, files=files)


def chosen(
    paths: list[str],
    *,
    quant: str | None = None,
    file: str | None = None,
    memory: int | None = None,
) -> list[str]:
    reference = HubReference(repo="o/r", quant=quant, file=file)
    return [part.path for part in choose(listing(*paths), reference, memory).parts]


@pytest.mark.parametrize(
    ("quant", "path"),
    [
        (None, "a-Q4_K_M.gguf"),
        ("Q4_K_M", "a-Q4_K_M.gguf"),
        ("q4_k_m", "a-Q4_K_M.gguf"),
        ("F16", "a-F16.gguf"),
        ("iq4_nl", "a-IQ4_NL.gguf"),
        ("UD-Q4_K_M", "a-UD-Q4_K_M.gguf"),
        ("ud-q4_k_xl", "a-UD-Q4_K_XL.gguf"),
        ("a-Q4_K_S.gguf", "a-Q4_K_S.gguf"),
        ("A-q4_k_s", "a-Q4_K_S.gguf"),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_a_tag_means_the_one_model_that_has_it(quant: str | None, path: str, order: int) -> None:
    assert chosen(REPO[::order], quant=quant) == [path]


def test_a_set_comes_whole_by_its_quant_and_by_any_part() -> None:
    parts = REPO[6:8]
    assert chosen(REPO, quant="Q8_0") == parts
    assert chosen(REPO, file=parts[1]) == parts
    assert chosen(REPO[::-1], file=parts[0].upper()) == parts
    assert chosen(REPO, quant="bf16") == REPO[:2]


@pytest.mark.parametrize("quant", ["Q9", "NL", "Q4_K", "K_M", "Q4_K_XL", "16", "mmproj", "eagle3"])
def test_an_unknown_tag_lists_the_choices_nearest_first(quant: str) -> None:
    with pytest.raises(UnknownQuant) as caught:
        chosen(REPO, quant=quant)
    assert len(caught.value.candidates) == 8
    assert "\n" not in str(caught.value)
    if quant == "Q4_K_XL":
        assert caught.value.candidates[0].quant == "UD-Q4_K_XL"


def test_the_candidates_are_models_only_with_sizes_and_fit() -> None:
    found = candidates(listing(*REPO), 2 * GIB)
    assert {model.quant: model.bytes // GIB for model in found} == {
        "BF16": 2, "F16": 1, "IQ4_NL": 1, "Q4_K_S": 1, "Q4_K_M": 1, "Q8_0": 2,
        "UD-Q4_K_M": 1, "UD-Q4_K_XL": 1,
    }  # fmt: skip
    assert {model.quant for model in found if not model.fits} == {"BF16", "Q8_0"}
    assert {model.fits for model in candidates(listing(*REPO), None)} == {None}


def test_without_a_tag_q8_0_comes_after_q4_k_m() -> None:
    assert chosen(["a-Q2_K.gguf", "a-Q8_0.gguf", "a-F16.gguf"]) == ["a-Q8_0.gguf"]
    assert chosen(["mmproj-F16.gguf", "a-IQ2_M.gguf"]) == ["a-IQ2_M.gguf"]


def test_without_either_the_largest_quantised_model_that_fits() -> None:
    sizes = {"a-Q2_K.gguf": 2, "a-Q5_K_M.gguf": 5, "a-Q6_K.gguf": 6, "a-F16.gguf": 16}
    files = [HubFile(path=path, size=size * GIB, sha256=None) for path, size in sizes.items()]
    of = Listing(repo="o/r", revision="main", commit="c" * 40, gated=False, files=tuple(files))
    for memory, path in ((64, "a-Q6_K.gguf"), (6.5, "a-Q5_K_M.gguf"), (3, "a-Q2_K.gguf")):
        choice = choose(of, HubReference(repo="o/r"), int(memory * GIB))
        assert [part.path for part in choice.parts] == [path]
    for unknown in (GIB, None):
        with pytest.raises(Ambiguous) as caught:
            choose(of, HubReference(repo="o/r"), unknown)
        assert [model.quant for model in caught.value.candidates] == [
            "Q2_K",
            "Q5_K_M",
            "Q6_K",
            "F16",
        ]


def test_two_models_of_one_quant_are_ambiguous() -> None:
    with pytest.raises(Ambiguous, match=r"a-Q4_K_M\.gguf, b-Q4_K_M\.gguf"):
        chosen(["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"])
    assert chosen(["a-Q4_K_M.gguf", "b-Q4_K_M.gguf"], quant="b-q4_k_m") == ["b-Q4_K_M.gguf"]


def test_words_that_are_no_quant_match_as_whole_tokens_and_plain_before_special() -> None:
    paths = ["a-Compact.gguf", "a-I-Compact.gguf", "a-I-Mini.gguf"]
    assert chosen(paths, quant="compact") == ["a-Compact.gguf"]
    assert chosen(paths, quant="I-Compact") == ["a-I-Compact.gguf"]
    assert chosen(paths, quant="mini") == ["a-I-Mini.gguf"]
    with pytest.raises(UnknownQuant):
        chosen(paths, quant="comp")


@pytest.mark.parametrize(
    ("path", "quant"),
    [
        ("llama-2-7b.Q4_K_M.gguf", "Q4_K_M"),
        ("ggml-model-q4_0.gguf", "Q4_0"),
        ("model_q5_k_s.gguf", "Q5_K_S"),
        ("Phi-3-mini-fp16.gguf", "FP16"),
        ("x.i1-IQ3_XXS.gguf", "IQ3_XXS"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("Q2_K_L/x-00001-of-00001.gguf", "Q2_K_L"),
        ("BitNet-i2_s.gguf", "I2_S"),
        ("model.gguf", None),
    ],
)
def test_the_quant_is_read_from_the_ways_names_are_written(path: str, quant: str | None) -> None:
    assert [model.quant for model in candidates(listing(path), None)] == [quant]


def test_a_missing_part_is_named() -> None:
    with pytest.raises(HubError, match="a-Q8_0-00002-of-00003.gguf is missing"):
        chosen(["a-Q8_0-00001-of-00003.gguf", "a-Q8_0-00003-of-00003.gguf"])


def test_a_projector_is_refused_even_by_name_and_a_head_had_by_name_alone() -> None:
    with pytest.raises(UsageError, match="mmproj"):
        chosen(REPO, file="mmproj-a-F16.gguf")
    with pytest.raises(UsageError, match="imatrix"):
        chosen(REPO, quant="a.imatrix.gguf")
    assert chosen(REPO, file="mtp-a-Q4_K_M.gguf") == ["mtp-a-Q4_K_M.gguf"]


def test_a_file_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(FileNotInRepo, match=r"nearest are a-Q4_K_[MS]\.gguf"):
        chosen(REPO, file="a-Q4_K_N.gguf")


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["README.md"], "no .gguf file"),
        (["model.safetensors"], "nextok search r"),
        (["mmproj-F16.gguf"], "helper files"),
    ],
)
def test_a_repository_without_a_model_says_so(paths: list[str], words: str) -> None:
    with pytest.raises(HubError, match=words):
        chosen(paths)
