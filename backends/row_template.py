"""A user's own template, which makes a prompt of each row of data.

Promises the text jinja renders, in the same bounds as a model's chat template: the rows come from
anywhere. A field that a row has not is an error unless the template asks whether it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nextok.backends.template_limits import MAX_SIZE, Allowance, Exhausted
from nextok.generation.errors import TemplateError

if TYPE_CHECKING:
    from jinja2 import Template

    from nextok.backends.template_sandbox import Sandbox


class RowTemplate:
    """One template. Its last newline, if it ends in one, is not part of it."""

    def __init__(self, source: str, name: str) -> None:
        """name: the file's, for messages. Raises TemplateError."""
        self._name = name
        self._sandbox, self._template = self._compiled(source)

    def render(self, fields: Mapping[str, object]) -> str:
        """The prompt for a row. Raises TemplateError, one line."""
        self._sandbox.allowance = Allowance()
        pieces: list[str] = []
        try:
            with self._sandbox.allowance.enforced():
                context = self._template.new_context(dict(fields))
                for piece in self._template.root_render_func(context):
                    pieces.append(piece)
        except (Exception, Exhausted) as error:
            raise TemplateError(f"{self._name}: {_words(error)}") from None
        if sum(map(len, pieces)) > MAX_SIZE:
            raise TemplateError(f"{self._name}: it writes more than {MAX_SIZE:,} characters")
        return "".join(pieces)

    def _compiled(self, source: str) -> tuple[Sandbox, Template]:
        from jinja2 import StrictUndefined, TemplateSyntaxError

        from nextok.backends.template_sandbox import Sandbox

        sandbox = Sandbox()
        sandbox.undefined = StrictUndefined
        try:
            with sandbox.allowance.enforced(lines=False):
                return sandbox, sandbox.from_string(source)
        except TemplateSyntaxError as error:
            raise TemplateError(f"{self._name}, line {error.lineno}: {_words(error)}") from None
        except (Exception, Exhausted) as error:
            raise TemplateError(f"{self._name}: {_words(error)}") from None


def _words(error: BaseException) -> str:
    """What an error says, on one line."""
    words = " ".join(str(error)[:300].split()) or type(error).__name__
    return f"it {words}" if isinstance(error, Exhausted) else words
