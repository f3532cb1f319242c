"""Markup inside a block's text: emphasis, code, links, escapes; shown as soon as it is certain.

Only what may still become something else is held back: a marker at a piece's end, a link in the
making. Nothing but markers that were obeyed is ever left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from nextok.cli.chat.markdown_emphasis import Emphasis, Run
from nextok.cli.chat.markdown_link import Link, NoLink, link_at
from nextok.cli.chat.markdown_style import PLAIN, Style, Theme, layered

_SPECIAL = re.compile(r"[\\`*_~\[!&]")
_TICKS = re.compile("`+")
_RUN = re.compile(r"\*+|_+|~+|`+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENTITIES = {
    "&amp;": "&",
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&apos;": "'",
    "&#39;": "'",
    "&nbsp;": "\u00a0",
}
_LONGEST_ENTITY = 6
_ADDRESS = "://"


class InlineParser:
    """The text of one block, line by line, in pieces of any size."""

    def __init__(
        self, show: Callable[[str, Style], None], theme: Theme, style: Style = PLAIN
    ) -> None:
        """show: takes what is to be seen. style: the block's own."""
        self._show = show
        self._theme = theme
        self._block_style = style
        self._emphasis = Emphasis(theme)
        self._held = ""
        self._before = " "
        """The last character of the source that is done with."""
        self._word = ""
        self._ticks = 0
        """Backticks that opened the code span; 0 outside of one."""
        self._strips = False
        """Whether the code span began with a space, which is then no part of it."""
        self._code_space = ""

    def feed(self, text: str) -> None:
        """The next piece of a line."""
        self._held += text
        self._consume(final=False)

    def end_line(self) -> None:
        """The line is over; styles and code spans go on in the next one."""
        if self._held.endswith("\\") and not self._held.endswith("\\\\"):
            self._held = self._held[:-1]  # it asked for the line break that is there anyway
        self.release()
        self._before, self._word, self._code_space = " ", "", ""

    def release(self) -> None:
        """No more will follow on this line: show what was held back."""
        self._consume(final=True)

    def _consume(self, *, final: bool) -> None:
        text, at = self._held, 0
        while at < len(text):
            step = self._code if self._ticks else self._markup
            after = step(text, at, final)
            if after is None:
                break
            at = after
        self._held = text[at:]

    def _markup(self, text: str, at: int, final: bool) -> int | None:
        """Take what stands at `at`; where it ends, or None if that cannot be told yet."""
        found = _SPECIAL.search(text, at)
        if found is None or found.start() > at:
            end = found.start() if found else len(text)
            return self._text(text, at, end)
        char = text[at]
        if char in "*_~":
            return self._delimiters(text, at, final)
        if char == "`":
            return self._open_code(text, at, final)
        if char in "[!":
            return self._bracket(text, at, final)
        if char == "&":
            return self._entity(text, at, final)
        return self._escape(text, at, final)

    def _text(self, text: str, start: int, end: int) -> int:
        part = text[start:end]
        self._emit(part, PLAIN)
        self._before = part[-1]
        words = re.split(r"\s", part)
        self._word = words[-1] if len(words) > 1 else self._word + part
        if _ADDRESS not in self._word:
            self._word = self._word[-len(_ADDRESS) :]
        return end

    def _emit(self, text: str, style: Style) -> None:
        if text:
            below = layered(self._block_style, self._emphasis.style)
            self._show(text, layered(below, style))

    def _delimiters(self, text: str, at: int, final: bool) -> int | None:
        end = _end_of_run(text, at)
        if end == len(text) and not final:
            return None
        run = Run(
            char=text[at],
            count=end - at,
            before=self._before,
            after=text[end] if end < len(text) else " ",
            in_address=_ADDRESS in self._word,
        )
        literal = self._emphasis.take(run)
        if literal:
            self._text(text, end - literal, end)
        self._before = text[at]
        return end

    def _escape(self, text: str, at: int, final: bool) -> int | None:
        if at + 1 == len(text):
            return self._text(text, at, at + 1) if final else None
        if text[at + 1] in _PUNCTUATION:
            return self._text(text, at + 1, at + 2)
        return self._text(text, at, at + 1)

    def _entity(self, text: str, at: int, final: bool) -> int | None:
        ahead = text[at : at + _LONGEST_ENTITY]
        for name, meant in _ENTITIES.items():
            if ahead.startswith(name):
                self._text(meant, 0, len(meant))
                return at + len(name)
        may_become = any(name.startswith(ahead) for name in _ENTITIES)
        return None if may_become and not final else self._text(text, at, at + 1)

    def _bracket(self, text: str, at: int, final: bool) -> int | None:
        bracket = at + 1 if text[at] == "!" else at
        if bracket == len(text) and not final:
            return None
        if text[bracket : bracket + 1] != "[":
            return self._text(text, at, at + 1)
        link = link_at(text, bracket)
        if link is NoLink.UNKNOWN and not final:
            return None
        if isinstance(link, NoLink):
            return self._text(text, at, bracket + 1)
        self._link(link)
        self._before = ")"
        return link.end

    def _link(self, link: Link) -> None:
        label = link.label or link.address
        inside = InlineParser(self._emit, self._theme, self._theme.link)
        inside.feed(label)
        inside.release()
        if not link.says_all:
            self._emit(" ", PLAIN)
            self._emit(f"({link.target})", self._theme.faint)

    def _open_code(self, text: str, at: int, final: bool) -> int | None:
        end = _end_of_run(text, at)
        if end == len(text):
            return self._text(text, at, end) if final else None
        spaced = text[end] == " "
        if spaced and end - at == 1:  # a lone backtick, more likely than code
            return self._text(text, at, end)
        self._ticks, self._strips = end - at, spaced
        self._emit(self._theme.code_mark, self._theme.code)
        return end + 1 if spaced else end

    def _code(self, text: str, at: int, final: bool) -> int | None:
        found = _TICKS.search(text, at)
        if found is None or found.start() > at:
            end = found.start() if found else len(text)
            self._code_text(text[at:end])
            return end
        end = found.end()
        if end == len(text) and not final:
            return None
        if end - at == self._ticks:
            self._emit(self._theme.code_mark, self._theme.code)
            self._ticks, self._code_space, self._before, self._word = 0, "", "`", ""
        else:
            self._code_text(text[at:end])
        return end

    def _code_text(self, text: str) -> None:
        text = self._code_space + text
        self._code_space = " " if self._strips and text.endswith(" ") else ""
        self._emit(text[: len(text) - len(self._code_space)], self._theme.code)


def _end_of_run(text: str, at: int) -> int:
    found = _RUN.match(text, at)
    return found.end() if found else at
