"""Whether one model can guess for another: only if both say the same with the same tokens.

Nothing wrong would be said otherwise, for each guess is verified; but none would come true, and
whoever named the wrong file should hear of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from nextok.backends.weights import LoadedTokenizer, Weights
from nextok.generation.errors import ModelError

_MOST_PADDING = 128
"""Tokens by which vocabularies may differ at their end: families pad them to round numbers
(llama.cpp, common/speculative.cpp, SPEC_VOCAB_MAX_SIZE_DIFFERENCE)."""
_ALL_BELOW, _STRIDE = 1024, 61
"""Every token below, and one in so many above, is compared: other vocabularies differ in most."""


def check_can_draft(draft: Weights, target: Weights) -> None:
    """ModelError, with the first difference found, if `draft` cannot guess for `target`."""
    difference = first_difference(draft.tokenizer, target.tokenizer)
    if difference is not None:
        raise ModelError(
            f"{draft.name} cannot draft for {target.name}: {difference}; --draft needs a smaller "
            "model of the same family"
        )
    if not draft.memory_can_be_cut:
        raise ModelError(
            f"{draft.name} cannot draft: its memory is a state, from which guesses cannot be "
            "taken back; --draft needs another model"
        )


def first_difference(draft: LoadedTokenizer, target: LoadedTokenizer) -> str | None:
    """In what the first one's tokens are not the second one's, but for padding at the end."""
    return next(_differences(draft, target), None)


def _differences(draft: LoadedTokenizer, target: LoadedTokenizer) -> Iterator[str]:
    if draft.kind != target.kind:
        yield "its vocabulary is of another kind"
    if abs(len(draft) - len(target)) > _MOST_PADDING:
        yield f"it has {len(draft)} tokens, not {len(target)}"
    if draft.bos != target.bos:
        yield f"its texts begin with token {draft.bos}, not {target.bos}"
    for name in ("bos", "eos"):
        ours, theirs = draft.special_text(name), target.special_text(name)
        if ours != theirs:
            yield f"its {name} token is {ours!r}, not {theirs!r}"
    for token in _compared(min(len(draft), len(target))):
        ours, theirs = draft.text(token), target.text(token)
        if ours != theirs:
            yield f"its token {token} is {ours!r}, not {theirs!r}"


def _compared(size: int) -> Iterator[int]:
    yield from range(min(size, _ALL_BELOW))
    yield from range(_ALL_BELOW, size, _STRIDE)
