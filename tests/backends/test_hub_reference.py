"""What users write for a model on the hub."""

from __future__ import annotations

import pytest

from nextok.backends.hub_reference import HubReference, parse_reference
from nextok.generation.errors import UsageError

REPO = HubReference(repo="o/r")
FILE = HubReference(repo="o/r", file="a.gguf")
NESTED = HubReference(repo="o/r", file="Q8_0/a-00001-of-00002.gguf")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("o/r", REPO),
        (" o/r/ ", REPO),
        ("o/r:Q4_K_M", HubReference(repo="o/r", quant="Q4_K_M")),
        ("o/r:q8_0/", HubReference(repo="o/r", quant="q8_0")),
        ("o/r:a-Q4_0.gguf", HubReference(repo="o/r", quant="a-Q4_0.gguf")),
        ("o/r/a.gguf", FILE),
        ("o/r/A.GGUF", HubReference(repo="o/r", file="A.GGUF")),
        ("o/r/Q8_0/a-00001-of-00002.gguf", NESTED),
        ("hf.co/o/r", REPO),
        ("hf.co/o/r:Q8_0", HubReference(repo="o/r", quant="Q8_0")),
        ("HF.co/o/r/a.gguf", FILE),
        ("huggingface.co/o/r/", REPO),
        ("huggingface.co/o/r/blob/main/a.gguf", FILE),
        ("https://huggingface.co/o/r", REPO),
        ("https://huggingface.co/o/r:Q8_0", HubReference(repo="o/r", quant="Q8_0")),
        ("https://hf.co/o/r/blob/main/a.gguf", FILE),
        ("https://huggingface.co/o/r/resolve/main/a.gguf?download=true", FILE),
        ("https://huggingface.co/o/r/resolve/main/Q8_0/a-00001-of-00002.gguf", NESTED),
        ("https://huggingface.co/o/r/tree/main", REPO),
        ("https://huggingface.co/o/r/tree/main/BF16", HubReference(repo="o/r", quant="BF16")),
        ("https://huggingface.co/o/r/tree/v1", HubReference(repo="o/r", revision="v1")),
        (
            "https://huggingface.co/o/r/blob/refs%2Fpr%2F1/a%20b.gguf",
            HubReference(repo="o/r", revision="refs/pr/1", file="a b.gguf"),
        ),
        ("http://127.0.0.1:81/o/r/blob/main/a.gguf", FILE),
        ("o/r@dev", HubReference(repo="o/r", revision="dev")),
        ("o/r@dev:Q4_0", HubReference(repo="o/r", revision="dev", quant="Q4_0")),
        ("o/r:Q4_0@dev", HubReference(repo="o/r", revision="dev", quant="Q4_0")),
        ("o/r@dev/a.gguf", HubReference(repo="o/r", revision="dev", file="a.gguf")),
        ("o/r/a.gguf@dev", HubReference(repo="o/r", revision="dev", file="a.gguf")),
        ("o/r@refs/pr/1", HubReference(repo="o/r", revision="refs/pr/1")),
        ("o/r@refs/pr/1/a.gguf", HubReference(repo="o/r", revision="refs/pr/1", file="a.gguf")),
        ("o/r/a.gguf@refs/pr/1", HubReference(repo="o/r", revision="refs/pr/1", file="a.gguf")),
        ("o/r/a@b.gguf", HubReference(repo="o/r", file="a@b.gguf")),
        ("hf://o/r", REPO),
    ],
)
def test_every_form_gives_its_reference_and_the_canonical_name_gives_it_again(
    text: str, reference: HubReference
) -> None:
    assert parse_reference(text, endpoint="http://127.0.0.1:81/") == reference
    assert parse_reference(str(reference)) == reference


@pytest.mark.parametrize(
    "text",
    ["", "toy", "a.gguf", "models/a.gguf", "./o/r", "../o/r", "/o/r", "~/o/r", "a/b/c", "a//b"],
)
def test_other_names_are_left_to_others(text: str) -> None:
    assert parse_reference(text) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("o--x/r", "OWNER/NAME"),
        ("o/r..x", "OWNER/NAME"),
        ("o/..", "OWNER/NAME"),
        ("o/-r", "OWNER/NAME"),
        (f"o/{'r' * 96}", "96"),
        ("o/r.git", "OWNER/NAME"),
        ("o/r:", "[:QUANT]"),
        ("o/r@", "[@REVISION]"),
        ("o/r@..", "branch"),
        ("o/r@a..b/../c", "branch"),
        ("o/r/../a.gguf", ".gguf"),
        ("o/r/a\\b.gguf", ".gguf"),
        ("o/r/a\x1b.gguf", ".gguf"),
        ("https://huggingface.co/o", "OWNER/NAME"),
        ("https://huggingface.co/o/r/blob/main/README.md", "README.md"),
        ("https://huggingface.co/datasets/o/r", "data set"),
        ("https://huggingface.co/o/r/blob/main/%2e%2e/%2e%2e/a.gguf", ".gguf"),
        ("https://hub.example/o/r", "HF_ENDPOINT=https://hub.example"),
        ("https://huggingface.co.evil.example/o/r", "not the hub in use"),
        ("ftp://huggingface.co/o/r", "https://"),
        ("https://[::1/o/r", "address"),
    ],
)
def test_bad_names_are_refused_with_the_rule(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=r"^[^\n]*$") as caught:
        parse_reference(text)
    assert word in str(caught.value)


def test_the_password_of_an_address_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference("https://user:hf_secret@hub.example/o/r")
    assert "hf_secret" not in str(caught.value)


def test_the_hub_in_use_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example/mirror/")
    assert parse_reference("https://hub.example/mirror/o/r/blob/main/a.gguf") == FILE
    assert parse_reference("https://huggingface.co/o/r") == REPO
