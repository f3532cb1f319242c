"""Changing one entry of the config file, and nothing else in it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nextok.cli.config_file import read_config
from nextok.cli.config_writer import remove_entry, set_entry
from nextok.generation.errors import OutputError, UsageError

COMMENTED = """\
# mine
[defaults]   # of all
threads = 4
model = "old"  # why not

[models."~/a b.gguf"]
temp = 0.5

[aliases]
# short ones
big = '~/big.gguf'
"""


def test_all_else_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    set_entry(str(path), "defaults", "model", "big")
    assert path.read_text() == COMMENTED.replace('"old"', '"big"')
    set_entry(str(path), "aliases", "small", "owner/repo:Q8_0")
    expected = COMMENTED.replace('"old"', '"big"') + 'small = "owner/repo:Q8_0"\n'
    assert path.read_text() == expected
    remove_entry(str(path), "aliases", "small")
    assert path.read_text() == COMMENTED.replace('"old"', '"big"')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "aliases = {a = 'b'}\n",
        "aliases.a = 'b'\n[defaults]\nthreads = 1\n",
        "[defaults]\r\nthreads = 1\r\n",
        "\ufeff[defaults]\nthreads = 1\n",
        "[commands.generate]\nstats = true\n[defaults]\n[commands.tokens]\njson = true",
    ],
)
def test_every_form_of_a_table_can_be_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8", newline="")
    before = read_config(str(path))
    value = 'a "quoted" \\ name with é and \''
    set_entry(str(path), "aliases", "new", value)
    set_entry(str(path), "defaults", "model", "new")
    after = read_config(str(path))
    assert after.aliases == {**before.aliases, "new": value}
    assert after.defaults == {**before.defaults, "model": "new"}
    assert after.commands == before.commands
    assert path.read_bytes().startswith(text[:8].encode())


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "config.toml"
    set_entry(str(path), "defaults", "model", "toy")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == '[defaults]\nmodel = "toy"\n'
    assert os.listdir(path.parent) == ["config.toml"]


def test_rights_and_links_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "nextok.toml"
    real.parent.mkdir()
    real.write_text(COMMENTED)
    real.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    set_entry(str(link), "defaults", "model", "toy")
    assert link.is_symlink() and 'model = "toy"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("text", ["[[[", "[defaults]\nno_such_key = 1\n", "defaults = 1\n"])
def test_a_broken_file_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="config.toml"):
        set_entry(str(path), "defaults", "model", "toy")
    assert path.read_text() == text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot write"):
        set_entry(str(path), "defaults", "model", "toy")
    assert path.read_text() == COMMENTED


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises((OutputError, UsageError)):
        set_entry(str(tmp_path / "file" / "config.toml"), "defaults", "model", "toy")
