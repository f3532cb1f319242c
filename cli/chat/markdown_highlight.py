"""Colours for lines of code, one after the other, by pygments' lexer for the language.

Most lexers are machines whose state is carried from line to line, so that a line is read once.
Block comments, which many of them read in one go, are followed here. Nothing is ever changed in
the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nextok.cli.chat.markdown_pen import Piece
from nextok.cli.chat.markdown_style import PLAIN, Style

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]

_LONGEST_LINE = 2000
"""Characters; a longer line stays plain, whatever a lexer would take for it."""

_NAME = re.compile(r"[^\s{},:]+")
_COMMENTS = {"/*": "*/", "<!--": "-->"}
_COMMENT_STYLE = "2;3"
_STYLES: dict[str, Style] = {
    "Comment": _COMMENT_STYLE,
    "Comment.Preproc": "35",
    "Keyword": "35",
    "Keyword.Constant": "36",
    "Keyword.Type": "36",
    "Literal.Number": "36",
    "Literal.String": "32",
    "Literal.String.Doc": "2;32",
    "Literal.String.Escape": "36",
    "Literal.String.Interpol": "36",
    "Name.Attribute": "34",
    "Name.Builtin": "36",
    "Name.Class": "1;34",
    "Name.Decorator": "34",
    "Name.Exception": "36",
    "Name.Function": "34",
    "Name.Tag": "35",
    "Operator.Word": "35",
    "Generic.Deleted": "31",
    "Generic.Inserted": "32",
    "Generic.Heading": "1",
    "Generic.Subheading": "35",
    "Generic.Prompt": "2",
    "Generic.Output": "2",
}


def language(info: str) -> str:
    """The language that a fence names; the empty string if it names none."""
    found = _NAME.search(info)
    return found[0].removeprefix(".") if found else ""


class Highlighter:
    """One block of code in one language. Without a lexer for it, everything is plain."""

    def __init__(self, name: str) -> None:
        self._lexer = _lexer(name)
        self._stack: list[str] = []
        self._comment_end = ""
        """What ends the block comment that a line was left in."""

    @property
    def is_plain(self) -> bool:
        """Whether no line will have a colour."""
        return self._lexer is None

    def line(self, text: str, *, whole: bool) -> Sequence[Piece]:
        """The line in its colours; whole: it is over, and the next one goes on from here."""
        if self._lexer is None or len(text) > _LONGEST_LINE:
            return [Piece(text)]
        before = self._stack, self._comment_end
        self._stack = list(self._stack)
        try:
            pieces = self._coloured(f"{text}\n")
        except Exception:  # somebody else's code on a model's text: no colour is worth a crash
            self._lexer, pieces = None, []
        if not whole:
            self._stack, self._comment_end = before
        pieces = _cut(pieces, len(text))
        return pieces if "".join(piece.text for piece in pieces) == text else [Piece(text)]

    def _coloured(self, line: str) -> list[Piece]:
        if not self._comment_end:
            return self._outside_comment(line)
        end = line.find(self._comment_end)
        if end < 0:
            return [Piece(line, _COMMENT_STYLE)]
        end += len(self._comment_end)
        self._comment_end = ""
        return [Piece(line[:end], _COMMENT_STYLE), *self._outside_comment(line[end:])]

    def _outside_comment(self, line: str) -> list[Piece]:
        for start, end in _COMMENTS.items():
            if line.rfind(start) > line.rfind(end):
                pieces = self._closed_comment(line, start, end)
                if pieces:
                    self._comment_end = end
                    return pieces
        return [Piece(text, _style(kind)) for kind, text in _tokens(self._lexer, line, self._stack)]

    def _closed_comment(self, line: str, start: str, end: str) -> list[Piece]:
        """The line as it is if its comment were closed; nothing if it is no comment."""
        stack = list(self._stack)
        tokens = list(_tokens(self._lexer, f"{line[:-1]}{end}\n", stack))
        comments = [text for kind, text in tokens if str(kind).startswith("Token.Comment")]
        last = comments[-1] if comments else ""
        if not last.endswith(end) or not last.startswith((start, end)):
            return []
        self._stack = stack
        pieces = [Piece(text, _style(kind)) for kind, text in tokens]
        return _cut(pieces, len(line) - 1)


def _lexer(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(name) if name else None
    except ClassNotFound:
        return None


def _tokens(lexer: Any, line: str, stack: list[str]) -> Any:
    """Kinds and texts of a line; `stack` is the lexer's state, brought up to date."""
    from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

    if isinstance(lexer, RegexLexer) and not isinstance(lexer, ExtendedRegexLexer):
        context = LexerContext(line, 0, list(stack) or ["root"])
        # The loop of this class runs on the rules of any regex lexer and keeps its state.
        for _, kind, text in ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context):
            yield kind, text
        stack[:] = context.stack
    else:
        for _, kind, text in lexer.get_tokens_unprocessed(line):
            yield kind, text


def _style(kind: Any) -> Style:
    name = str(kind).removeprefix("Token.")
    while name:
        if name in _STYLES:
            return _STYLES[name]
        name = name.rpartition(".")[0]
    return PLAIN


def _cut(pieces: Sequence[Piece], length: int) -> list[Piece]:
    """So many characters of them."""
    kept = []
    for text, style in pieces:
        if length > 0 and text:
            kept.append(Piece(text[:length], style))
            length -= len(text)
    return kept
