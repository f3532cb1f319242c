"""Reads markdown line by line and tells the blocks what is on each.

Of a line, only the beginning is read here, a character at a time, until it is known what takes the
rest: what comes of a reply cannot depend on the pieces it came in.
"""

from __future__ import annotations

from nextok.cli.chat.markdown_blocks import Block, Blocks
from nextok.cli.chat.markdown_code import CodeBlock, FencedCode
from nextok.cli.chat.markdown_lines import CODE_INDENT, LONGEST_HEAD, Place, opening
from nextok.cli.chat.markdown_marks import (
    Blank,
    Fence,
    HeadingMark,
    Indented,
    ItemMark,
    Opening,
    QuoteMark,
    Rule,
    TableRow,
    Text,
    Unknown,
)
from nextok.cli.chat.markdown_nest import Container, Item, NoMatch
from nextok.cli.chat.markdown_table import Preview, alignments, may_be_delimiter, split_row
from nextok.cli.chat.markdown_text import Paragraph

_TAB = 4


class LineReader:
    """Where in a line the reply is."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._nest = blocks.nest
        self._head = ""
        """The beginning of the line, as far as it is read and not understood."""
        self._head_column = 0
        self._matched = 0
        """How many of the open containers the line is known to go on with."""
        self._has_left = False
        """Whether it ends the others."""
        self._taker: Block | None = None
        """What takes the rest of the line, once that is known."""

    def text(self, part: str) -> None:
        """The next piece of a line."""
        at = 0
        while at < len(part) and self._taker is None:
            char = part[at]
            if char == "\t":
                char = " " * (_TAB - self._head_column % _TAB)
            self._head += char
            self._head_column += len(char)
            at += 1
            self._read_head(whole=False)
        if self._taker is not None and at < len(part):
            rest = part[at:]
            is_code = isinstance(self._taker, CodeBlock)
            self._taker.text(rest if is_code else rest.replace("\t", " "))

    def end_line(self) -> None:
        """The line is over."""
        if self._taker is None:
            self._read_head(whole=True)
        if self._taker is not None:
            self._taker.end_line()
        self._head, self._head_column, self._matched = "", 0, 0
        self._has_left, self._taker = False, None

    def close(self) -> None:
        """The reply is over, or was cut off."""
        if self._blocks.header is not None and self._taker is self._blocks.header:
            self.end_line()
        if self._taker is None:
            self._read_head(whole=True)
        self._blocks.close()

    def _read_head(self, *, whole: bool) -> None:
        while self._taker is None and self._step(whole):
            pass

    def _step(self, whole: bool) -> bool:
        """Understand a part of the head; whether there may be more to understand in it."""
        containers = self._nest.open
        if not self._has_left and self._matched < len(containers):
            return self._match(containers[self._matched], whole)
        code = self._blocks.fenced
        if code is not None and not self._has_left:
            return self._in_fence(code, whole)
        if self._blocks.header is not None:
            return self._below_header(self._blocks.header, whole)
        found = opening(self._head, self._place(), whole=whole)
        return False if isinstance(found, Unknown) else self._open(found)

    def _match(self, container: Container, whole: bool) -> bool:
        taken = container.match(self._head, whole=whole)
        if taken is NoMatch.UNKNOWN:
            return False
        code_in_item = self._blocks.fenced is not None and isinstance(container, Item)
        if taken is NoMatch.ENDS and code_in_item:
            # Models forget the indentation of code in a list; the code goes on to its fence.
            taken = len(self._head) - len(self._head.lstrip(" "))
        if isinstance(taken, NoMatch):
            self._has_left = True
        else:
            self._head = self._head[taken:]
            self._matched += 1
        return True

    def _place(self) -> Place:
        containers = self._nest.open
        return Place(
            in_paragraph=isinstance(self._blocks.block, Paragraph),
            in_item=self._matched > 0 and isinstance(containers[self._matched - 1], Item),
            in_list=self._has_left and isinstance(containers[self._matched], Item),
        )

    def _in_fence(self, code: FencedCode, whole: bool) -> bool:
        body = self._head.strip(" ")
        indent = len(self._head) - len(self._head.lstrip(" "))
        may_close = indent < code.fence.indent + CODE_INDENT and not body.strip(code.fence.char)
        if not whole and (may_close or not body) and len(self._head) < LONGEST_HEAD:
            return False
        if whole and may_close and len(body) >= code.fence.count:
            self._blocks.close()
            return False
        return self._take(code, min(indent, code.fence.indent))

    def _below_header(self, header: Preview, whole: bool) -> bool:
        """The line below one that may be a table's header."""
        may_be_table = not self._has_left and len(self._head) < LONGEST_HEAD
        if may_be_table and not whole and may_be_delimiter(self._head):
            return False
        count = len(split_row(header.source))
        aligns = alignments(self._head, count) if may_be_table and whole else None
        self._blocks.end_header(aligns)
        return aligns is None

    def _open(self, found: Opening) -> bool:
        if isinstance(found, Text) and isinstance(self._blocks.block, Paragraph):
            return self._take(self._blocks.block, found.length)
        if isinstance(found, QuoteMark | ItemMark) and not self._nest.has_room:
            found = Text(length=0)
        if self._has_left:
            self._blocks.close()
            self._nest.cut(self._matched)
            self._has_left = False
        match found:
            case QuoteMark():
                return self._enter(None, found.length)
            case ItemMark():
                return self._enter(found, found.length)
            case HeadingMark():
                return self._take(self._blocks.heading(found.level), found.length)
            case Text():
                return self._take(self._blocks.paragraph(), found.length)
            case Indented():
                return self._take(self._blocks.indented_code(), CODE_INDENT)
            case TableRow():
                return self._take(self._blocks.table_row(), found.length)
        self._whole_line(found)
        return False

    def _whole_line(self, found: Blank | Fence | Rule) -> None:
        match found:
            case Fence():
                self._blocks.fenced_code(found)
            case Rule():
                self._blocks.rule(is_underline=found.is_underline)
            case Blank():
                self._blocks.empty_line()

    def _enter(self, mark: ItemMark | None, length: int) -> bool:
        """A list item or a quote begins, and in it what follows on the line."""
        self._blocks.close()
        self._nest.enter(mark)
        self._head = self._head[length:]
        self._matched += 1
        return True

    def _take(self, taker: Block, length: int) -> bool:
        """The rest of the line is known to be the taker's."""
        self._taker = taker
        rest, self._head = self._head[length:], ""
        if rest:
            taker.text(rest)
        return False
