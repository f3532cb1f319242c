"""A model's chat template: the program that turns a conversation into the text it was trained on.

Promises the text the reference renders, or TemplateError: quickly, in bounded memory, whatever
the template does. Refuses to know of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from nextok.backends.template_limits import MAX_SIZE, Allowance, Exhausted
from nextok.generation.errors import TemplateError
from nextok.generation.message import SURROGATE, Message

if TYPE_CHECKING:
    from jinja2 import Template

    from nextok.backends.template_sandbox import Sandbox

MAX_SOURCE = 131_072
"""Characters in a template; the longest in use have a third of that."""
_SHORT_SOURCE = 32_768
"""Up to here compiling takes a second at worst, and is not watched: that would triple it."""

_FILENAME = "<template>"
_NO_VARIABLES: Mapping[str, object] = MappingProxyType({})


class Refusal(Exception):
    """The template called raise_exception: these messages are not for this model."""


class ChatTemplate:
    """One template, compiled when it is first used.

    The date is read once, so that a prompt stays the same, and cached, for a whole session.
    """

    def __init__(
        self,
        source: str,
        bos_token: str,
        eos_token: str,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.source = source
        self._texts = {"bos_token": bos_token, "eos_token": eos_token}
        self._now = now
        self._moment: datetime | None = None
        self._compiled: tuple[Sandbox, Template] | None = None

    def render(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        variables: Mapping[str, object] = _NO_VARIABLES,
    ) -> str:
        """The conversation as text, ending where the model's reply begins.

        `variables` are for the template to use: enable_thinking, tools, documents.
        Raises TemplateError, one line, with the line of the template.
        """
        sandbox, template = self._compiled = self._compiled or self._compile()
        sandbox.allowance = Allowance()
        values = {
            **dict.fromkeys(("tools", "tool_choice", "functions", "function_call")),
            **self._texts,
            **variables,
            "messages": [message.fields() for message in messages],
            "add_generation_prompt": add_generation_prompt,
            "raise_exception": _refuse,
            "strftime_now": self._strftime,
        }
        try:
            with sandbox.allowance.enforced():
                return _checked(_bounded(template, values))
        except (Exception, Exhausted) as error:
            raise _explained(error, template) from None

    def _compile(self) -> tuple[Sandbox, Template]:
        from nextok.backends.template_sandbox import Sandbox

        if len(self.source) > MAX_SOURCE:
            raise TemplateError(f"the chat template is longer than {MAX_SOURCE:,} characters")
        sandbox, long = Sandbox(), len(self.source) > _SHORT_SOURCE
        try:
            with sandbox.allowance.enforced(lines=False) if long else nullcontext():
                return sandbox, sandbox.from_string(self.source)
        except (Exception, Exhausted) as error:
            raise TemplateError(
                f"the chat template is broken{_broken(error)} "
                "(--chat-template takes another, --raw needs none)"
            ) from None

    def _strftime(self, pattern: str) -> str:
        self._moment = self._moment or self._now()
        if len(pattern) > 200:
            raise Exhausted("writes a date of more than 200 characters")
        return self._moment.strftime(pattern)


def _bounded(template: Template, values: dict[str, object]) -> str:
    pieces: list[str] = []
    length = 0
    for piece in template.root_render_func(template.new_context(values)):
        pieces.append(piece)
        length += len(piece)
        if length > MAX_SIZE:
            raise Exhausted(f"writes more than {MAX_SIZE:,} characters")
    return "".join(pieces)


def _checked(text: str) -> str:
    """The text, if it is Unicode: half a surrogate pair would reach the model as "?"."""
    found = SURROGATE.search(text)
    if found:
        raise ValueError(f"it writes half a surrogate pair (U+{ord(found[0]):04X}): no character")
    return text


def _broken(error: BaseException) -> str:
    """Where and why a template does not compile."""
    # Deep templates are too much for jinja's parser, or Python's, or its compiler.
    deep = isinstance(error, SyntaxError) and "too many" in str(error)
    if deep or isinstance(error, (RecursionError, MemoryError)):
        return ": it is nested too deep, or an expression in it is too long"
    # Of a SyntaxError the line is not the template's.
    line = None if isinstance(error, SyntaxError) else getattr(error, "lineno", None)
    return f"{f' in line {line}' if isinstance(line, int) else ''}: {_words(error)}"


def _refuse(message: object = "") -> NoReturn:
    raise Refusal(str(message))


def _explained(error: BaseException, template: Template) -> TemplateError:
    line = _line(error.__traceback__, template)
    place = f", line {line}" if line is not None else ""
    return TemplateError(f"chat template{place}: {_words(error)}")


def _line(traceback: TracebackType | None, template: Template) -> int | None:
    """The template's line that the error comes from: the innermost one."""
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _FILENAME:
            line = template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def _words(error: BaseException) -> str:
    """What an error says, on one line that is safe to show."""
    if isinstance(error, RecursionError):
        return "it calls itself without end, or what it makes is nested too deep"
    if isinstance(error, MemoryError):
        return "it uses more memory than there is"
    text = "".join(char if char.isprintable() else " " for char in str(error)[:1000])
    words = " ".join(text.split())[:300] or type(error).__name__
    return f"it {words}" if isinstance(error, Exhausted) else words
