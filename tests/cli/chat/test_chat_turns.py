"""The commands about the last turn and about branches, at a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Talk = Callable[..., Any]
Build = Callable[..., Path]


def test_a_message_gets_a_reply(talk: Talk, emoji_gguf: Path) -> None:
    chat = talk(emoji_gguf)
    assert chat.say("hello")[0] == "Hi 😀 bye"
    assert chat.messages() == ["hello", "Hi 😀 bye"]
    assert chat.leave() == 0
    assert not chat.left_behind()
