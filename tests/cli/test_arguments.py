"""What is a flag, what is its value, and what is a word."""

from __future__ import annotations

import pytest

from nextok.cli.arguments import parse
from nextok.generation.errors import UsageError


@pytest.mark.parametrize(
    ("argv", "values", "words"),
    [
        (["hi", "--temp", "0"], {"temperature": 0.0}, ("hi",)),
        (["--temp=0", "a", "--top_k", "5", "b"], {"temperature": 0.0, "top_k": 5}, ("a", "b")),
        (["-n5", "-c=64", "-t4"], {"max_tokens": 5, "ctx_size": 64, "threads": 4}, ()),
        (["-ngl", "99", "-fa", "on", "-ub", "32"],
         {"gpu_layers": 99, "flash_attn": "on", "ubatch_size": 32}, ()),
        (["-ctk", "q8_0", "-ctv", "f32", "-sys", "be brief"],
         {"cache_type_k": "q8_0", "cache_type_v": "f32", "system": "be brief"}, ()),
        (["-qv", "x"], {"quiet": True, "verbose": True}, ("x",)),
        (["--no-mmap"], {"mmap": False}, ()),
        (["--json", "--no-json"], {"json": False}, ()),
        (["--json=0", "--no-stdin=false"], {"json": False, "no_stdin": False}, ()),
        (["--stop", "a", "-r", "b", "--reverse-prompt=c"], {"stop": ("a", "b", "c")}, ()),
        (["--", "--temp", "-n"], {}, ("--temp", "-n")),
        (["--threads", "auto"], {"threads": None}, ()),
    ],
)  # fmt: skip
def test_flags_and_words_may_be_mixed(
    argv: list[str], values: dict[str, object], words: tuple[str, ...]
) -> None:
    typed = parse(argv, "generate")
    assert (dict(typed.values), typed.words) == (values, words)


@pytest.mark.parametrize(
    "argument",
    [
        "--foo bar",
        "-x is what I mean",
        "- one\n- two",
        "--no such=thing",
        "-5",
        "-.5",
        "-3 + 4",
        "-",
    ],
)
def test_white_space_and_negative_numbers_make_a_word(argument: str) -> None:
    assert parse([argument], "generate").words == (argument,)


def test_the_value_of_a_joined_flag_may_hold_anything() -> None:
    typed = parse(["--stop=a b", "--stop=-e", "--stop=--temp", "-r=x y"], "generate")
    assert typed.values == {"stop": ("a b", "-e", "--temp", "x y")}


@pytest.mark.parametrize("value", ["-e", "--temp", "--temp=1", "-n5", "--no-mmap", "--", "--help"])
def test_a_flag_is_never_taken_as_a_value(value: str) -> None:
    with pytest.raises(UsageError, match=r"--stop=") as caught:
        parse(["--stop", value], "generate")
    assert f"--stop={value}" in str(caught.value)


@pytest.mark.parametrize("value", ["-1", "-0.5", "---", "-", "-what", " "])
def test_what_is_no_flag_is_a_value(value: str) -> None:
    assert parse(["--stop", value], "generate").values == {"stop": (value,)}


def test_a_negative_number_is_a_value() -> None:
    assert parse(["--seed", "-1", "-n", "-1"], "generate").values == {"seed": -1, "max_tokens": -1}


def test_a_value_that_is_missing_says_what_is_expected() -> None:
    with pytest.raises(UsageError, match=r"^--temp needs a value: a number from 0 to 100$"):
        parse(["hi", "--temp"], "generate")


@pytest.mark.parametrize(
    ("argument", "meant"),
    [
        ("--temprature", "--temperature"),
        ("--topk", "--top-k"),
        ("--max_token=5", "--max-tokens"),
        ("-seed", "--seed"),
        ("-model", "--model"),
        ("--vebrose", "--verbose"),
        ("--no-mmpa", "--no-mmap"),
    ],
)
def test_an_unknown_flag_names_the_nearest(argument: str, meant: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([argument, "1"], "generate")
    assert str(caught.value).endswith(f": did you mean {meant}?")


def test_a_flag_of_another_command_says_so() -> None:
    with pytest.raises(UsageError, match="`nextok show` has no option --temp"):
        parse(["--temp", "1"], "show")


def test_help_outranks_what_follows() -> None:
    assert parse(["-h", "--nonsense"], "show").help
    assert parse(["--version"], "show").version
