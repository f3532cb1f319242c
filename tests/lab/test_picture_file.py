"""Where pictures go: only where there is nothing, or an older picture of ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nextok.generation.errors import OutputError, UsageError
from nextok.lab.picture import MARK
from nextok.lab.picture_file import check_replaceable, form_of, write_picture

OURS = b"\x89PNG\r\n\x1a\n...." + MARK.encode()


@pytest.mark.parametrize(("path", "form"), [("a.png", "png"), ("b/a.b.SVG", "svg")])
def test_the_form_is_in_the_name(path: str, form: str) -> None:
    assert form_of(path) == form


@pytest.mark.parametrize("path", ["a", "a.jpg", "-", "png", ".png", "a.png/", "t.jsonl"])
def test_other_names_are_refused(path: str) -> None:
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        form_of(path)


def test_a_picture_of_ours_is_replaced_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(OURS)
    path.chmod(0o640)
    check_replaceable(str(path))
    write_picture(str(path), OURS + b"new")
    assert path.read_bytes() == OURS + b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_new_picture_has_the_rights_of_new_files(tmp_path: Path) -> None:
    write_picture(str(tmp_path / "a.png"), OURS)
    (tmp_path / "plain").touch()
    assert (tmp_path / "a.png").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    "data", [b"x", b'{"type": "start"}', b"\x89PNG\r\n\x1a\n a photo", MARK.encode()]
)
def test_anything_else_stays(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="was not drawn by nextok"):
        check_replaceable(str(path))


def test_an_empty_file_and_no_file_are_free(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    check_replaceable(str(tmp_path / "a.png"))
    check_replaceable(str(tmp_path / "b.png"))


def test_folders_and_pipes_are_no_place(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    for name in ("folder.png", "pipe.png"):
        with pytest.raises(UsageError, match="was not drawn by nextok"):
            check_replaceable(str(tmp_path / name))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.png").write_bytes(OURS)
    (tmp_path / "a.png").symlink_to("real.png")
    write_picture(str(tmp_path / "a.png"), OURS + b"new")
    assert (tmp_path / "a.png").is_symlink()
    assert (tmp_path / "real.png").read_bytes() == OURS + b"new"


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file"):
        write_picture(str(tmp_path / "absent" / "a.png"), OURS)
    (tmp_path / "a.png").mkdir()
    with pytest.raises(OutputError, match="Is a directory"):
        write_picture(str(tmp_path / "a.png"), OURS)
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_folder_that_is_not_there_is_said_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file"):
        check_replaceable(str(tmp_path / "absent" / "a.png"))
