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
from types import FunctionType
from typing import Any

from jinja2.ext import loopcontrols
from jinja2.filters import make_attrgetter
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter

from nextok.backends.template_code import BoundedCode, GenerationTags
from nextok.backends.template_limits import Allowance, Exhausted
from nextok.backends.template_sizes import FILTER_SIZES, METHOD_SIZES, pairs_of

_MAX_BITS = 65_536
_LONG_FIELD = re.compile(r"%(?:\([^)]*\))?[^a-zA-Z%(]*(?:\d{5}|\*)")
_SCOPES = ("_loop_vars", "_block_vars")  # what jinja adds to each call inside a loop or block
_UNSUPPORTED_METHODS = ("translate", "maketrans", "to_bytes", "from_bytes", "fromhex", "fromkeys")
_UNSUPPORTED_FILTERS = ("random", "urlize", "wordwrap", "xmlattr", "pprint")


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja as chat templates know it. `allowance` is set anew for each rendering."""

    code_generator_class = BoundedCode
    intercepted_binops = frozenset(["+", "*", "**", "%", "//"])

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
        for name, function in self.tests.items():
            self.tests[name] = _in_python(function)
        self.globals["dict"] = self._dict

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
        if owner is not None and getattr(__obj, "__name__", None) in _UNSUPPORTED_METHODS:
            raise Exhausted(f"calls {__obj.__name__}, which no chat template needs")
        if isinstance(owner, (str, bytes, int)):
            named = {name: value for name, value in kwargs.items() if name not in _SCOPES}
            args = __self._check_method(owner, __obj.__name__, args, named)
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
        if name == "join" and len(args) == 1:
            parts = list(args[0])
            self.allowance.expect(
                sum(map(self.allowance.size, parts)) + len(owner) * max(len(parts) - 1, 0)
            )
            return (parts,)
        size = METHOD_SIZES.get(name)
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
        size = FILTER_SIZES.get(name)

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            given = args[1:] if context_first else args
            for value in given:
                self.allowance.size(value)
            if size is not None:
                self.allowance.expect(size(*given, **kwargs))
            return self.allowance.made(function(*args, **kwargs))

        return guarded

    # A global and filters of our own.

    def _dict(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """Keys can be chosen so that every two of them collide."""
        if args and not isinstance(args[0], Mapping):
            args = (list(args[0]), *args[1:])
            pairs_of(args[0], args[0])
        return dict(*args, **kwargs)

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


def _in_python(test: Any) -> Callable[..., Any]:
    """A test whose call is a step: those that are C functions (operator.eq) would be none."""
    if isinstance(test, FunctionType):
        return test
    return lambda *args: test(*args)


def _check_number(operator: str, left: float, right: float) -> None:
    """Whole numbers have no size limit of their own."""
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = left.bit_length() + right.bit_length()
    if operator == "**":
        bits = left.bit_length() * abs(right)
    if operator in ("*", "**") and bits > _MAX_BITS:
        raise Exhausted("computes a number of thousands of digits")
