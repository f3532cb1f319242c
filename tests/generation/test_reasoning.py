"""Reasoning told from answers: each style of tags, whatever way the text was cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nextok.generation.reasoning import STYLES, ReasoningSplitter, Span, SpanKind, opened_by

ANSWER, REASONING, TAG = SpanKind.ANSWER, SpanKind.REASONING, SpanKind.TAG
ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"


def split(pieces: list[str], opened: str | None = None) -> list[Span]:
    splitter = ReasoningSplitter(opened)
    joined: list[Span] = []
    spans = [span for piece in pieces for span in splitter.feed(piece)] + splitter.close()
    for kind, text in spans:
        assert text
        if joined and joined[-1][0] is kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    return joined


CASES = [
    (None, "Hello <think>", [(ANSWER, "Hello <think>")]),
    (None, " \n hi", [(ANSWER, " \n hi")]),
    (None, " \n ", [(ANSWER, " \n ")]),
    (None, "<thi", [(ANSWER, "<thi")]),
    (None, "<thinker>", [(ANSWER, "<thinker>")]),
    (
        None,
        "<think>why</think>\n\nso",
        [(TAG, "<think>"), (REASONING, "why"), (TAG, "</think>\n\n"), (ANSWER, "so")],
    ),
    (
        None,
        "\n<think></think>so\n",
        [(TAG, "\n<think></think>"), (ANSWER, "so\n")],
    ),
    (
        None,
        "<thinking>a </think> b</thinking>c",
        [(TAG, "<thinking>"), (REASONING, "a </think> b"), (TAG, "</thinking>"), (ANSWER, "c")],
    ),
    (
        None,
        "<think>a</think>b<think>c</think>",
        [
            (TAG, "<think>"),
            (REASONING, "a"),
            (TAG, "</think>"),
            (ANSWER, "b<think>c</think>"),
        ],
    ),
    (None, "<think>never </thi", [(TAG, "<think>"), (REASONING, "never </thi")]),
    (None, "<think>a<<</think>", [(TAG, "<think>"), (REASONING, "a<<"), (TAG, "</think>")]),
    ("<think>", "why</think> so", [(REASONING, "why"), (TAG, "</think> "), (ANSWER, "so")]),
    ("<think>", "\nwhy", [(REASONING, "\nwhy")]),
    ("<think>", " ", [(REASONING, " ")]),
    ("<think>", "<thi", [(REASONING, "<thi")]),
    (
        "<think>",
        "<think>\nwhy</think>",
        [(TAG, "<think>"), (REASONING, "\nwhy"), (TAG, "</think>")],
    ),
    ("[THINK]", "a[/THINK]b", [(REASONING, "a"), (TAG, "[/THINK]"), (ANSWER, "b")]),
    (
        None,
        f"{ANALYSIS}a<|end|><|start|>assistant{FINAL}b",
        [
            (TAG, ANALYSIS),
            (REASONING, "a"),
            (TAG, f"<|end|><|start|>assistant{FINAL}"),
            (ANSWER, "b"),
        ],
    ),
    (
        None,
        f"{ANALYSIS}a<|end|><|start|>assistant{ANALYSIS}b<|end|>{FINAL}c",
        [
            (TAG, ANALYSIS),
            (REASONING, "a"),
            (TAG, f"<|end|><|start|>assistant{ANALYSIS}"),
            (REASONING, "b"),
            (TAG, f"<|end|>{FINAL}"),
            (ANSWER, "c"),
        ],
    ),
    (None, f"{FINAL}b", [(TAG, FINAL), (ANSWER, "b")]),
    (None, f"{FINAL}<think>b", [(TAG, FINAL), (ANSWER, "<think>b")]),
    (
        None,
        "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b",
        [
            (TAG, "<|START_THINKING|>"),
            (REASONING, "a"),
            (TAG, "<|END_THINKING|><|START_RESPONSE|>"),
            (ANSWER, "b"),
        ],
    ),
]


@pytest.mark.parametrize(("opened", "text", "spans"), CASES)
def test_whole_and_letter_by_letter(opened: str | None, text: str, spans: list[Span]) -> None:
    assert split([text], opened) == spans
    assert split(list(text), opened) == spans


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.opening)
def test_every_style_opens_and_closes(style: object) -> None:
    opening, closing = style.opening, style.closing  # type: ignore[attr-defined]
    spans = [(TAG, opening), (REASONING, "r"), (TAG, closing + "\n"), (ANSWER, "a")]
    assert split(list(f"{opening}r{closing}\na")) == spans
    assert opened_by(f"prompt{opening}\n") == opening


WORDS = st.sampled_from(
    [tag for style in STYLES for tag in (style.opening, style.closing, *style.answers)]
    + ["<", "</", "think", ">", " ", "\n", "a", "[", "<|", "é"]
)


@given(
    st.lists(WORDS, max_size=12).map("".join),
    st.lists(st.integers(0, 200), max_size=20),
    st.sampled_from([None, "<think>", "[THINK]", ANALYSIS]),
)
def test_any_cut_gives_the_same_spans(text: str, cuts: list[int], opened: str | None) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in zip(places, places[1:], strict=False)]
    spans = split(pieces, opened)
    assert spans == split([text], opened)
    assert "".join(part for _, part in spans) == text


def test_only_the_head_of_a_tag_is_held_back() -> None:
    splitter = ReasoningSplitter()
    assert splitter.feed("<") == []
    assert splitter.feed("b") == [(ANSWER, "<b")]
    assert splitter.feed("<") == [(ANSWER, "<")]
    splitter = ReasoningSplitter("<think>")
    assert splitter.feed("so </") == [(REASONING, "so ")]
    assert splitter.feed("b") == [(REASONING, "</b")]
    assert splitter.feed("</think>\n") == [(TAG, "</think>\n")]
    assert splitter.feed("<") == [(ANSWER, "<")]


@pytest.mark.parametrize("prompt", ["", "a <think> b", "<think></think>\n\n", "think>"])
def test_a_prompt_that_does_not_end_in_an_opening_tag(prompt: str) -> None:
    assert opened_by(prompt) is None


def test_it_says_whether_a_block_is_open_and_what_closes_it() -> None:
    """Not while a closing tag is being written: that is no reasoning."""
    splitter = ReasoningSplitter()
    seen = []
    for piece in ("\n<thi", "nking>", "why", " </thi", "nking>", "\n", "so", " <think>"):
        splitter.feed(piece)
        seen.append(splitter.closing)
        assert splitter.in_reasoning == (splitter.closing is not None)
    assert seen == [None, "</thinking>", "</thinking>", *[None] * 5]


@pytest.mark.parametrize("first", ["", " ", "<thi", "<think>", "why"])
def test_a_block_that_the_prompt_opened_is_open_from_the_start(first: str) -> None:
    splitter = ReasoningSplitter("<think>")
    splitter.feed(first)
    assert (splitter.in_reasoning, splitter.closing) == (True, "</think>")
    splitter.feed(" x</think>")
    assert (splitter.in_reasoning, splitter.closing) == (False, None)


def test_a_second_block_is_open_too() -> None:
    splitter = ReasoningSplitter()
    splitter.feed(f"{ANALYSIS}a<|end|>")
    assert not splitter.in_reasoning
    splitter.feed(ANALYSIS)
    assert splitter.closing == "<|end|>"
    splitter.feed(f"b<|end|>{FINAL}c")
    assert not splitter.in_reasoning


def test_what_only_looked_like_a_closing_tag_was_reasoning() -> None:
    splitter = ReasoningSplitter("<think>")
    splitter.feed("a </thi")
    assert not splitter.in_reasoning
    splitter.feed("ng>")
    assert splitter.in_reasoning
