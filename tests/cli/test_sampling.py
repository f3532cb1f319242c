"""Sampling from the command line: greedy, seeds, biases, every knob, and logits that are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFValueType

Ask = Callable[..., Any]
Build = Callable[..., Path]

CHOICES = {
    text: 18 + math.log(weight) for text, weight in zip("ABCDE", (5, 4, 3, 2, 1), strict=True)
}


@pytest.fixture(scope="session")
def choices_gguf(scripted: Build) -> Path:
    """Says one letter of A to E, with odds of 5 : 4 : 3 : 2 : 1."""
    return scripted([], choices=CHOICES, stem="choices")


@pytest.fixture(scope="session")
def tie_gguf(scripted: Build) -> Path:
    """Says x, y or z, all equally likely; x has the lowest id."""
    return scripted([], choices=dict.fromkeys("xyz", 20.0), stem="tie")


def test_temperature_zero_is_argmax_whatever_else_is_set(ask: Ask, choices_gguf: Path) -> None:
    for flags in (
        "--seed 1 --top-k 0 --top-p 0.1 --xtc-probability 1 --xtc-threshold 0.01",
        "--seed 2 --min-p 0.5 --samplers top_p;temperature",
        "--seed 3 --typical 0.1 --top-n-sigma 0",
    ):
        assert ask("-m", choices_gguf, "--temp", "0", *flags.split(), "hi").out == b"A\n", flags


def test_ties_go_to_the_lowest_id(ask: Ask, tie_gguf: Path) -> None:
    assert ask("-m", tie_gguf, "--temp", "0", "--seed", "1", "hi").out == b"x\n"
    assert ask("-m", tie_gguf, "--temp", "1e-9", "hi").out == b"x\n"


def test_a_penalty_is_honoured_at_temperature_zero(ask: Ask, choices_gguf: Path) -> None:
    """The prompt's tokens count: A has been said, so B is the best."""
    assert ask("-m", choices_gguf, "--temp", "0", "A").out == b"A\n"
    assert ask("-m", choices_gguf, "--temp", "0", "--repeat-penalty", "1.3", "A").out == b"B\n"
    assert ask("-m", choices_gguf, "--temp", "0", "--presence-penalty", "2", "AB").out == b"C\n"
    window = ("--repeat-penalty", "1.3", "--repeat-last-n", "1")  # it holds the template's end
    assert ask("-m", choices_gguf, "--temp", "0", *window, "A").out == b"A\n"


def test_a_sampled_token_is_penalised_once(ask: Ask, loop_gguf: Path) -> None:
    """`la` and `li` have scores of 3√width; taking 20 off each time they are said, they end."""
    flags = ("--temp", "0", "-n", "12", "--frequency-penalty", "20")
    answered = ask("-m", loop_gguf, *flags, "hi")
    width = 320
    best = 3 * width**0.5
    times = math.ceil(best / 20)  # said so often, its score is below 0, another token's
    assert answered.out.decode().startswith("la li " * times)
    assert answered.out.decode().count("la ") == times


def test_the_same_seed_gives_the_same_answer(ask: Ask, starter_gguf: Path) -> None:
    def say(*flags: str) -> dict[str, Any]:
        report: dict[str, Any] = ask(
            "-m", starter_gguf, "-n", "8", "--temp", "1.5", "--json", *flags, "Hello"
        ).object
        return report

    drawn = say()
    again = say("--seed", str(drawn["seed"]))
    assert again["text"] == drawn["text"]
    assert say("--seed", str((drawn["seed"] + 1) % 1000))["text"] != drawn["text"]


def test_seeds_reach_the_sampler(ask: Ask, choices_gguf: Path) -> None:
    said = {ask("-m", choices_gguf, "--seed", str(seed), "hi").out for seed in (0, 1, 4, 2**32 - 2)}
    assert len(said) > 1
    assert said <= {f"{letter}\n".encode() for letter in "ABCDE"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--logit-bias", "A=-100"), "B"),
        (("--logit-bias", "D=+9"), "D"),
        (("--logit-bias", "A=-inf", "--logit-bias", "B=-inf"), "C"),
    ],
)
def test_a_bias_by_text(ask: Ask, choices_gguf: Path, flags: tuple[str, ...], said: str) -> None:
    answered = ask("-m", choices_gguf, "--temp", "0", *flags, "hi")
    assert (answered.code, answered.out.decode()) == (0, said + "\n")


