"""A reply without any layout."""

from __future__ import annotations

import pytest

from nextok.cli.chat.markdown_plain import PlainStream


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        (["# a", " **b**  c\n\n", "\td"], "# a **b**  c\n\n\td\n"),
        (["a\n"], "a\n"),
        (["", ""], ""),
        ([], ""),
    ],
)
def test_the_text_is_left_as_it_is_and_its_last_line_ended(pieces: list[str], written: str) -> None:
    out: list[str] = []
    stream = PlainStream(out.append)
    for piece in pieces:
        stream.feed(piece)
    stream.close()
    assert "".join(out) == written


def test_it_knows_where_the_cursor_is() -> None:
    stream = PlainStream(lambda text: None)
    assert stream.at_line_start
    stream.feed("a\n中b")
    assert (stream.at_line_start, stream.column) == (False, 3)
    stream.feed("\n")
    assert (stream.at_line_start, stream.column) == (True, 0)
