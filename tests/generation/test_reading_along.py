"""A sampler that knows whether the model is reasoning, at once."""

from __future__ import annotations

from nextok.generation.model import Logits
from nextok.generation.reading_along import ReadingAlong
from nextok.generation.reasoning import ReasoningSplitter

ROW: list[float] = []


class Saying:
    """Says a text, a byte a token, and counts what it was given."""

    def __init__(self, text: str) -> None:
        self._rest = list(text.encode())
        self.accepted: list[int] = []
        self.resets = 0

    def sample(self, logits: Logits) -> int:
        return self._rest.pop(0)

    def accept(self, token: int) -> None:
        self.accepted.append(token)

    def reset(self) -> None:
        self.resets += 1


def reading(text: str, opened: str | None = None) -> tuple[ReadingAlong, Saying]:
    inner = Saying(text)
    return ReadingAlong(inner, ReasoningSplitter(opened), lambda token: bytes([token])), inner


def test_what_is_drawn_is_read() -> None:
    text = "<think>é</think>answer"
    sampler, _ = reading(text)
    seen = ""
    for byte in text.encode():
        assert sampler.sample(ROW) == byte
        seen += "r" if sampler.splitter.in_reasoning else "."
    # From the last byte of the opening tag to the first of the closing one.
    assert seen == "......" + "rrr" + "." * len("</think>answer")


def test_what_is_forced_is_read_too() -> None:
    sampler, inner = reading("ab", opened="<think>")
    assert sampler.splitter.in_reasoning
    sampler.sample(ROW)
    for byte in b"</think>\n\n":
        sampler.accept(byte)
    assert bytes(inner.accepted) == b"</think>\n\n"
    assert not sampler.splitter.in_reasoning


def test_a_reset_is_handed_on() -> None:
    sampler, inner = reading("")
    sampler.reset()
    assert inner.resets == 1
