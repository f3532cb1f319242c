"""What stands for a text that is too long to be shown: how long it is.

Knows nothing of terminals or of what the text is.
"""

from __future__ import annotations


def paste_mark(text: str) -> str:
    """`[2,000 lines]`, or the characters of a text of one line."""
    lines = text.count("\n") + 1
    return f"[{lines:,} lines]" if lines > 1 else f"[{len(text):,} characters]"
