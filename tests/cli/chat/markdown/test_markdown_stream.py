"""What a reply looks like on a screen, and that it does not matter in which pieces it came."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DOCUMENTS = {
    "blocks": (
        "# Title ##\nText right below.\n## Part\n\n\nOne\nparagraph, two lines.\n- - -\nEnd.\n\n\n",
        """\
Title

Text right below.

Part

One
paragraph, two lines.

────────────────────────────────────────────────────────────

End.""",
    ),
    "lists": (
        "Steps:\n1. **One** is a text that is long enough to need a second line\n"
        "   - child\n     * grandchild\n10) ten\n\n- [x] done\n- [ ] open\n\n  more of it\n",
        """\
Steps:

1. One is a text that is long enough to need a second line
   • child
     ◦ grandchild
10) ten

☑ done
☐ open

  more of it""",
    ),
    "lists as models write them": (
        "1. one\n  - two spaces\n    - four\n2. two\n\n- a\n        - eight spaces\n-\n- last\n"
        "lazy\n",
        """\
1. one
   • two spaces
     ◦ four
2. two

• a
  ◦ eight spaces
•
• last
  lazy""",
    ),
    "quotes": (
        "> A quote that has more words in it than fit into one line of a window\n>\n> - item\n"
        "lazy\n\n> another\n> > inside\nText\n\nAfter",
        """\
│ A quote that has more words in it than fit into one line
│ of a window
│
│ • item
│   lazy

│ another
│
│ │ inside
│ │ Text

After""",
    ),
    "code": (
        "Look:\n```python title=a\ndef f():\n\treturn '**'\n\n```\n- item\n  ~~~~\n  ```\n   x\n"
        "  ~~~~\n\nText\n\n    indented\n\n    # code\n",
        """\
Look:

  python title=a
  def f():
      return '**'


• item
    ```
     x

Text

  indented

  # code""",
    ),
    "a fence that lost its indentation": (
        "- item\n  ```\n  a\nb\n```\n- next",
        "• item\n    a\n    b\n• next",
    ),
    "a fence that is not closed": ("```sh\nls |\n``", "  sh\n  ls |\n  ``"),
    "underlined headings": (
        "One\n===\nTwo\n-----\nThree\n---\nx",
        "One\n{r}\n\nTwo\n{r}\n\nThree\n\n{r}\n\nx",
    ),
    "no blocks": (
        "#hash\n\n1986 was a year\n\nIn\n1986. No list.\n-no item\n+\n\n----a\n\n```a`b``` c\n\n"
        "<b>&lt;</b>",
        "#hash\n\n1986 was a year\n\nIn\n1986. No list.\n-no item\n+\n\n----a\n\na`b c\n\n<b><</b>",
    ),
}
"""Markdown, and what is seen of it in 60 columns."""

PIECES = [
    *(
        "word ",
        "longerword ",
        "中文字",
        "é",
        "😀",
        " ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\\",
        "x1 ",
        "_a_ ",
    ),
    *(
        "*",
        "**",
        "_",
        "__",
        "`",
        "``",
        "~~",
        "[",
        "](",
        ")",
        "[q](http://w.e)",
        "!",
        "<b>",
        "http://a.b/c_d ",
    ),
    *(
        "- ",
        "1. ",
        "> ",
        "# ",
        "---\n",
        "===\n",
        "```py\n",
        "```\n",
        "x = '''\n",
        "/*",
        "+ ",
        "|",
        "|\n",
    ),
    "\n| a | b |\n|---|:-:|\n",
]
"""What hypothesis makes replies of."""

replies = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_reply_shows_what_the_markdown_means(name: str, show: Any) -> None:
    source, seen = DOCUMENTS[name]
    assert show(source).text == seen.format(r="─" * 60)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("columns", [12, 20, 60])
def test_pieces_make_no_difference(name: str, columns: int, show: Any, window: Any) -> None:
    source, _ = DOCUMENTS[name]
    at_once = window(columns, 80)
    at_once.reply(source)
    assert show(source, columns=columns, rows=80).looks == at_once.looks


