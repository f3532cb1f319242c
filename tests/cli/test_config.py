"""`nextok config`: every value and its origin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from nextok.cli.flag_table import flags_of

from .conftest import SCRIPT, Run

Write = Callable[[str], Path]


def test_every_setting_is_listed_with_its_origin(nextok: Run, config_file: Write) -> None:
    path = config_file('[defaults]\ntop_k = 7\nstop = ["a\\u001b", " b"]\n')
    ran = nextok("config", "--temp", "0.1", env={"NEXTOK_SEED": "5"})
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert len(lines) == sum(flag.ambient for flag in flags_of("generate"))
    by_name = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert by_name["temp"].split() == ["0.1", "flag"]
    assert by_name["seed"].split() == ["5", "environment", "NEXTOK_SEED"]
    assert by_name["top-k"].split(maxsplit=1) == ["7", f"config {path} [defaults]"]
    assert by_name["min-p"].split(maxsplit=1) == ["0.05", "built in"]
    assert "\x1b" not in ran.out


def test_json_holds_the_same(nextok: Run, config_file: Write) -> None:
    path = config_file('[aliases]\nsmall = "s.gguf"\n[commands.generate]\ntemp = 0.5\n')
    ran = nextok("config", "--json", "--logit-bias", "5-inf", "--logit-bias", "ü=1")
    told = json.loads(ran.out)
    assert (told["path"], told["command"]) == (str(path), "generate")
    assert told["aliases"] == {"small": "s.gguf"}
    assert told["settings"]["temp"] == {
        "value": 0.5, "origin": f"config {path} [commands.generate]",
    }  # fmt: skip
    assert told["settings"]["logit-bias"]["value"] == ["5-inf", "ü=1"]
    assert told["settings"]["json"] == {"value": False, "origin": "built in"}
    assert told["settings"]["threads"] == {"value": "auto", "origin": "built in"}


def test_another_commands_settings(nextok: Run, config_file: Write) -> None:
    config_file("[commands.show]\nctx_size = 64\n")
    ran = nextok("config", "show", "--json")
    settings = json.loads(ran.out)["settings"]
    assert settings["ctx-size"]["value"] == 64
    assert "temp" not in settings
    assert nextok("config", "shwo").err == (
        "nextok: error: there is no command shwo: did you mean show?\n"
    )


def test_path_is_the_files(nextok: Run, tmp_path: Path) -> None:
    ran = nextok("config", "--path", env={"NEXTOK_CONFIG": str(tmp_path / "my.toml")})
    assert (ran.code, ran.out) == (0, f"{tmp_path}/my.toml\n")


def test_a_broken_file_is_named(nextok: Run, config_file: Write) -> None:
    path = config_file("[defaults\n")
    ran = nextok("config")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"nextok: error: {path}: not valid TOML: ")


@pytest.mark.parametrize(
    ("environ", "colored"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
     ({"TERM": "dumb"}, False)],
)  # fmt: skip
def test_a_terminal_gets_a_table(
    environ: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    page = str(pexpect.run(f"{SCRIPT} config", encoding="utf-8"))
    assert "setting" in page and "built in" in page and "config file: " in page
    assert ("\x1b" in page) is colored


def test_what_the_model_recommends_is_among_the_values(
    nextok: Run, scripted: Callable[..., Path]
) -> None:
    model = scripted(["x"], stem="advice", meta={"general.sampling.temp": 0.25})
    settings = json.loads(nextok("config", "--json", "-m", str(model)).out)["settings"]
    assert settings["temp"] == {"value": 0.25, "origin": "model"}
    assert settings["top-k"]["origin"] == "built in"
    asked = json.loads(nextok("config", "--json", "-m", str(model), "--temp", "1").out)["settings"]
    assert asked["temp"] == {"value": 1.0, "origin": "flag"}
