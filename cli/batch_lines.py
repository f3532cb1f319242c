"""What a batch is asked to answer: a prompt or a conversation each, with settings of its own.

Promises that a bad line is told with its number and spoils no other. Knows nothing of models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nextok.cli.batch_rows import BadRow, Fields, Row, read_rows, title
from nextok.cli.flag_table import BY_NAME, BY_WORD
from nextok.cli.flags import Flag
from nextok.cli.prompt import read_file, unescape
from nextok.cli.settings import PromptSettings
from nextok.cli.spelling import hint
from nextok.generation.errors import NextokError, UsageError
from nextok.generation.message import SURROGATE, Message, parse_messages

if TYPE_CHECKING:
    from nextok.backends.row_template import RowTemplate

LineId: TypeAlias = str | int

_PANELS = ("Sampling", "Stopping")
_OF_ALL = ("stall_timeout",)
"""What is about all lines at once."""
TIME_LIMITS = ("timeout", "first_token_timeout", "stall_timeout")
"""Settings that no finished answer depends on."""
_OWN = ("prompt", "messages", "id")


class Line(NamedTuple):
    """One thing to answer."""

    number: int
    """Of the input's lines, from 1."""
    id: LineId
    """Its own, or else its number; where another line has that for its own, `line 7`."""
    messages: Sequence[Message]
    settings: Mapping[str, object]
    """Its own, by key."""
    is_named: bool = False
    """Whether the id is its own."""

    @property
    def asked(self) -> str:
        """The last thing that is said."""
        return self.messages[-1].content

    @property
    def digest(self) -> str:
        """Sixteen digits that another prompt or other settings would not have."""
        said = [message.fields() for message in self.messages]
        settings = {key: to for key, to in self.settings.items() if key not in TIME_LIMITS}
        text = json.dumps([said, settings], sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def read_lines(
    name: str, settings: PromptSettings, template: RowTemplate | None
) -> Iterator[Line | BadRow]:
    """All lines in their order. UsageError when the input itself cannot be read."""
    lines = [
        row if isinstance(row, BadRow) else _line(row, settings, template)
        for row in read_rows(name, settings.encoding, table=template is not None)
    ]
    ids: dict[LineId, int] = {}
    for line in lines:
        if isinstance(line, Line) and line.is_named:
            ids.setdefault(line.id, line.number)
    for line in lines:
        yield line if isinstance(line, BadRow) else _named(line, ids)


def _named(line: Line, ids: Mapping[LineId, int]) -> Line | BadRow:
    """With an id that no other line has. ids: the lines' own, and where each is first."""
    if line.is_named:
        first = ids[line.id]
        if first == line.number:
            return line
        return BadRow(line.number, f"its id {line.id!r} is that of line {first}")
    free: LineId = line.number
    while free in ids:
        free = f"line {free}"
    return line._replace(id=free)


def row_template(name: str | None, encoding: str) -> RowTemplate | None:
    """The template of that path. UsageError, TemplateError."""
    if name is None:
        return None
    from nextok.backends.row_template import RowTemplate

    return RowTemplate(read_file(name, encoding), name)


def place(name: str, bad: BadRow) -> str:
    """Where a bad row is, and what is wrong with it."""
    return f"{title(name)}, line {bad.number}: {bad.why}"


def _line(row: Row, settings: PromptSettings, template: RowTemplate | None) -> Line | BadRow:
    try:
        if isinstance(row.content, str):
            if template is not None:
                raise UsageError("it is no JSON object: --template makes prompts of fields")
            text = unescape(row.content) if settings.escape else row.content
            return Line(row.number, row.number, _said(text), {})
        return _of_fields(row.number, row.content, template)
    except NextokError as error:
        return BadRow(row.number, str(error))


def _of_fields(number: int, fields: Fields, template: RowTemplate | None) -> Line:
    own_id = _id(fields.get("id"))
    line_id, is_named = number if own_id is None else own_id, own_id is not None
    if template is not None:
        return Line(number, line_id, _said(template.render(fields)), {}, is_named)
    given = [key for key in ("prompt", "messages") if key in fields]
    if len(given) != 1:
        what = "neither" if not given else "both"
        raise UsageError(f'it has {what} of "prompt" and "messages": one is needed')
    (key,) = given
    messages = _said(fields[key]) if key == "prompt" else _messages(fields[key])
    rest = {name: value for name, value in fields.items() if name not in _OWN}
    return Line(number, line_id, messages, dict(_settings(rest)), is_named)


def _said(prompt: object) -> list[Message]:
    if not isinstance(prompt, str):
        raise UsageError('its "prompt" is no text')
    if not prompt.strip():
        raise UsageError("its prompt is empty")
    half = SURROGATE.search(prompt)
    if half:
        raise UsageError(f"its prompt has half a surrogate pair at character {half.start() + 1}")
    return [Message("user", prompt)]


def _messages(messages: object) -> list[Message]:
    if not isinstance(messages, list):
        raise UsageError('its "messages" are no list')
    return parse_messages(json.dumps(messages))


def _id(given: object) -> LineId | None:
    if given is None or given == "":
        return None
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise UsageError('its "id" is neither a text nor a whole number')
    return given


def _settings(fields: Fields) -> Iterator[tuple[str, object]]:
    """The values of flags that a line may set for itself; an empty cell sets nothing."""
    seen: set[str] = set()
    for name, value in fields.items():
        flag, meant = _flag(name)
        if value != "":
            if flag.key in seen:
                raise UsageError(f'its "{name}" is set before by another name: leave one out')
            seen.add(flag.key)
            found = flag.accept(value, f'its "{name}"', _spelled)
            yield flag.key, (found == meant) if flag.switch else found


def _spelled(value: object) -> str:
    """As JSON writes it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _flag(name: str) -> tuple[Flag, bool]:
    known = BY_WORD.get(name.replace("-", "_"))
    short = BY_NAME.get(f"-{name}") if len(name) == 1 else None
    if known is None and short is not None and short[0].panel in _PANELS:
        # Not taken for it: elsewhere "n" is how many answers there are to be.
        long = short[0].title.replace("-", "_")
        raise UsageError(f'a line has no field "{name}": what -{name} means is "{long}" there')
    if known is None or known[0].panel not in _PANELS or known[0].key in _OF_ALL:
        may = [word for word, (flag, _) in BY_WORD.items() if flag.panel in _PANELS]
        raise UsageError(f'a line has no field "{name}"{hint(name, (*_OWN, *may))}')
    return known
