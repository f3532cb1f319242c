"""Stop strings: any split of the text gives the same answer, and it is the right one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.generation.stops import StopMatcher


def run(stops: list[str], pieces: list[str]) -> tuple[str, str | None]:
    matcher = StopMatcher(stops)
    out = ""
    for piece in pieces:
        out += matcher.feed(piece)
        if matcher.found is not None:
            return out, matcher.found
    out += matcher.close()
    return out, matcher.found


def reference(stops: list[str], text: str) -> tuple[str, str | None]:
    """Look at the whole text: the earliest start, then the shortest."""
    found = [(text.find(stop), len(stop), stop) for stop in stops if stop in text]
    if not found:
        return text, None
    start, _, stop = min(found)
    return text[:start], stop


@given(
    st.lists(st.text("ab", min_size=1, max_size=5), max_size=4),
    st.lists(st.text("ab", max_size=4), max_size=12),
)
def test_every_split_gives_the_earliest_start(stops: list[str], pieces: list[str]) -> None:
    assert run(stops, pieces) == reference(stops, "".join(pieces))


@given(
    st.lists(st.text(min_size=1, max_size=4), max_size=3),
    st.lists(st.text(max_size=6), max_size=8),
)
def test_any_characters(stops: list[str], pieces: list[str]) -> None:
    assert run(stops, pieces) == reference(stops, "".join(pieces))


@pytest.mark.parametrize("stops", [["abcd", "bc"], ["bc", "abcd"]])
def test_an_earlier_start_wins_though_it_ends_later(stops: list[str]) -> None:
    assert run(stops, list("xabcdy")) == ("x", "abcd")
    assert run(stops, list("xabcey")) == ("xa", "bc")
    assert run(stops, list("xabc")) == ("xa", "bc")


def test_a_prefix_of_another_stop_needs_no_waiting() -> None:
    matcher = StopMatcher(["END", "EN"])
    assert matcher.feed("the EN") == "the "
    assert matcher.found == "EN"


def test_text_is_held_back_no_longer_than_it_is_ambiguous() -> None:
    matcher = StopMatcher(["</s>"])
    assert matcher.feed("a<") == "a"
    assert matcher.feed("/") == ""
    assert matcher.feed("p>") == "</p>"
    assert matcher.feed("b </") == "b "
    assert matcher.close() == "</"


def test_without_stops_text_passes_untouched() -> None:
    assert run([], ["a", "", "b"]) == ("ab", None)