def test_a_ban_is_in_the_report(ask: Ask, choices_gguf: Path) -> None:
    report = ask("-m", choices_gguf, "--temp", "0", "--json", "--logit-bias", "A=-inf", "hi").object
    assert report["text"] == "B"
    ((_, value),) = report["sampling"]["logit_bias"]
    assert value == "-inf"


def test_a_bias_by_id(ask: Ask, choices_gguf: Path) -> None:
    listed = ask("tokens", "-m", choices_gguf, "--raw", "--json", "E").object["tokens"]
    number = listed[-1]["id"]
    answered = ask("-m", choices_gguf, "--temp", "0", "--logit-bias", f"{number}+9", "hi")
    assert answered.out == b"E\n"
    beyond = ask("-m", choices_gguf, "--logit-bias", "99999+1", "hi")
    beyond.check_failed(2, "--logit-bias 99999", "from 0 to")


def test_the_end_can_be_ignored(ask: Ask, choices_gguf: Path, emoji_gguf: Path) -> None:
    report = ask("-m", choices_gguf, "--ignore-eos", "-n", "3", "--json", "hi").object
    assert (report["completion_tokens"], report["finish_reason"]) == (3, "length")
    assert report["text"] != ""


@pytest.mark.parametrize(
    "flags",
    [
        "--mirostat 1 --mirostat-lr 0.2 --mirostat-ent 3",
        "--mirostat 2 --repeat-last-n -1 --repeat-penalty 1.1",
        "--dry-multiplier 0.8 --dry-base 1.5 --dry-allowed-length 1 --dry-penalty-last-n 64",
        "--dry-multiplier 1 --dry-sequence-breaker none",
        "--xtc-probability 0.5 --xtc-threshold 0.2 --dynatemp-range 0.5 --dynatemp-exp 1.2",
        "--typical 0.5 --top-n-sigma 1.5 --samplers typ_p;top_n_sigma;temperature",
        "--temp 100 --top-k 1",
        "--repeat-penalty 1.01 --repeat-last-n 2147483647 --dry-multiplier 0.1 "
        "--dry-penalty-last-n 2147483647",
        "--samplers penalties;temperature --presence-penalty 0.5 --frequency-penalty -0.5",
        "--top-k 2147483647 --top-p 1 --min-p 0 --temp 1",
    ],
)
def test_every_knob_runs(ask: Ask, emoji_gguf: Path, flags: str) -> None:
    answered = ask("-m", emoji_gguf, "--seed", "3", *flags.split(), "hi")
    assert (answered.code, answered.out.decode()) == (0, "Hi \N{GRINNING FACE} bye\n")
    assert answered.err == ""


def test_xtc_takes_the_likeliest_away(ask: Ask, choices_gguf: Path) -> None:
    """All above the threshold but the least likely of them go: only E is left at 1 : 15."""
    flags = ("--xtc-probability", "1", "--xtc-threshold", "0.05", "--min-p", "0.05")
    assert ask("-m", choices_gguf, "--temp", "1", *flags, "hi").out == b"E\n"


def test_the_order_of_the_samplers_is_the_user_s(ask: Ask, choices_gguf: Path) -> None:
    """Before temperature min-p 0.7 keeps A and B; after a temperature of 100 it keeps all."""
    cut = ("--min-p", "0.7", "--temp", "100", "--samplers")
    first = {
        ask("-m", choices_gguf, *cut, "min_p;temperature", "--seed", str(seed), "hi").out
        for seed in range(2)
    }
    assert first <= {b"A\n", b"B\n"}
    last = ask("-m", choices_gguf, *cut, "temperature;min_p", "--seed", "1", "--json", "hi").object
    assert last["sampling"]["samplers"] == ["temperature", "min_p"]


OUT_OF_RANGE = [
    "--temp -1", "--temp nan", "--temp inf", "--temp 1e9", "--top-p -0.1", "--top-p 1.1",
    "--top-p nan", "--top-k -1", "--top-k 1.5", "--min-p 1.1", "--repeat-penalty 0",
    "--repeat-penalty -1", "-n abc", "-n 1.5", "-n -2", "-n 99999999999", "-c -5", "--seed -2",
    "--seed 4294967295", "--mirostat 3", "--typical 0", "--samplers top_q", "-t 0", "-b 0",
    "--timeout 0", "--logit-bias 5", "--logit-bias A=nan",
]  # fmt: skip


