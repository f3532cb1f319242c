"""What a prompt looks like: the mark and the text, then what there is to choose from, then one
line about the state. All but the text disappears when it is sent."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_completions, is_done
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.layout import (
    AnyContainer,
    ConditionalContainer,
    Dimension,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.menus import CompletionsMenuControl
from prompt_toolkit.layout.processors import (
    HighlightIncrementalSearchProcessor,
    TabsProcessor,
)
from prompt_toolkit.styles import (
    DEFAULT_ATTRS,
    Attrs,
    Style,
    StyleTransformation,
)
from prompt_toolkit.widgets import SearchToolbar

from nextok.cli.chat.editor import Fragments
from nextok.cli.chat.folding import FoldedTexts, Folding

MARK, CONTINUED, WRAPPED = "> ", ". ", "  "
_MENU_ROWS = 8

STYLE = Style.from_dict(
    {
        "mark": "bold ansicyan",
        "continued": "dim",
        "folded": "ansicyan",
        "search-toolbar": "nobold dim",
        "search-toolbar.text": "nodim",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit dim",
        "completion-menu.meta.completion.current": "noinherit dim",
        "bottom-line": "dim",
        "bottom-line.nearly-full": "nodim ansiyellow",
        "bottom-line.note": "nodim",
    }
)


class NoStyle(StyleTransformation):
    """No colour, no bold, nothing: for those who asked for no escape codes beyond editing."""

    def transform_attrs(self, attrs: Attrs) -> Attrs:
        return DEFAULT_ATTRS


def editor_layout(buffer: Buffer, folding: Folding, bottom_line: Callable[[], Fragments]) -> Layout:
    """The layout around the buffer that is typed into."""
    search = SearchToolbar(
        backward_search_prompt="search: ", forward_search_prompt="search forward: "
    )
    text = BufferControl(
        buffer,
        input_processors=[HighlightIncrementalSearchProcessor(), _tabs(), FoldedTexts(folding)],
        search_buffer_control=search.control,
        preview_search=True,
    )
    rows: list[AnyContainer] = [
        Window(text, wrap_lines=True, dont_extend_height=True, get_line_prefix=_before_line),
        ConditionalContainer(_menu(), has_completions & ~is_done),
        search,
        _bottom(bottom_line),
    ]
    return Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=text)


def _before_line(number: int, wrap_count: int) -> StyleAndTextTuples:
    if wrap_count:
        return [("", WRAPPED)]
    return [("class:continued", CONTINUED)] if number else [("class:mark", MARK)]


def _tabs() -> TabsProcessor:
    return TabsProcessor(char1=" ", char2=" ", style="")


def _menu() -> Window:
    return Window(
        CompletionsMenuControl(),
        height=Dimension(min=1, max=_MENU_ROWS),
        dont_extend_height=True,
        style="class:completion-menu",
    )


def _bottom(bottom_line: Callable[[], Fragments]) -> ConditionalContainer:
    control = FormattedTextControl(lambda: list(bottom_line()))
    line = Window(control, height=1, dont_extend_height=True, style="class:bottom-line")
    has_something = Condition(lambda: any(text for _, text in bottom_line()))
    return ConditionalContainer(line, has_something & ~is_done)
