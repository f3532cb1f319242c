"""Which models can guess for which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nextok.backends.draft_vocabulary import check_can_draft
from nextok.backends.llama_weights import LlamaWeights
from nextok.backends.options import LoadOptions
from nextok.backends.toy import Toy
from nextok.backends.weights import Weights
from nextok.generation.abort import Abort
from nextok.generation.errors import ModelError

Build = Callable[..., Path]


def load(path: Path) -> LlamaWeights:
    return LlamaWeights.load(path, LoadOptions(vocabulary_only=True), Abort())


def check(draft: Path | None, target: Path | None) -> None:
    """None is the toy."""
    models: list[Weights] = [Toy() if path is None else load(path) for path in (draft, target)]
    try:
        check_can_draft(*models)
    finally:
        for model in models:
            model.close()


def test_a_model_can_draft_for_itself(loop_gguf: Path, starter_gguf: Path) -> None:
    check(loop_gguf, loop_gguf)
    check(starter_gguf, starter_gguf)
    check(None, None)


def test_a_vocabulary_may_be_padded(scripted: Build) -> None:
    """Here by less than 128 tokens that are not the other's."""
    draft = scripted(["one ", "two "], stem="draft")
    target = scripted(["one ", "two ", *(f"word{number} " for number in range(60))], stem="target")
    with pytest.raises(ModelError, match=r"its token 26\d is '<pad"):  # padding that is in use
        check(draft, target)
    check(draft, scripted(["one ", "two "], loop=True, stem="other"))


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ("starter_gguf", "its vocabulary is of another kind"),
        ("toy", "its vocabulary is of another kind"),
        ("emoji_gguf", r"its token 26\d is "),
        ("recurrent_gguf", "has|is"),
    ],
)
def test_another_vocabulary_is_refused(
    request: pytest.FixtureRequest, loop_gguf: Path, draft: str, reason: str
) -> None:
    path = None if draft == "toy" else request.getfixturevalue(draft)
    with pytest.raises(ModelError, match=rf"cannot draft for loop: .*{reason}.*same family"):
        check(path, loop_gguf)


def test_a_much_larger_vocabulary_is_refused(scripted: Build, loop_gguf: Path) -> None:
    large = scripted(["la ", "li ", *(f"word{number} " for number in range(300))], stem="large")
    with pytest.raises(ModelError, match=r"it has \d+ tokens, not \d+"):
        check(loop_gguf, large)


def test_other_special_tokens_are_refused(scripted: Build, loop_gguf: Path) -> None:
    ends = scripted(["la ", "li "], loop=True, eos="<|end|>", stem="ends")
    with pytest.raises(ModelError, match=r"its eos token is '</s>', not '<\|end\|>'"):
        check(loop_gguf, ends)
    begins = scripted(["la ", "li "], loop=True, add_bos=False, stem="begins")
    with pytest.raises(ModelError, match="its texts begin with token 1, not None"):
        check(loop_gguf, begins)


def test_a_memory_that_cannot_be_cut_cannot_take_guesses_back(recurrent_gguf: Path) -> None:
    with pytest.raises(ModelError, match="its memory is a state"):
        check(recurrent_gguf, recurrent_gguf)
