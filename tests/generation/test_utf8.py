"""Incremental UTF-8: whole characters, whatever the pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nextok.generation.utf8 import Utf8


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_any_split_of_any_bytes_gives_the_same_text(data: bytes, cuts: list[int]) -> None:
    utf8 = Utf8()
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    text = "".join(utf8.feed(piece) for piece in pieces) + utf8.close(cut=False)
    assert text == data.decode("utf-8", errors="replace")


def test_a_character_appears_with_its_last_byte() -> None:
    utf8 = Utf8()
    assert [utf8.feed(bytes([byte])) for byte in "😀".encode()] == ["", "", "", "😀"]


def test_half_a_character_we_cut_off_was_never_said() -> None:
    utf8 = Utf8()
    assert utf8.feed("é".encode()[:1]) == ""
    assert utf8.close(cut=True) == ""


def test_half_a_character_the_model_left_is_shown_as_such() -> None:
    utf8 = Utf8()
    assert utf8.feed("é".encode()[:1]) == ""
    assert utf8.close(cut=False) == "\ufffd"
