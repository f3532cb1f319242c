"""The jinja environment that chat templates are rendered in: theirs is not to be trusted.

Promises what the reference (Transformers' apply_chat_template) offers to templates, no way to
Python, and that every operation that could make something big asks the allowance first. Imports
jinja2, so it is imported where a template is rendered and nowhere else.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import make_attrgetter
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter

from nextok.backends.template_limits import Allowance, Exhausted

_MAX_BITS = 65_536
_LONG_FIELD = re.compile(r"%(?:\([^)]*\))?[^a-zA-Z%(]*(?:\d{5}|\*)")
_UNSUPPORTED_FILTERS = ("random", "urlize", "wordwrap", "xmlattr", "pprint")
_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


class GenerationTags(Extension):
    """`{% generation %}` marks what an assistant said, for training; here it means nothing."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        parser.stream.skip(1)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class BoundedCode(CodeGenerator):
    """Has what jinja compiles to plain Python displays and joins pass through the allowance."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self._made(super().visit_List, node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self._made(super().visit_Dict, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._made(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        if isinstance(node.arg, nodes.Slice):
            self._made(super().visit_Getitem, node, frame)
        else:
            super().visit_Getitem(node, frame)

    def _made(self, visit: Callable[..., None], node: nodes.Node, frame: Frame) -> None:
        self.write("environment.allowance.made(")
        visit(node, frame)
        self.write(")")


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja as chat templates know it. `allowance` is set anew for each rendering."""

    code_generator_class = BoundedCode
    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self) -> None:
        self.allowance = Allowance()
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationTags, loopcontrols],
            optimized=False,  # it would compute constants before any allowance is set
            finalize=self.printable,
            cache_size=0,
        )
        self.globals.pop("lipsum")
        for name in _UNSUPPORTED_FILTERS:
            self.filters.pop(name)
        self.filters.update(
            {"tojson": self._tojson, "join": self._join, "format": self._percent_filter}
        )
        for name, function in self.filters.items():
            self.filters[name] = self._guarded(name, function)

    # What generated code calls.

    def concat(self, pieces: Iterable[str]) -> str:
        """The buffer of a macro or a block as one text."""
        return self._text(list(pieces))

    def joined(self, parts: tuple[object, ...]) -> str:
        """`a ~ b`."""
        return self._text([str(self.printable(part)) for part in parts])

    def printable(self, value: object) -> object:
        """The value itself, if printing it comes to an end."""
        self.allowance.size(value)
        return value

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operator that can make something much larger than what it is given."""
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            _check_number(operator, left, right)
        elif operator == "*":
            times = next((n for n in (left, right) if isinstance(n, int)), 0)
            whole = right if isinstance(left, int) else left
            self.allowance.expect(self.allowance.size(whole) * max(times, 0))
        elif operator == "+":
            self.allowance.expect(self.allowance.size(left) + self.allowance.size(right))
        elif operator == "%" and isinstance(left, (str, bytes)):
            self._check_percent(left, right)
        return self.allowance.made(super().call_binop(context, operator, left, right))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: B902
        """A call of whatever: a macro, a method of a text, one of our functions."""
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, (str, bytes, int)):
            args = __self._check_method(owner, __obj.__name__, args, kwargs)
        for value in (*args, *kwargs.values()):
            __self.allowance.size(value)
        return __self.allowance.made(super().call(__context, __obj, *args, **kwargs))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`text.format` with the sandbox's formatter, its fields bounded."""
        if super().wrap_str_format(value) is None:
            return None
        formatter, text = BoundedFormatter(self), str(value.__self__)
        if value.__name__ == "format_map":
            return lambda mapping: formatter.vformat(text, (), mapping)
        return lambda *args, **kwargs: formatter.vformat(text, args, kwargs)

    # Checks.

    def _text(self, parts: list[str]) -> str:
        self.allowance.expect(sum(map(len, parts)))
        return self.allowance.made("".join(parts))

    def _check_method(
        self, owner: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Expect what a method of a text would make; its arguments, iterators turned to lists."""
        if name in ("translate", "to_bytes"):
            raise Exhausted(f"calls {name}, which no chat template needs")
        if name == "join" and len(args) == 1:
            parts = list(args[0])
            self.allowance.expect(
                sum(map(self.allowance.size, parts)) + len(owner) * max(len(parts) - 1, 0)
            )
            return (parts,)
        size = _SIZES.get(name)
        if size is not None and isinstance(owner, (str, bytes)):
            self.allowance.expect(size(owner, *args, **kwargs))
        return args

    def _check_percent(self, text: str | bytes, values: object) -> None:
        shown = text if isinstance(text, str) else text.decode("latin-1")
        if _LONG_FIELD.search(shown):
            raise Exhausted("formats a field of more than 9,999 characters")
        self.allowance.expect(len(shown) + shown.count("%") * (self.allowance.size(values) + 9_999))

    def _guarded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that asks the allowance before and counts after."""
        context_first = getattr(function, "jinja_pass_arg", None) is not None
        size = _FILTER_SIZES.get(name)

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            given = args[1:] if context_first else args
            for value in given:
                self.allowance.size(value)
            if size is not None:
                self.allowance.expect(size(*given, **kwargs))
            return self.allowance.made(function(*args, **kwargs))

        return guarded

    # Filters of our own.

    def _tojson(
        self,
        value: object,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """JSON as Transformers writes it for templates: nothing escaped for HTML."""
        widest = max(indent or 0, *(len(text) for text in separators or ("", "")))
        self.allowance.expect(self.allowance.size(value) * (1 + widest))
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    def _join(self, value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
        """The items as texts with `d` between them."""
        if attribute is not None:
            value = map(make_attrgetter(self, attribute), value)
        parts = [str(self.printable(item)) for item in value]
        self.allowance.expect(sum(map(len, parts)) + len(str(d)) * len(parts))
        return str(d).join(parts)

    def _percent_filter(self, value: object, *args: Any, **kwargs: Any) -> str:
        """`"%s" | format(x)`."""
        text, values = str(value), kwargs or args
        self._check_percent(text, values)
        return text % values


class BoundedFormatter(SandboxedFormatter):
    """Counts each field as it is written."""

    def __init__(self, environment: Sandbox) -> None:
        super().__init__(environment)
        self._sandbox = environment

    def format_field(self, value: Any, format_spec: str) -> Any:
        """One field; none is wider than 9,999 characters unless its value is."""
        if re.search(r"\d{5}", format_spec):
            raise Exhausted("formats a field of more than 9,999 characters")
        self._sandbox.printable(value)
        return self._sandbox.allowance.made(super().format_field(value, format_spec))


def _check_number(operator: str, left: float, right: float) -> None:
    """Whole numbers have no size limit of their own."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = left.bit_length() + right.bit_length()
    if operator == "**":
        bits = left.bit_length() * abs(right)
    if operator in ("*", "**") and bits > _MAX_BITS:
        raise Exhausted("computes a number of thousands of digits")


# About how large the result of a text's method or of a filter is, from the arguments of the
# call. A wrong call fails here as it would there, with TypeError.


def _padded(text: Any, width: int = 80, fill: object = " ") -> int:
    return max(len(str(text)), width)


def _replaced(text: Any, old: Any, new: Any, count: int | None = -1) -> int:
    size: int = len(text) + text.count(old) * len(new)
    return size


def _expanded(text: Any, tabsize: int = 8) -> int:
    return len(text) * (1 + max(tabsize, 0))


def _split(text: Any, sep: Any = None, maxsplit: int = -1) -> int:
    # Each part is an object of some 60 bytes, so parts count as eight characters.
    return 8 * (text.count(sep) if sep else len(text) // 2)


def _lines(text: Any, keepends: bool = False) -> int:
    shown = text if isinstance(text, str) else text.decode("latin-1")
    return 8 * sum(map(shown.count, _LINE_BREAKS))


_SIZES: dict[str, Callable[..., int]] = {
    "center": _padded,
    "ljust": _padded,
    "rjust": _padded,
    "zfill": _padded,
    "replace": _replaced,
    "expandtabs": _expanded,
    "split": _split,
    "rsplit": _split,
    "splitlines": _lines,
}


def _filter_replace(text: Any, old: Any, new: Any, count: int | None = None) -> int:
    return _replaced(str(text), str(old), str(new))


def _indented(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> int:
    broad = width if isinstance(width, int) else len(width)
    return len(str(text)) + (1 + _lines(str(text)) // 8) * broad


def _listed(value: Any, *args: Any, **kwargs: Any) -> int:
    return 8 * len(value) if isinstance(value, str) else 0


def _in_rows(value: Any, count: int, fill: object = None) -> int:
    return 8 * count


def _rounded(value: Any, precision: int = 0, method: str = "common") -> int:
    if abs(precision) > 100:
        raise Exhausted("rounds to more than a hundred digits")
    return 0


def _summed(value: Any, attribute: object = None, start: object = 0) -> int:
    if not isinstance(start, (int, float)):
        raise Exhausted("adds up what is no number with sum")
    return 0


_FILTER_SIZES: dict[str, Callable[..., int]] = {
    "center": _padded,
    "replace": _filter_replace,
    "indent": _indented,
    "list": _listed,
    "sort": _listed,
    "batch": _in_rows,
    "slice": _in_rows,
    "round": _rounded,
    "sum": _summed,
}
