"""Logs of lengths: what is read of them, and the line of everything that is no length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.generation.errors import UsageError
from nextok.lab.length_data import Answer
from nextok.lab.length_log import read_log

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(text or bytes, name="log.csv")` → its path."""

    def made(content: str | bytes, name: str = "log.csv") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return made


def lengths(path: str, column: str | None = None) -> list[int]:
    return read_log(path, column).tokens


def refusal(path: str, column: str | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        read_log(path, column)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(path, "FILE")


def test_a_csv_with_a_column_that_is_known(write: Write) -> None:
    data = read_log(write("TIMESTAMP,ContextTokens,GeneratedTokens\na,374,44\nb,396,109\n"))
    assert data.column == "GeneratedTokens"
    assert data.answers == (Answer(44, False, 374, 2), Answer(109, False, 396, 3))
    assert data.name == "log.csv"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters(write: Write, delimiter: str) -> None:
    rows = [["id", "tokens"], ["1", "5"], ["2", "8"]]
    assert lengths(write("\n".join(map(delimiter.join, rows)))) == [5, 8]


def test_jsonl_with_objects_inside(write: Write) -> None:
    path = write(
        '{"usage": {"prompt_tokens": 7, "completion_tokens": 30}, "finish_reason": "length"}\n'
        "\n"
        '{"usage": {"prompt_tokens": null, "completion_tokens": 4}, "finish_reason": "stop"}\n',
        "log.jsonl",
    )
    data = read_log(path)
    assert data.column == "usage.completion_tokens"
    assert data.answers == (Answer(30, True, 7, 1), Answer(4, False, None, 3))


@pytest.mark.parametrize(
    ("ending", "cut"),
    [("length", True), ("MAX_TOKENS", True), ("interrupted", True), ("eos", False),
     ("stop", False), ("end_turn", False), ("", False)],
)  # fmt: skip
def test_how_answers_ended(write: Write, ending: str, cut: bool) -> None:
    answers = read_log(write(f"tokens,finish_reason\n5,{ending}\n6,eos\n")).answers
    assert [one.cut for one in answers] == [cut, False]


def test_answers_that_failed_are_counted_and_left_out(write: Write) -> None:
    data = read_log(write("tokens,finish\n5,eos\n0,error\n6,eos\n,error\n"))
    assert (data.tokens, data.failed) == ([5, 6], 2)


def test_a_list_of_numbers_has_no_names(write: Write) -> None:
    data = read_log(write("12\n30\n7\n"))
    assert (data.tokens, data.column) == ([12, 30, 7], "1")
    assert data.answers[0].line == 1


def test_the_only_column_of_numbers_is_taken(write: Write) -> None:
    assert lengths(write("who,how_much\nann,5\nbob,8\n")) == [5, 8]


def test_a_column_is_named(write: Write) -> None:
    path = write("tokens,words\n5,3\n8,6\n")
    assert lengths(path, "Words") == [3, 6]
    assert refusal(path, "weight") == "FILE has no column weight: it has tokens, words"


def test_byte_order_mark_blank_lines_and_whole_numbers_with_a_point(write: Write) -> None:
    assert lengths(write("\ufeff\n\ntokens,x\n5.0,a\n\n 8 ,b\n")) == [5, 8]


def test_lines_are_those_of_the_file_where_a_cell_has_several(write: Write) -> None:
    path = write('text,tokens\n"one\ntwo",5\nx,-1\nx,9\n')
    assert refusal(path).startswith("FILE: tokens is negative (-1) in line 4: ")


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file(write: Write, content: str, name: str) -> None:
    assert refusal(write(content, name)) == "FILE is empty: a log has a row for each answer"


def test_names_without_rows(write: Write) -> None:
    assert "one line, names of columns, and no row" in refusal(write("tokens,x\n"))


def test_no_numeric_column(write: Write) -> None:
    message = refusal(write("name,answer\nann,yes\n"))
    assert message == "FILE has no numeric column: line 2 has no number in name, answer"


def test_several_numeric_columns(write: Write) -> None:
    message = refusal(write("a,b,c\n1,2,x\n"))
    assert message.endswith(
        "several numeric columns: say with --column which has the lengths: a, b"
    )


@pytest.mark.parametrize(
    ("cell", "what"),
    [("-5", "negative (-5)"), ("nan", "not a number (NaN)"), ("", "empty"),
     ("abc", "no number (abc)"), ("2.5", "no whole number (2.5)"), ("inf", "too large (inf)"),
     ("1e12", "too large (1e+12)")],
)  # fmt: skip
def test_a_cell_that_is_no_length(write: Write, cell: str, what: str) -> None:
    message = refusal(write(f"id,tokens\n1,5\n2,{cell}\n3,8\n"))
    assert message.startswith(f"FILE: tokens is {what} in line 3: mend the file")


@pytest.mark.parametrize(
    ("cell", "what"),
    [("-5", "negative (-5)"), ("NaN", "not a number (NaN)"), ("null", "empty"),
     ('"abc"', "no number (abc)"), ("2.5", "no whole number (2.5)"), ("[1]", "missing"),
     ("true", "no number (true)"), ("Infinity", "too large (inf)")],
)  # fmt: skip
def test_a_value_that_is_no_length(write: Write, cell: str, what: str) -> None:
    lines = ('{"tokens": 5}', f'{{"tokens": {cell}}}', '{"tokens": 8}')
    message = refusal(write("\n".join(lines), "log.jsonl"))
    assert message.startswith(f"FILE: tokens is {what} in line 2: mend the file")


def test_several_bad_lines_are_named(write: Write) -> None:
    rows = ["5", "-1", "8", *["x"] * 7]
    message = refusal(write("tokens,id\n" + "".join(f"{one},i\n" for one in rows)))
    assert "in line 3 (as bad: line 5, 6, 7, 8, 9 and 2 more)" in message


def test_a_short_row(write: Write) -> None:
    assert "tokens is missing in line 3" in refusal(write("id,tokens\n1,5\n2\n"))


def test_one_row(write: Write) -> None:
    assert "one answer (line 2): a distribution has two at least" in refusal(
        write("tokens,x\n5,a\n")
    )


def test_all_equal(write: Write) -> None:
    message = refusal(write("tokens,x\n" + "128,a\n" * 5))
    assert "all 5 lengths are 128 (lines 2 to 6), which is no distribution" in message


def test_only_failures(write: Write) -> None:
    assert "has no answer" in refusal(write("tokens,finish\n5,error\n"))


def test_text_in_another_encoding(write: Write) -> None:
    assert "line 2: no UTF-8" in refusal(write(b"tokens,name\n5,caf\xe9\n"))


def test_json_that_is_none(write: Write) -> None:
    assert "line 2: no JSON object" in refusal(write('{"tokens": 5}\n{"tokens": \n', "a.jsonl"))
    assert "begins with a list" in refusal(write('[{"tokens": 5}]', "a.json"))


def test_a_cell_that_is_endless(write: Write) -> None:
    assert "line 2: no row of a table" in refusal(write('tokens,x\n5,"' + "a" * 200_000 + "\n"))


@pytest.mark.parametrize("path", ["nowhere.csv", ".", "a\0b"])
def test_files_that_cannot_be_read(path: str) -> None:
    assert "cannot read " in refusal(path)


def test_a_line_with_nothing_in_it_is_no_row_and_one_with_an_empty_cell_is(write: Write) -> None:
    assert lengths(write("tokens\n5\n\n  \n8\n\n")) == [5, 8]
    assert "tokens is empty in line 3" in refusal(write('tokens\n5\n""\n8\n'))
    assert "tokens is empty in line 3" in refusal(write("tokens,x\n5,a\n,\n8,c\n"))
