"""The table of flags: complete, and its ranges as documented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nextok.cli.arguments import parse
from nextok.cli.commands import NAMES
from nextok.cli.flag_table import BY_NAME, BY_WORD, FLAGS, flags_of, names_for
from nextok.cli.flags import GROUPS
from nextok.cli.settings import LogitBias
from nextok.generation.errors import UsageError
from nextok.generation.sampling import SAMPLERS

Ask = Callable[..., Any]
LARGEST = 2**31 - 1


def value_of(flag: str, text: str) -> object:
    (value,) = parse([f"{flag}={text}"], "generate").values.values()
    return value


def test_every_setting_has_one_flag_and_every_flag_a_setting() -> None:
    keys = [flag.key for flag in FLAGS]
    assert sorted(keys) == sorted({key for group in GROUPS for key in group._fields})


def test_no_name_means_two_things_to_one_command() -> None:
    for command in NAMES:
        names = [name for flag in flags_of(command) for name in (*flag.on, *flag.off)]
        assert len(names) == len(set(names)), command
        assert {names_for(command)[name][0] for name in names} == set(flags_of(command))
    assert names_for("log")["-n"][0].key == "rows"
    assert names_for("generate")["-n"][0].key == BY_NAME["-n"][0].key == "max_tokens"


def test_no_word_of_the_config_file_means_two_things() -> None:
    words = [{word for word, _ in flag.words()} for flag in FLAGS if flag.ambient]
    assert sum(map(len, words)) == len(BY_WORD)


def test_defaults_are_values_the_flag_takes() -> None:
    for flag in FLAGS:
        if isinstance(flag.default, (int, float)):
            assert flag.accept(flag.default, flag.key) == flag.default


@pytest.mark.parametrize(
    "names",
    [
        "-m --model", "-p --prompt", "-f --file", "-sys --system --system-prompt",
        "-n --max-tokens --predict --n-predict", "-c --ctx-size --ctx --num-ctx", "-t --threads",
        "-b --batch-size", "-ub --ubatch-size", "-r --stop --reverse-prompt", "--seed",
        "--temp --temperature", "--top-k", "--top-p", "--min-p", "--typical --typical-p",
        "--top-n-sigma --top-nsigma", "--xtc-probability", "--xtc-threshold", "--dynatemp-range",
        "--dynatemp-exp", "--mirostat", "--mirostat-lr", "--mirostat-ent", "--dry-multiplier",
        "--dry-base", "--dry-allowed-length", "--dry-penalty-last-n", "--dry-sequence-breaker",
        "--repeat-penalty", "--repeat-last-n", "--presence-penalty", "--frequency-penalty",
        "--samplers", "--logit-bias", "--ignore-eos", "--raw", "--special", "--chat-template",
        "--chat-template-kwargs", "--think", "--reasoning", "-ngl --gpu-layers --n-gpu-layers",
        "-fa --flash-attn", "-ctk --cache-type-k", "-ctv --cache-type-v", "--mlock", "--timeout",
        "--first-token-timeout", "--stall-timeout", "--json", "--jsonl", "--stats", "--trace",
        "--no-stdin", "-q --quiet", "-v --verbose", "--debug", "--color", "--messages",
        "--prefill", "--encoding", "--escape",
    ],
)  # fmt: skip
def test_the_names_people_know_are_there(names: str) -> None:
    assert len({BY_NAME[name][0].key for name in names.split()}) == 1
    assert BY_NAME[names.split()[0]][0] in flags_of("generate")


@pytest.mark.parametrize(
    ("flag", "good", "bad"),
    [
        ("--temp", "0 1e-9 0.8 100", "-1 nan inf -inf 1e9 100.1 one 1_0 0x1"),
        ("--top-p", "0 0.5 1", "-0.1 1.1 nan"),
        ("--min-p", "0 1", "1.1 -1e-9"),
        ("--top-k", f"0 1 1000000000 {LARGEST}", f"-1 1.5 {LARGEST + 1} 1e3"),
        ("--typical", "1 0.1", "0 1.1"),
        ("--repeat-penalty", "1e-9 1 100", "0 -1 101"),
        ("--repeat-last-n", f"-1 0 {LARGEST}", "-2"),
        ("--seed", f"-1 0 {2**32 - 2}", f"-2 {2**32 - 1} 0.5"),
        ("-n", f"-1 0 {LARGEST}", "abc 1.5 -2 99999999999"),
        ("-c", "0 8192", "-1 4k"),
        ("-t", "1 1024 auto", "0 1025 -1 many"),
        ("--mirostat", "0 1 2", "3 -1"),
        ("--xtc-threshold", "0 1", "2"),
        ("--dynatemp-range", "0 5", "-1"),
        ("--dry-base", "1 1.75", "0.5"),
        ("--top-n-sigma", "-1 0 3", "-1.5"),
        ("--color", "auto always never", "yes"),
        ("--timeout", "30 30s 2m 0.5 500ms 1h off", "0 -1 30x s nan"),
        ("-ngl", "0 99 -1 auto all", "-2"),
        ("--cache-type-k", "f16 q8_0 iq4_nl", "f8"),
        ("--encoding", "utf-8 UTF-16 latin-1", "hex utf-99"),
    ],
)
def test_ranges_have_these_ends(flag: str, good: str, bad: str) -> None:
    for text in good.split():
        value_of(flag, text)
    for text in bad.split():
        with pytest.raises(UsageError) as caught:
            value_of(flag, text)
        assert str(caught.value).startswith(f"{flag} must be ")
        assert repr(text) in str(caught.value)


def test_a_range_error_names_flag_value_and_range() -> None:
    with pytest.raises(UsageError, match=r"^--top-p must be a number from 0 to 1, not '1\.1'$"):
        value_of("--top-p", "1.1")


def test_durations_are_seconds() -> None:
    assert [value_of("--timeout", text) for text in ("30", "30s", "2m", "500ms", "off")] == [
        30.0, 30.0, 120.0, 0.5, None,
    ]  # fmt: skip


def test_an_empty_stop_is_refused_and_a_blank_one_is_not() -> None:
    with pytest.raises(UsageError, match="at least one character"):
        value_of("--stop", "")
    assert value_of("--stop", " ") == (" ",)
    assert value_of("--stop", r"\n") == (r"\n",)


def test_samplers_take_llama_cpps_names() -> None:
    assert value_of("--samplers", "top-k;temp, typ_p") == ("top_k", "temperature", "typ_p")
    assert value_of("--samplers", ";".join(SAMPLERS)) == SAMPLERS
    for text in ("", "top_k;top_k", "magic"):
        with pytest.raises(UsageError, match="names out of penalties"):
            value_of("--samplers", text)


@pytest.mark.parametrize(
    ("text", "bias"),
    [
        ("15043+1", LogitBias(token=15043, value=1.0)),
        ("15043-0.5", LogitBias(token=15043, value=-0.5)),
        ("2-inf", LogitBias(token=2, value=float("-inf"))),
        (" yes=2", LogitBias(token=" yes", value=2.0)),
        ("a=b=-1", LogitBias(token="a=b", value=-1.0)),
        ("42=3", LogitBias(token="42", value=3.0)),
    ],
)
def test_a_bias_names_a_token_by_id_or_text(text: str, bias: LogitBias) -> None:
    assert value_of("--logit-bias", text) == (bias,)


@pytest.mark.parametrize("text", ["", "yes", "=1", "yes=", "yes=nan", "5+inf", "5+", "yes=1e99"])
def test_a_bias_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--logit-bias must be ID"):
        value_of("--logit-bias", text)


def test_breakers_replace_the_defaults_and_none_clears() -> None:
    assert value_of("--dry-sequence-breaker", "none") == ()
    argv = ["--dry-sequence-breaker", "none", "--dry-sequence-breaker", "#"]
    assert parse(argv, "generate").values == {"dry_sequence_breakers": ("#",)}


def test_template_arguments_are_an_object() -> None:
    assert value_of("--chat-template-kwargs", '{"a": [1]}') == {"a": [1]}
    for text in ("[1]", "{", "", "null", "[" * 100_000):
        with pytest.raises(UsageError, match="must be a JSON object"):
            value_of("--chat-template-kwargs", text)


def test_a_home_folder_is_found_without_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert value_of("--model", "~/m.gguf") == "/somewhere/m.gguf"


def test_a_page_says_which_flags_are_of_the_command_line_alone(ask: Ask) -> None:
    page = " ".join(ask("log", "--help").out.decode().split())
    alone = "config.toml (but --model, --since, --rows, --prune: here alone);"
    assert alone in page
    assert "keys of config.toml; nextok config shows" in " ".join(
        ask("info", "--help").out.decode().split()
    )
