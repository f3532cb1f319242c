"""Files of prompts, good and bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from nextok.generation.errors import UsageError
from nextok.lab.prompt_file import read_prompts
from nextok.lab.prompts import PROMPTS


def test_a_prompt_a_line(tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    path.write_bytes("\ufeffWhy?\n\n  Wie geht's, Größe?  \r\n{\n".encode())
    assert read_prompts(str(path)) == ("Why?", "Wie geht's, Größe?", "{")


def test_json_lines_hold_prompts_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "prompts.JSONL"
    path.write_text('"a\\nb"\n{"prompt": "c", "id": 1}\n')
    assert read_prompts(str(path)) == ("a\nb", "c")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("p.txt", b"good\nb\xe9d\n", "p.txt, line 2: byte 2 of the line is not UTF-8"),
        ("p.jsonl", b'"a"\n\n{"prompt": \n', "p.jsonl, line 3: no JSON"),
        ("p.jsonl", b'"a"\n{"text": "b"}\n', "p.jsonl, line 2: no prompt"),
        ("p.jsonl", b'{"prompt": 7}\n', "p.jsonl, line 1: no prompt"),
        ("p.jsonl", b'"a"\n"b"\n" "\n', "p.jsonl, line 3: an empty prompt"),
        ("p.txt", b" \n\n", "p.txt holds no prompt"),
        ("p.txt", b"", "p.txt holds no prompt"),
    ],
)
def test_a_bad_file_is_told_with_the_line(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_prompts(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["/nowhere/p.txt", "/", "a\0b"])
def test_a_file_that_cannot_be_read_is_told(path: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_prompts(path)


def test_fifty_different_prompts_are_built_in() -> None:
    assert len(PROMPTS) == len(set(PROMPTS)) == 50
