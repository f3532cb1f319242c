"""Commands about the hands: files in, replies out, and the door."""

from __future__ import annotations

import os
import shlex

from nextok.cli.chat.between import interruptible
from nextok.cli.chat.clipboard import put_on_clipboard
from nextok.cli.chat.desk import Attached, Desk
from nextok.cli.prompt import read_file
from nextok.cli.prompting import check_plausible
from nextok.generation.errors import UsageError


def attach(desk: Desk, rest: str) -> None:
    """The next message begins with the files, as with -f; one that waits already is read anew."""
    if not rest:
        raise UsageError("/file takes the paths of files")
    try:
        paths = shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"/file: {error}: quote what belongs together") from error
    encoding = desk.session.resolved.prompt.encoding
    with interruptible():
        texts = [read_file(path, encoding) for path in paths]
    sizes = [_size(desk, path, text) for path, text in zip(paths, texts, strict=True)]
    for path, text, size in zip(paths, texts, sizes, strict=True):
        desk.attached[os.path.abspath(path)] = Attached(name=path, text=text)
        desk.screen.note(f"{path}: {size}, before your next message (/clear drops it)")


def _size(desk: Desk, path: str, text: str) -> str:
    """In words. UsageError for a file that no context of this model's holds."""
    engine = desk.session.engine
    if engine is None:
        return f"{len(text):,} characters"
    check_plausible([text], engine.weights, engine.context_size)
    tokens = len(engine.weights.tokenizer.encode(text))
    if tokens >= engine.context_size:
        raise UsageError(
            f"{path} has {tokens:,} tokens and the context holds {engine.context_size:,}: "
            "begin the chat with a larger --ctx-size"
        )
    return f"{tokens:,} tokens"


def copy(desk: Desk, rest: str) -> None:
    """The raw text, as the model wrote it."""
    replies = [one for one in desk.session.conversation.entries() if one.role == "assistant"]
    if not replies:
        raise UsageError("nothing to copy: there is no reply yet")
    how = put_on_clipboard(replies[-1].content, desk.screen)
    desk.screen.note(f"copied {len(replies[-1].content):,} characters ({how})")


def bye(desk: Desk, rest: str) -> None:
    desk.is_done = True