@settings(max_examples=60, deadline=None)
@given(source=replies, columns=st.sampled_from([5, 10, 20, 40]), data=st.data())
def test_no_pieces_of_any_text_make_a_difference(
    source: str, columns: int, data: st.DataObject, window: Any
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(source)), max_size=8).map(sorted))
    at_once, in_pieces = window(columns, 60), window(columns, 60)
    at_once.reply(source)
    in_pieces.reply(source, cuts)
    assert in_pieces.looks == at_once.looks


def word_characters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


@settings(max_examples=60, deadline=None)
@given(source=replies.filter(lambda text: "|" not in text), columns=st.sampled_from([5, 20, 60]))
def test_no_letter_is_lost(source: str, columns: int, window: Any) -> None:
    shown = window(columns, 300)
    shown.reply(source)
    assert word_characters("".join(shown.screen.display)) == word_characters(source)


@settings(max_examples=60, deadline=None)
@given(source=st.text(st.characters(exclude_categories=["C"]) | st.just("\n"), max_size=60))
def test_any_text_at_all_can_be_shown(source: str, window: Any) -> None:
    shown = window(20, 80)
    shown.reply(source, range(1, len(source)))
    assert shown.screen.cursor.x == 0


def test_every_piece_appears_at_once(window: Any) -> None:
    shown = window()
    stream = shown.stream()
    for piece, seen in [
        ("Hel", "Hel"),
        ("lo **wor", "Hello wor"),
        ("ld**, 5 *", "Hello world, 5"),
        (" 3 [", "Hello world, 5 * 3"),
        ("a] b", "Hello world, 5 * 3 [a] b"),
        ("\n\n- ", "Hello world, 5 * 3 [a] b"),
        ("x", "Hello world, 5 * 3 [a] b\n\n• x"),
    ]:
        stream.feed(piece)
        assert shown.text == seen


def test_a_stream_knows_where_the_cursor_is(window: Any) -> None:
    shown = window()
    stream = shown.stream()
    assert stream.at_line_start
    stream.feed("**Hi** 中")
    assert not stream.at_line_start
    assert stream.column == shown.screen.cursor.x == 5
    stream.close()
    assert stream.at_line_start
    assert (shown.screen.cursor.x, shown.screen.cursor.y) == (0, 1)


@pytest.mark.parametrize("source", ["", "\n\n", "  \n", "# \n", ">"])
def test_nothing_to_show_writes_nothing(source: str, window: Any) -> None:
    shown = window()
    shown.reply(source)
    assert "".join(shown.written) == ""


@pytest.mark.parametrize(
    "source", ["**a", "`a", "# a", "> a", "- a", "```py\na = 1", "|a|\n|-|\n|b"]
)
def test_a_reply_cut_off_leaves_the_terminal_plain(source: str, window: Any) -> None:
    shown = window()
    shown.reply(source)
    assert shown.screen.cursor.x == 0
    assert shown.screen.cursor.attrs == type(shown.screen.cursor.attrs)(" ")


def test_without_colour_there_is_structure_and_no_style(show: Any) -> None:
    shown = show("# T\n**b** `c`\n- x\n```py\nif x: pass\n```\n| a |\n|--:|\n| b |", color=False)
    assert shown.text == "T\n\nb `c`\n\n• x\n\n  py\n  if x: pass\n\na\n─\nb"
    assert not re.search(r"\x1b\[[0-9;]*m", "".join(shown.written))


def test_styles(show: Any) -> None:
    shown = show("## Head\n**bold *both*** _it_ `code` [text](http://x.y) ~~no~~")
    assert shown.styled(bold=True, fg="magenta") == "Head"
    assert shown.styled(bold=True, fg="default") == "bold both"
    assert shown.styled(italics=True) == "bothit"
    assert shown.styled(fg="cyan") == "code"
    assert shown.styled(underscore=True) == "text"
    assert shown.styled(blink=True) == "(http://x.y)"
    assert shown.styled(strikethrough=True) == "no"


def test_a_style_not_closed_ends_with_its_paragraph(show: Any) -> None:
    shown = show("a **b\nc\n\nd `e\n\nf")
    assert shown.styled(bold=True) == "bc"
    assert shown.styled(fg="cyan") == "e"
