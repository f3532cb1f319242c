"""Markup inside text: what is shown, what is a style, what is left alone."""

from __future__ import annotations

import pytest

from nextok.cli.chat.markdown_inline import InlineParser
from nextok.cli.chat.markdown_style import Theme

MARKS = Theme(strong="B", emphasis="I", struck="S", code="C", link="L", faint="F")


def shown(source: str) -> str:
    """The text, each run of a style as `<styles:text>`; the same whatever the pieces."""
    found = {read(pieces) for pieces in ([source], list(source))}
    assert len(found) == 1
    return found.pop()


def read(pieces: list[str]) -> str:
    runs: list[tuple[str, str]] = []

    def show(text: str, style: str) -> None:
        if runs and runs[-1][1] == style:
            text = runs.pop()[0] + text
        runs.append((text, style))

    parser = InlineParser(show, MARKS)
    for piece in pieces:
        parser.feed(piece)
    parser.end_line()
    return "".join(f"<{style}:{text}>" if style else text for text, style in runs)


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("a *b* **c** ***d*** e", "a <I:b> <B:c> <I;B:d> e"),
        ("**a *b* c** d", "<B:a ><B;I:b><B: c> d"),
        ("***a** b* c", "<I;B:a><I: b> c"),
        ("***a* b** c", "<I;B:a><B: b> c"),
        ("*a **b** c*", "<I:a ><I;B:b><I: c>"),
        ("*a**b**c*", "<I:a**b**c>"),
        ("_a_ __b__ c_d_e __f_g__", "<I:a> <B:b> c_d_e <B:f_g>"),
        ("5 * 3, 2**8, a*b*c, f(*args, **kw)", "5 * 3, 2**8, a*b*c, f(<I:args, ><I;B:kw)>"),
        ("* a*", "* a*"),
        ("**a**b", "<B:a>b"),
        ("a**", "a**"),
        ("**** x", "**** x"),
        ("~~a~~ ~b~ ~~~", "<S:a> ~b~ ~~~"),
        ("这是**重点**内容", "这是<B:重点>内容"),
        ("**“重点”**的", "<B:“重点”>的"),
        ("**重点：**内容", "<B:重点：>内容"),
        ("**Note:**text", "<B:Note:>text"),
        ("http://a.b/_c_/*d* *e*", "http://a.b/_c_/*d* <I:e>"),
        ("**http://a.b**", "<B:http://a.b>"),
    ],
)
def test_emphasis(source: str, seen: str) -> None:
    assert shown(source) == seen


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("a `b` c", "a <C:b> c"),
        ("`*a*` `\\`", "<C:*a*> <C:\\>"),
        ("``a`b`` ``` `` ```", "<C:a`b> <C:``>"),
        ("`` `a` ``", "<C:`a`>"),
        ("a ` b", "a ` b"),
        ("`a", "<C:a>"),
        ("a`", "a`"),
        ("**`a`**b", "<B;C:a>b"),
    ],
)
def test_code(source: str, seen: str) -> None:
    assert shown(source) == seen


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("[a](http://b)", "<L:a> <F:(http://b)>"),
        ("[a *b*](c)!", "<L:a ><L;I:b> <F:(c)>!"),
        ("[http://b](http://b)", "<L:http://b>"),
        ("[b.c](https://b.c/)", "<L:b.c>"),
        ("[x@y.z](mailto:x@y.z)", "<L:x@y.z>"),
        ('[a](b "title")', '<L:a> <F:(b "title")>'),
        ("[a](<b c>)", "<L:a> <F:(b c)>"),
        ("[a](b_(c)_d)", "<L:a> <F:(b_(c)_d)>"),
        ("![alt](b.png)", "<L:alt> <F:(b.png)>"),
        ("[![a](b)](c)", "<L:a ><L;F:(b)> <F:(c)>"),
        ("[](b)", "<L:b>"),
        ("**[a](b)**", "<B;L:a><B: ><B;F:(b)>"),
        ("[a] [b][c] [^1] d[0](e f) [", "[a] [b][c] [^1] d[0](e f) ["),
        ("[*a*]", "[<I:a>]"),
        ("[a](b", "[a](b"),
        ("![a", "![a"),
        ("Hi!", "Hi!"),
    ],
)
def test_links(source: str, seen: str) -> None:
    assert shown(source) == seen


def test_a_link_in_the_making_is_held_back_no_longer_than_it_can_be_one() -> None:
    runs: list[str] = []
    parser = InlineParser(lambda text, style: runs.append(text), MARKS)
    parser.feed("[a](b c")
    assert "".join(runs) == "[a](b c"
    parser.feed(" [" + "d" * 298)
    assert "".join(runs) == "[a](b c "
    parser.feed("d")
    assert "".join(runs) == "[a](b c [" + "d" * 299


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (r"\*a\* \_ \\ \a \[b](c)", r"*a* _ \ \a [b](c)"),
        ("a\\", "a"),
        ("a\\\\", "a\\"),
        ("&lt;b&gt; &amp;amp; &nbsp;&copy; & &a", "<b> &amp; \u00a0&copy; & &a"),
        ("<b>*a*</b>", "<b><I:a></b>"),
    ],
)
def test_escapes_and_entities(source: str, seen: str) -> None:
    assert shown(source) == seen
