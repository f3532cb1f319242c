"""Tells a model's reasoning from its answer, in a text that arrives piece by piece.

Promises the same spans however the text was cut, and holds back only what may be the head of a
tag. A block opens at the very beginning of a reply or not at all: a tag further on is something
the answer talks about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple


class SpanKind(Enum):
    """What a piece of a reply is."""

    ANSWER = "answer"
    REASONING = "reasoning"
    TAG = "tag"
    """The marks around reasoning, with the white space that sets them off from the answer."""


class TagStyle(NamedTuple):
    """How a family of models fences its reasoning."""

    opening: str
    closing: str
    reopenings: tuple[str, ...] = ()
    """Tags that may follow the closing one and begin another block."""
    answers: tuple[str, ...] = ()
    """Tags that may follow the closing one, or stand at the very beginning, before an answer."""


_ANALYSIS = "<|channel|>analysis<|message|>"
_FINAL = "<|channel|>final<|message|>"
_ASSISTANT = "<|start|>assistant"

STYLES = (
    TagStyle("<think>", "</think>"),
    TagStyle("<thinking>", "</thinking>"),
    TagStyle("<thought>", "</thought>"),
    TagStyle("<reasoning>", "</reasoning>"),
    TagStyle("[THINK]", "[/THINK]"),
    TagStyle("<seed:think>", "</seed:think>"),
    TagStyle("<|channel>thought", "<channel|>"),
    TagStyle("<|START_THINKING|>", "<|END_THINKING|>", answers=("<|START_RESPONSE|>",)),
    TagStyle(
        _ANALYSIS,
        "<|end|>",
        reopenings=(_ASSISTANT + _ANALYSIS, _ANALYSIS),
        answers=(_ASSISTANT + _FINAL, _FINAL),
    ),
)

Span = tuple[SpanKind, str]


def opened_by(prompt: str) -> str | None:
    """The opening tag that a rendered prompt ends with, so that the reply begins inside it."""
    end = prompt.rstrip()
    return next((style.opening for style in STYLES if end.endswith(style.opening)), None)


class ReasoningSplitter:
    """Text pieces in, spans out. `opened` is the opening tag that the prompt ends with, if any.

    A `--prefill` is the beginning of the reply: feed it first.
    """

    def __init__(self, opened: str | None = None) -> None:
        self._style = next((style for style in STYLES if style.opening == opened), None)
        self._blank: list[str] = []
        """White space before the first tag or word: whose it is, is not known yet."""
        self._held = ""
        if self._style is None:
            self._openings = {style.opening: style for style in STYLES}
            self._answers = [tag for style in STYLES for tag in style.answers]
            self._otherwise = SpanKind.ANSWER
        else:
            # Some models write the tag again that the template has written for them.
            self._openings = {self._style.opening: self._style}
            self._answers = []
            self._otherwise = SpanKind.REASONING
        self._state = self._at_start

    @property
    def in_reasoning(self) -> bool:
        """Whether a block is open, and not being closed: its closing tag is no reasoning."""
        if self._state == self._at_start:
            return self._otherwise is SpanKind.REASONING
        return self._state == self._in_reasoning and not self._held

    @property
    def closing(self) -> str | None:
        """The tag that closes the open block; None if none is open."""
        return self._style.closing if self._style and self.in_reasoning else None

    def feed(self, text: str) -> list[Span]:
        """The spans that are certain now, in order; adjacent ones differ in kind."""
        return _joined(self._run(text))

    def close(self) -> list[Span]:
        """The reply has ended: what was held is no tag. An unclosed block is all reasoning."""
        held, self._held = "".join(self._blank) + self._held, ""
        self._blank = []
        if self._state == self._in_reasoning:
            return [(SpanKind.REASONING, held)] if held else []
        return [(self._otherwise, held)] if held else []

    def _run(self, text: str) -> Iterator[Span]:
        rest = self._held + text
        self._held = ""
        while rest:
            span, rest = self._state(rest)
            if span[1]:
                yield span

    # Each state takes the text at hand to one span and what is left to look at.

    def _at_start(self, text: str) -> tuple[Span, str]:
        """Before anything but white space was said."""
        word = text.lstrip()
        self._blank.append(text[: len(text) - len(word)])
        if _may_become(word, (*self._openings, *self._answers)):
            self._held = word
            return (SpanKind.TAG, ""), ""
        blank = "".join(self._blank)
        self._blank = []
        span, rest = self._tag(word)
        if span[0] is SpanKind.TAG:
            return (SpanKind.TAG, blank + span[1]), rest
        self._state = self._in_answer
        if self._otherwise is SpanKind.REASONING:
            self._state = self._in_reasoning
            return (SpanKind.REASONING, blank), word
        return (SpanKind.ANSWER, blank + word), ""

    def _after_block(self, text: str) -> tuple[Span, str]:
        """Behind a closing tag: white space, another block, or the answer."""
        word = text.lstrip()
        if len(word) < len(text):
            return (SpanKind.TAG, text[: len(text) - len(word)]), word
        if _may_become(word, (*self._openings, *self._answers)):
            self._held = word
            return (SpanKind.TAG, ""), ""
        span, rest = self._tag(word)
        if span[0] is not SpanKind.TAG:
            self._state = self._in_answer
        return span, rest

    def _tag(self, word: str) -> tuple[Span, str]:
        """The tag that `word` begins with, or all of it as answer."""
        for tag, style in self._openings.items():
            if word.startswith(tag):
                self._style, self._state = style, self._in_reasoning
                return (SpanKind.TAG, tag), word[len(tag) :]
        for tag in self._answers:
            if word.startswith(tag):
                self._openings, self._answers = {}, []
                self._otherwise, self._state = SpanKind.ANSWER, self._after_block
                return (SpanKind.TAG, tag), word[len(tag) :]
        return (SpanKind.ANSWER, word), ""

    def _in_reasoning(self, text: str) -> tuple[Span, str]:
        style = self._style or STYLES[0]
        start = text.find(style.closing)
        if start < 0:
            safe = len(text) - _overlap(text, style.closing)
            self._held = text[safe:]
            return (SpanKind.REASONING, text[:safe]), ""
        if start > 0:
            return (SpanKind.REASONING, text[:start]), text[start:]
        self._openings = dict.fromkeys(style.reopenings, style)
        self._answers = list(style.answers)
        self._otherwise, self._state = SpanKind.ANSWER, self._after_block
        return (SpanKind.TAG, style.closing), text[len(style.closing) :]

    def _in_answer(self, text: str) -> tuple[Span, str]:
        return (SpanKind.ANSWER, text), ""


def _may_become(word: str, tags: Sequence[str]) -> bool:
    """Whether more text could still make `word` begin with one of the tags, and does not yet."""
    return any(len(word) < len(tag) and tag.startswith(word) for tag in tags)


def _overlap(text: str, tag: str) -> int:
    """How many of the tag's first characters `text` ends with, short of all of them."""
    longest = min(len(tag) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)


def _joined(spans: Iterator[Span]) -> list[Span]:
    joined: list[Span] = []
    for kind, text in spans:
        if joined and joined[-1][0] is kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    return joined
