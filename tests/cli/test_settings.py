"""Which of several values holds, and where it comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from nextok.cli.arguments import parse
from nextok.cli.config_file import ConfigFile, config_path, read_config
from nextok.cli.resolution import Resolved, resolve
from nextok.cli.settings import LogitBias
from nextok.generation.errors import UsageError
from nextok.generation.sampling import Sampling


def settings(
    *argv: str,
    environ: Mapping[str, str] | None = None,
    config: str = "",
    folder: Path | None = None,
) -> Resolved:
    """What a command line comes to."""
    path = (folder or Path("/nowhere")) / "config.toml"
    if config:
        path.write_text(config, encoding="utf-8")
    file = read_config(str(path)) if config else ConfigFile(path=str(path))
    return resolve("generate", parse(list(argv), "generate").values, environ or {}, file)


def test_without_a_word_the_defaults_hold() -> None:
    resolved = settings()
    assert resolved.sampling == Sampling()
    assert (resolved.stops.max_tokens, resolved.engine.ctx_size) == (-1, None)
    assert resolved.origin("temperature") == "built in"


def test_the_order_is_flag_environment_config_model_built_in(tmp_path: Path) -> None:
    config = """
        [defaults]
        model = "m"
        temp = 0.1
        top_k = 11
        top-p = 0.11
        min_p = 0.11
        typical = 0.11
        [commands.generate]
        temp = 0.2
        top_k = 12
        top_p = 0.12
        min_p = 0.12
        [models."m"]
        temp = 0.3
        top_k = 13
        top_p = 0.13
        """
    resolved = settings(
        "--temp", "0.5", environ={"NEXTOK_TEMP": "0.4", "NEXTOK_TOP_K": "14"},
        config=config, folder=tmp_path,
    ).with_model(["m"], {"typical": 0.09, "repeat_penalty": 1.3})  # fmt: skip
    found = {
        key: (resolved.value(key), resolved.origin(key).removeprefix(f"config {tmp_path}/"))
        for key in ("temperature", "top_k", "top_p", "min_p", "typical", "repeat_penalty", "seed")
    }
    assert found == {
        "temperature": (0.5, "flag"),
        "top_k": (14, "environment NEXTOK_TOP_K"),
        "top_p": (0.13, 'config.toml [models."m"]'),
        "min_p": (0.12, "config.toml [commands.generate]"),
        "typical": (0.11, "config.toml [defaults]"),
        "repeat_penalty": (1.3, "model"),
        "seed": (-1, "built in"),
    }


def test_a_models_table_counts_before_the_model_is_loaded(tmp_path: Path) -> None:
    config = '[aliases]\nsmall = "x.gguf"\n[models."x.gguf"]\nctx_size = 64\n'
    assert settings("-m", "small", config=config, folder=tmp_path).engine.ctx_size == 64
    assert settings("-m", "other", config=config, folder=tmp_path).engine.ctx_size is None


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("NEXTOK_TEMP", "0", "temperature", 0.0),
        ("NEXTOK_TEMPERATURE", "0.25", "temperature", 0.25),
        ("NEXTOK_STOP", "a b,c", "stop", ("a b,c",)),
        ("NEXTOK_STOP", '["a", "b"]', "stop", ("a", "b")),
        ("NEXTOK_STOP", "[INST]", "stop", ("[INST]",)),
        ("NEXTOK_JSON", "1", "json", True),
        ("NEXTOK_JSON", "false", "json", False),
        ("NEXTOK_NO_MMAP", "1", "mmap", False),
        ("NEXTOK_MMAP", "0", "mmap", False),
        ("NEXTOK_NO_STDIN", "true", "no_stdin", True),
        ("NEXTOK_TIMEOUT", "2m", "timeout", 120.0),
        ("NEXTOK_SYSTEM", " spaces stay ", "system", " spaces stay "),
        ("NEXTOK_LOGIT_BIAS", "5-inf", "logit_bias", (LogitBias(token=5, value=float("-inf")),)),
    ],
)
def test_a_variable_is_one_value(name: str, text: str, key: str, value: object) -> None:
    resolved = settings(environ={name: text})
    assert (resolved.value(key), resolved.origin(key)) == (value, f"environment {name}")


def test_an_empty_variable_is_none() -> None:
    assert settings(environ={"NEXTOK_TEMP": ""}).sampling == Sampling()


def test_prompt_and_file_are_no_variables() -> None:
    resolved = settings(environ={"NEXTOK_PROMPT": "x", "NEXTOK_FILE": "y"})
    assert (resolved.prompt.prompt, resolved.prompt.file) == (None, ())


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"NEXTOK_TEMP": "nan"}, "NEXTOK_TEMP must be a number from 0 to 100, not 'nan'"),
        ({"NEXTOK_JSON": "yes"}, "NEXTOK_JSON must be 1, 0, true or false, not 'yes'"),
        ({"NEXTOK_TEMP": "1", "NEXTOK_TEMPERATURE": "2"}, "NEXTOK_TEMPERATURE and NEXTOK_TEMP"),
    ],
)
def test_a_bad_variable_is_named(environ: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings(environ=environ)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("temp = 1", "temperature", 1.0),
        ("max-tokens = 5", "max_tokens", 5),
        ("n_predict = 5", "max_tokens", 5),
        ('stop = "x"', "stop", ("x",)),
        ('stop = ["x", "y"]', "stop", ("x", "y")),
        ("json = true", "json", True),
        ("no_mmap = true", "mmap", False),
        ("timeout = 30", "timeout", 30.0),
        ('timeout = "2m"', "timeout", 120.0),
        ("flash_attn = true", "flash_attn", "on"),
        ("chat_template_kwargs = {a = 1}", "chat_template_kwargs", {"a": 1}),
        ('samplers = ["top_k", "temp"]', "samplers", ("top_k", "temperature")),
        ("reasoning = false", "reasoning", False),
    ],
)
def test_the_file_has_types(tmp_path: Path, text: str, key: str, value: object) -> None:
    resolved = settings(config=f"[defaults]\n{text}\n", folder=tmp_path)
    assert resolved.value(key) == value
    assert resolved.origin(key) == f"config {tmp_path}/config.toml [defaults]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defaults]\ntemprature = 1", "unknown key temprature: did you mean temperature?"),
        ("[default]\ntemp = 1", "unknown table default: did you mean defaults?"),
        ("temp = 1", r"unknown table temp \(settings go into \[defaults\]\)"),
        ("[commands.generat]\ntemp = 1", "no command generat: did you mean generate?"),
        ("[commands.show]\ntemp = 1", "`nextok show` has no setting temp"),
        ("[defaults]\ntemp = nan", "temp in .defaults. must be a number from 0 to 100, not nan"),
        ("[defaults]\ntemp = '1'\ntop_k = true", "top_k in .defaults. must be a whole number"),
        ("[defaults]\nstop = ['']", "at least one character"),
        ("[defaults]\ntemp = 1\ntemperature = 2", "sets temp twice"),
        ("[defaults]\nprompt = 'x'", "unknown key prompt"),
        ("[commands.stats]\nsince = '7d'", "since: it is an option of the command line alone"),
        ("[defaults]\nsince2 = '7d'", "unknown key since2$"),
        ("[models.x]\nmodel = 'y'", "cannot name another model"),
        ("[aliases]\nx = 1", "alias x must be a text"),
        ("[aliases]\na = 'b'\nb = 'c'\nc = 'b'", "aliases. go in a circle: b -> c -> b"),
        ("[aliases]\na = 'a'", "aliases. go in a circle: a -> a"),
        ("[models]\na = 1", r'models.a must be a table, as in \[models."a"\]'),
        ("[commands]\nshow = 1", r"commands.show must be a table, as in \[commands.show\]"),
        ("defaults = 1", "defaults must be a table"),
        ("[defaults]\ntemp = \n", "line 2"),
        ("[defaults\n", "line 1"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        settings(config=text, folder=tmp_path)
    assert str(tmp_path / "config.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_says_where(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"[defaults]\nsystem = '\xff'\n")
    with pytest.raises(UsageError, match="line 2 is not UTF-8"):
        read_config(str(path))
    with pytest.raises(UsageError, match="cannot read"):
        read_config(str(tmp_path))


def test_an_alias_of_an_alias_is_what_that_stands_for(tmp_path: Path) -> None:
    text = "[aliases]\na = 'b'\nb = 'c'\nc = 'owner/repo'\nd = 'toy'\n"
    aliases = settings(config=text, folder=tmp_path).config.aliases
    assert aliases == {"a": "owner/repo", "b": "owner/repo", "c": "owner/repo", "d": "toy"}


def test_what_is_no_file_is_neither_waited_for_nor_read_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(UsageError, match=f"cannot read {path}: a pipe or a device"):
            read_config(path)
    assert read_config(os.devnull) == ConfigFile(path=os.devnull)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 1_000_001)
    with pytest.raises(UsageError, match="larger than 1,000,000 bytes"):
        read_config(str(large))


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert read_config("/dev/null/x/config.toml").defaults == {}
    assert read_config(str(tmp_path / "none")) == ConfigFile(path=str(tmp_path / "none"))


def test_a_models_path_is_meant_from_the_files_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    (tmp_path / "here.gguf").touch()
    text = """
        [defaults]
        model = "here.gguf"
        [aliases]
        far = "~/m.gguf"
        gone = "gone.gguf"
        """
    resolved = settings(config=text, folder=tmp_path)
    assert resolved.engine.model == str(tmp_path / "here.gguf")
    assert resolved.config.aliases == {"far": "/home/me/m.gguf", "gone": "gone.gguf"}


def test_the_place_of_the_file_is_the_platforms() -> None:
    platformdirs = pytest.importorskip("platformdirs")
    import os

    folder = platformdirs.user_config_dir("nextok")
    assert config_path(os.environ) == os.path.join(folder, "config.toml")
    assert config_path({"NEXTOK_CONFIG": "/a/b.toml"}) == "/a/b.toml"


def test_two_forms_of_json_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        settings("--json", "--jsonl")
    output = settings("--jsonl", environ={"NEXTOK_JSON": "1"}).output
    assert (output.json, output.jsonl) == (False, True)
    with pytest.raises(UsageError, match="exclude each other"):
        settings(environ={"NEXTOK_JSON": "1", "NEXTOK_JSONL": "1"})


def test_biases_wait_for_a_tokenizer() -> None:
    resolved = settings("--logit-bias", "x=1")
    assert resolved.biases == (LogitBias(token="x", value=1.0),)
    assert resolved.sampling.logit_bias == ()
    assert resolved.origin("logit_bias") == "flag"


def test_ignore_eos_reaches_both_who_need_it() -> None:
    resolved = settings("--ignore-eos")
    assert resolved.stops.ignore_eos and resolved.sampling.ignore_eos