@pytest.mark.parametrize("words", OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused(words: str) -> None:
    from nextok.cli import arguments
    from nextok.generation.errors import UsageError

    flag, value = words.split()
    with pytest.raises(UsageError) as refused:
        arguments.parse([flag, value], "generate")
    assert flag in str(refused.value) and "must be" in str(refused.value)
    assert repr(value) in str(refused.value)


def test_a_value_out_of_range_is_refused_before_a_model_is_loaded(ask: Ask) -> None:
    for flag, value in (("--temp", "nan"), ("-n", "1.5"), ("--repeat-penalty", "0")):
        answered = ask("-m", "no-such.gguf", flag, value, "hi")
        answered.check_failed(2, flag, "must be", repr(value))


@pytest.mark.parametrize(
    "flags",
    ["--temp 1e-9", "--top-p 0", "--top-k 1", "--min-p 1", "--repeat-penalty 1e-9 --top-k 1"],
)
def test_a_value_at_the_edge_leaves_one_candidate(ask: Ask, choices_gguf: Path, flags: str) -> None:
    assert ask("-m", choices_gguf, *flags.split(), "hi").out == b"A\n"


def test_what_the_model_recommends(
    ask: Ask, scripted: Build, config_file: Callable[[str], Path]
) -> None:
    model = scripted(
        ["x"],
        stem="recommends",
        meta={
            "general.sampling.temp": 0.25,
            "general.sampling.top_k": (GGUFValueType.INT32, 7),
            "general.sampling.penalty_repeat": 1.25,
            "general.sampling.sequence": "top_k;temperature",
        },
    )

    def sampling(*flags: str) -> dict[str, Any]:
        answered = ask("-m", model, "--json", *flags, "hi")
        assert answered.err == ""
        found: dict[str, Any] = answered.object["sampling"]
        return found

    own = sampling()
    assert (own["temperature"], own["top_k"], own["repeat_penalty"]) == (0.25, 7, 1.25)
    assert own["samplers"] == ["top_k", "temperature"]
    assert own["top_p"] == 0.95
    config_file("[defaults]\ntop-k = 9\n")
    assert sampling("--temp", "0.5")["temperature"] == 0.5
    assert sampling()["top_k"] == 9


def test_a_recommendation_out_of_range_is_ignored_and_said(ask: Ask, scripted: Build) -> None:
    model = scripted(["x"], stem="wild", meta={"general.sampling.temp": -1.0})
    answered = ask("-m", model, "--json", "hi")
    assert (answered.code, answered.object["sampling"]["temperature"]) == (0, 0.8)
    answered.check_line("warning", "--temp", "-1")


@pytest.mark.parametrize("fault", ["nan", "first", "next", "-inf"])
@pytest.mark.parametrize("temperature", ["0", "0.8"])
def test_logits_that_are_no_numbers_end_it_after_what_was_said(
    ask: Ask, scripted: Build, fault: str, temperature: str
) -> None:
    model = scripted(["one ", "two ", "three"], nan_at=1, fault=fault, stem=f"fault{fault}")
    answered = ask("-m", model, "--temp", temperature, "hi")
    assert (answered.code, answered.out) == (1, b"one two \n")
    answered.check_line("error", "NaN")


def test_a_failure_on_the_way_is_in_the_json(ask: Ask, nan_gguf: Path) -> None:
    answered = ask("-m", nan_gguf, "--json", "hi")
    report = answered.object
    assert answered.code == 1
    assert (report["text"], report["finish_reason"]) == ("one two ", "error")
    assert "NaN" in report["error"]
    answered.check_line("error", report["error"])
    streamed = ask("-m", nan_gguf, "--jsonl", "hi")
    assert streamed.code == 1
    assert streamed.lines[-1]["finish_reason"] == "error"


def test_the_toy_speaks(ask: Ask) -> None:
    answered = ask("-m", "toy", "--temp", "0", "-n", "12", "--raw", "The prompt")
    assert (answered.code, answered.out, answered.err) == (0, b" is drawn, i\n", "")
