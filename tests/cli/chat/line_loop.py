"""A program for the tests: reads messages with the line editor and prints what it has read."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from nextok.cli.chat.bottom_line import BottomState, fragments
from nextok.cli.chat.editor import Editor, Fragments, Left, Suggestion, Terminated
from nextok.cli.chat.reply_mode import QuietKeys

WORDS = {"/model": "change the model", "/models": "list them", "/help": "", "/save": "keep it"}

_LONG = 9_000
"""Characters: of a text with more only the digest is shown."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--history", type=Path)
    parser.add_argument("--no-color", action="store_true")
    parser.add_argument("--bottom", action="store_true")
    parser.add_argument("--default", default="")
    parser.add_argument("--gate", type=Path, help="after each message, busy until it is there")
    parser.add_argument("--pid", type=Path, help="gets this process's number")
    parser.add_argument("--break-bottom", type=Path, help="fail to draw once it is there")
    asked = parser.parse_args()
    if asked.pid:
        asked.pid.write_text(str(os.getpid()))

    def bottom() -> Fragments:
        if asked.break_bottom and asked.break_bottom.exists():
            raise ValueError("no bottom line")
        if not asked.bottom:
            return []
        state = BottomState(model="toy", context_used=1204, context_size=8192)
        return fragments(state, os.get_terminal_size().columns)

    quiet = QuietKeys(0)
    editor = Editor(
        history=asked.history,
        complete=complete,
        bottom_line=bottom,
        color=not asked.no_color,
        output=sys.stdout.fileno(),
        clock=lambda: 100.0,  # it stands still: each press comes soon after the last
        note=lambda text: print(f"note: {text}", file=sys.stderr, flush=True),
        quiet=quiet,
    )
    try:
        with quiet:
            loop(editor, asked.default, asked.gate)
    except Left:
        print("left")
    except Terminated as ended:
        print("terminated", ended.number, file=sys.stderr)
    return 0


def loop(editor: Editor, default: str, gate: Path | None) -> None:
    while True:
        text = editor.read(default=default)
        default = ""
        shown = repr(text) if len(text) < _LONG else f"{len(text):,} characters {digest(text)}"
        print("read", shown, "quoted" if editor.quoted else "", flush=True)
        if gate is not None:
            print("busy", flush=True)
            while not gate.exists():
                time.sleep(0.01)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def complete(text: str) -> Iterator[Suggestion]:
    for word, meta in WORDS.items():
        if text and word.startswith(text):
            yield Suggestion(text=word, start_position=-len(text), meta=meta)


if __name__ == "__main__":
    sys.exit(main())
