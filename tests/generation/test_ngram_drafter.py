"""Guesses that are looked up in the text itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.generation.ngram_drafter import NgramDrafter


def after(text: Sequence[int] | bytes, limit: int = 5, *, prompt: int = 0) -> list[int]:
    """What is guessed after a text that was seen at once, or token after token after the prompt."""
    drafter = NgramDrafter()
    history = list(text[:prompt])
    drafter.reset(history)
    for token in text[prompt:]:
        history.append(token)
        guess = drafter.propose(history, limit)
    return list(guess) if prompt < len(text) else list(drafter.propose(history, limit))


def test_what_was_said_before_is_said_again() -> None:
    text = b"the cat sat on the mat. the cat"
    assert bytes(after(text, prompt=len(text))) == b" sat "
    assert bytes(after(text)) == b" sat "


def test_nothing_is_guessed_where_nothing_is_known() -> None:
    assert after(b"") == []
    assert after(b"abcdefg") == []
    assert after(b"abcdea") == []  # one token is no match


def test_the_longest_match_wins_over_the_last_one() -> None:
    assert bytes(after(b"1234xy..34zz..1234", limit=2)) == b"xy"


def test_of_matches_as_long_the_last_one_wins() -> None:
    assert bytes(after(b"abc1..abc2..abc", limit=1)) == b"2"


def test_a_copy_is_followed_even_where_its_words_came_again() -> None:
    """A longer match than any n-gram in the index: the last `abcd` is not where it goes on."""
    assert bytes(after(b"Uabcdef, abcdXY, Uabcd", limit=2)) == b"ef"


def test_a_word_that_was_replaced_does_not_end_the_copy() -> None:
    assert bytes(after(b"one two three four. one six", limit=6, prompt=20)) == b" three"


def test_a_place_that_is_wrong_again_and_again_is_left() -> None:
    assert after(b"abcdefghijklmnop abcd12345", prompt=17) == []


def test_a_text_that_repeats_itself_goes_on_doing_so() -> None:
    assert bytes(after(b"la li la li la ", limit=12)) == b"li la li la "
    assert bytes(after(b"aaaa", limit=4)) == b"aaaa"


def test_another_text_begins_with_an_empty_index() -> None:
    drafter = NgramDrafter()
    drafter.reset(b"abcdef")  # type: ignore[arg-type]
    drafter.reset(list(b"xyzab"))
    assert drafter.propose(list(b"xyzab"), 3) == []
    assert drafter.propose(list(b"xyzabxyz"), 3) == list(b"abx")


def test_a_token_is_looked_at_once() -> None:
    """However long the text: a list that counts how often it was asked."""

    class Counting(list[int]):
        asked = 0

        def __getitem__(self, key: object) -> object:  # type: ignore[override]
            Counting.asked += 1
            return super().__getitem__(key)  # type: ignore[index]

    drafter, history = NgramDrafter(), Counting(range(5000))
    drafter.reset(history)
    Counting.asked = 0
    for token in range(100):
        history.append(token)
        drafter.propose(history, 62)
    assert Counting.asked < 100 * 12


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 62))
def test_seen_at_once_or_one_by_one_there_are_guesses_of_the_right_length(
    text: list[int], limit: int
) -> None:
    for prompt in (0, len(text) // 2, len(text)):
        guess = after(text, limit, prompt=prompt) if text else []
        assert len(guess) in (0, limit)
        assert set(guess) <= set(text)
    # A pair of tokens that came before is always found.
    pair = tuple(text[-2:])
    if len(pair) == 2 and pair in zip(text[:-2], text[1:-1], strict=True):
        assert after(text, limit, prompt=len(text))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_many_tokens_at_once_are_indexed_like_single_ones(count: int) -> None:
    text = list(b"one two one three one two one three one ")
    drafter, history = NgramDrafter(), list[int]()
    drafter.reset([])
    for start in range(0, len(text), count):
        history.extend(text[start : start + count])
        guess = drafter.propose(history, 4)
    assert bytes(guess) == b"two "
