"""Keys made of what a terminal sends."""

from __future__ import annotations

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from nextok.cli.chat.editor_terminal import KeyParser

SENT = "a\x1b[200~one\x1b[201 two\x1b\x1b[201~b\x1b[A\x1b[200~\x1b[201~c"
KEYS = [
    ("a", "a"),
    (Keys.BracketedPaste, "one\x1b[201 two\x1b"),
    ("b", "b"),
    (Keys.Up, "\x1b[A"),
    (Keys.BracketedPaste, ""),
    ("c", "c"),
]


@pytest.mark.parametrize("size", range(1, len(SENT) + 1))
def test_pastes_come_in_pieces_of_any_size(size: int) -> None:
    keys: list[KeyPress] = []
    parser = KeyParser(keys.append)
    for start in range(0, len(SENT), size):
        parser.feed(SENT[start : start + size])
    assert [(key.key, key.data) for key in keys] == KEYS
    assert not parser.is_in_paste
