"""Tab: the suggestions for the text before the cursor, as prompt_toolkit wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.buffer import Buffer, CompletionState
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    get_common_complete_suffix,
)
from prompt_toolkit.document import Document

from nextok.cli.chat.editor import Suggestion
from nextok.cli.console import one_line


class SuggestionCompleter(Completer):
    """Asks a function that knows nothing of prompt_toolkit."""

    def __init__(self, complete: Callable[[str], Iterable[Suggestion]]) -> None:
        self._complete = complete

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        for found in self._found(document.text_before_cursor):
            yield Completion(
                found.text,
                start_position=found.start_position,
                display=one_line(found.text),
                display_meta=one_line(found.meta),
            )

    def _found(self, text: str) -> list[Suggestion]:
        try:
            return list(self._complete(text))
        except Exception:
            return []  # sending the text will say what is wrong; a TAB must not


def complete_next(buffer: Buffer) -> None:
    """Complete what is certain at once; where there is a choice, show it, then walk through it."""
    if buffer.complete_state:
        buffer.complete_next()
        return
    found = _completions(buffer)
    certain = get_common_complete_suffix(buffer.document, found)
    if len(found) == 1:
        buffer.apply_completion(found[0])
        return
    if certain:
        buffer.insert_text(certain)
        found = _completions(buffer)
    if found:  # at once, not in a task: the next key may have arrived already
        buffer.complete_state = CompletionState(buffer.document, found)


def _completions(buffer: Buffer) -> list[Completion]:
    assert buffer.completer is not None
    event = CompleteEvent(completion_requested=True)
    return list(buffer.completer.get_completions(buffer.document, event))
