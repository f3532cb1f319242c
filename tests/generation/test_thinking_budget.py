"""A reasoning block that is closed after so many tokens, and nothing else touched."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from nextok.generation.model import Logits
from nextok.generation.reasoning import STYLES, ReasoningSplitter, SpanKind
from nextok.generation.thinking_budget import ThinkingBudget

ROW: Sequence[float] = []


class Thinker:
    """A sampler that says what it is told to, and counts what it was given to accept."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.accepted = ""
        self.reset()

    def sample(self, logits: Logits) -> int:
        token = next(self._tokens)
        self.accepted += chr(token)
        return token

    def accept(self, token: int) -> None:
        self.accepted += chr(token)

    def reset(self) -> None:
        self._tokens = itertools.chain(map(ord, self._text), itertools.repeat(ord(".")))


def said(thinker: Thinker, count: int, *, budget: int, opened: str | None = None) -> str:
    """The first `count` tokens, a character each, as whoever reads along has split them."""
    splitter = ReasoningSplitter(opened)
    sampler = ThinkingBudget(
        thinker,
        budget=budget,
        in_reasoning=lambda: splitter.in_reasoning,
        closing=lambda: [ord(character) for character in f"{splitter.closing}\n"],
    )
    text = ""
    for _ in range(count):
        text += chr(sampler.sample(ROW))
        splitter.feed(text[-1])
    return text


def test_it_closes_the_block_after_the_budget() -> None:
    thinker = Thinker("abcdefgh")
    assert said(thinker, 15, budget=3, opened="<think>") == "abc</think>\ndef"
    assert thinker.accepted == "abc</think>\ndef"


def test_a_block_that_the_model_opens_and_its_tag_does_not_count() -> None:
    text = said(Thinker("<think>abcdefgh"), 22, budget=3)
    assert text == "<think>abc</think>\ndef"


def test_no_budget_closes_at_once() -> None:
    assert said(Thinker("abc"), 12, budget=0, opened="<think>") == "</think>\nabc"
    assert said(Thinker("<think>abc"), 19, budget=0) == "<think></think>\nabc"


def test_a_model_that_does_not_reason_is_left_alone() -> None:
    assert said(Thinker("The <think> tag"), 15, budget=0) == "The <think> tag"


def test_a_model_that_stops_in_time_is_left_alone() -> None:
    text = "ab</think>then a long answer"
    assert said(Thinker(text), len(text), budget=10, opened="<think>") == text


def test_a_closing_tag_that_the_model_has_begun_is_its_own() -> None:
    text = "ab</think>answer"
    for budget in (3, 4, 9):
        assert said(Thinker(text), len(text), budget=budget, opened="<think>") == text
    assert said(Thinker("ab</thing"), 18, budget=3, opened="<think>") == "ab</thing</think>\n"


def test_it_interferes_once() -> None:
    """A block after the closed one is the model's own affair."""
    analysis, final = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
    thinker = Thinker(f"{analysis}abcd{analysis}efghijkl<|end|>{final}m")
    text = said(thinker, 120, budget=2)
    assert text.startswith(f"{analysis}ab<|end|>\ncd")
    assert text.count("<|end|>") == 2


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.opening)
def test_the_tag_is_the_one_of_the_open_block(style: object) -> None:
    opening, closing = style.opening, style.closing  # type: ignore[attr-defined]
    text = said(Thinker(opening + "x" * 9), len(opening + closing) + 6, budget=2)
    assert text == f"{opening}xx{closing}\nxxx"
    splitter = ReasoningSplitter()
    answer = [words for kind, words in splitter.feed(text) if kind is SpanKind.ANSWER]
    assert answer == ["xxx"]


def test_reset_gives_the_budget_back() -> None:
    sampler = ThinkingBudget(
        Thinker("abcdef"), budget=2, in_reasoning=lambda: True, closing=lambda: [ord("|")]
    )
    first = "".join(chr(sampler.sample(ROW)) for _ in range(5))
    sampler.reset()
    assert first == "".join(chr(sampler.sample(ROW)) for _ in range(5)) == "ab|cd"


def test_accepted_tokens_reach_the_inner_sampler() -> None:
    thinker = Thinker("")
    ThinkingBudget(thinker, budget=2, in_reasoning=lambda: True, closing=list).accept(ord("x"))
    assert thinker.accepted == "x"
