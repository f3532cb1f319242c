"""The text a template renders, equal to the reference's; and templates that mean harm."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.chat_template import ChatTemplate
from nextok.generation.errors import TemplateError
from nextok.generation.message import Message

FAMILIES = Path(__file__).with_name("templates")
USER = [Message("user", "hi")]
CALL = {"type": "function", "function": {"name": "f", "arguments": {"b": "é<&'\"", "a": [1, None]}}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"x": {"type": "string"}}}}

CONVERSATIONS = {
    "one": USER,
    "two turns": [
        Message("user", " Wie heißt du? 日本語 🙂\n\n"),
        Message("assistant", "\tIch heiße …  "),
        Message("user", "multi\n  line\r\n"),
    ],
    "system": [Message("system", "Be brief. "), *USER],
    "empty": [Message("user", "")],
    "ends with a reply": [*USER, Message("assistant", "Hello")],
    "reasoning in the history": [
        *USER,
        Message("assistant", "<think>\nwhy\n</think>\n\nso"),
        Message("user", "and?"),
        Message("assistant", "that", {"reasoning_content": "because"}),
    ],
    "switch": [Message("system", "Answer. /no_think"), *USER],
    "tools": [
        *USER,
        Message("assistant", "", {"tool_calls": [CALL]}),
        Message("tool", "42"),
    ],
}
VARIABLES: dict[str, dict[str, Any]] = {
    "no variables": {},
    "thinking off": {"enable_thinking": False},
    "tools and documents": {"tools": [TOOL], "documents": [{"text": "one"}, {"text": "two"}]},
}


def at_noon() -> datetime:
    return datetime(2024, 2, 29, 12, 0)


Key = tuple[str, str, str]
KEYS: list[Key] = [
    (path.stem, conversation, variables)
    for path in sorted(FAMILIES.glob("*.jinja"))
    for conversation in CONVERSATIONS
    for variables in VARIABLES
]


@pytest.fixture(scope="module")
def reference() -> dict[Key, str | None]:
    """What llama-cpp-python's own formatter renders; None where it refuses."""
    requests = [
        {
            "source": family(name),
            "messages": [message.fields() for message in CONVERSATIONS[conversation]],
            "variables": VARIABLES[variables],
        }
        for name, conversation, variables in KEYS
    ]
    program = Path(__file__).with_name("reference_renderer.py")
    run = subprocess.run(
        [sys.executable, program], input=json.dumps(requests), stdout=subprocess.PIPE, text=True
    )
    return dict(zip(KEYS, json.loads(run.stdout), strict=True))


def family(name: str) -> str:
    return (FAMILIES / f"{name}.jinja").read_text(encoding="utf-8")


def render(source: str, messages: list[Message] = USER, **variables: object) -> str:
    template = ChatTemplate(source, "<|endoftext|>", "<|im_end|>", at_noon)
    return template.render(messages, variables=variables)


@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_families_render_as_the_reference_does(key: Key, reference: dict[Key, str | None]) -> None:
    source, messages, variables = family(key[0]), CONVERSATIONS[key[1]], VARIABLES[key[2]]
    wanted = reference[key]
    if wanted is None:
        with pytest.raises(TemplateError):
            render(source, messages, **variables)
    else:
        assert render(source, messages, **variables) == wanted


def test_the_generation_prompt_can_be_left_out() -> None:
    template = ChatTemplate(family("chatml"), "", "")
    text = template.render(USER, add_generation_prompt=False)
    assert text == "<|im_start|>user\nhi<|im_end|>\n"


def test_the_date_stays_the_same_for_a_session() -> None:
    days = iter([datetime(2024, 12, 31), datetime(2025, 1, 1)])
    template = ChatTemplate("{{ strftime_now('%Y') }}", "", "", lambda: next(days))
    assert template.render(USER) == template.render(USER) == "2024"


def test_the_date_is_not_read_by_a_template_that_shows_none() -> None:
    def never() -> datetime:
        raise AssertionError

    assert ChatTemplate("x", "", "", never).render(USER) == "x"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[{{ nothing }}]", "[]"),
        ("{{ {'a': 'é<&>\\''} | tojson }}", '{"a": "é<&>\'"}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ [1, 2] | join(', ') }}{{ 'a%sc' | format('b') }}", "1, 2abc"),
        ("{{ '%s-%d' % ('a', 3) }}{{ '{}{:>3}'.format(1, 2) }}", "a-31  2"),
        ("{{ messages | map(attribute='content') | join }}", "hi"),
        ("{{ 'a' ~ 1 ~ none ~ [2] }}{{ 'ab' * 2 + 'c' }}", "a1None[2]ababc"),
        ("{{ 7 % 4 }}{{ 2 ** 10 }}{{ 2 ** -1 }}", "310240.5"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m('y') }}{{ m(m(1)) }}", "<y><<1>>"),
        ("{% set x %}a{{ 1 }}{% endset %}{{ x[::-1] }}{{ [1, 2, 3][1:] }}", "1a[2, 3]"),
        ("{{ ' a b '.strip().split(' ') | length }}{{ 'x' | center(3) | upper }}", "2 X "),
    ],
)  # fmt: skip
def test_what_templates_may_use(source: str, text: str) -> None:
    assert render(source) == text


def test_variables_do_not_hide_the_conversation() -> None:
    assert render("{{ messages[0].content }}{{ x }}", messages_=1, x=2) == "hi2"
    template = ChatTemplate("{{ messages | length }}", "", "")
    assert template.render(USER, variables={"messages": "none of yours"}) == "1"


def test_rendering_changes_nothing_that_was_handed_in() -> None:
    calls = {"tool_calls": [{"x": 1}]}
    message = Message("assistant", "", calls)
    for source in ("{{ messages[0].tool_calls.append(1) }}", "{{ messages[0].update(role='x') }}"):
        with pytest.raises(TemplateError, match="unsafe"):
            render(source, [message])
    assert calls == {"tool_calls": [{"x": 1}]}


def test_a_broken_template_harms_nobody_until_it_is_used() -> None:
    template = ChatTemplate("\n{% if %}", "", "")
    with pytest.raises(TemplateError, match=r"broken in line 2: .*--chat-template"):
        template.render(USER)


def test_a_template_refuses_in_its_own_words() -> None:
    with pytest.raises(TemplateError) as raised:
        render("{# #}\n\n{{ raise_exception('Roles must\n\x1b[1malternate') }}")
    assert str(raised.value) == "chat template, line 3: Roles must [1malternate"


def test_the_line_of_an_error_is_the_templates() -> None:
    with pytest.raises(TemplateError, match="^chat template, line 3: 'a' is undefined$"):
        render("{% macro m() %}\n\n{{ a.b.c }}{% endmacro %}\n{{ m() }}")


def test_the_trace_function_is_given_back() -> None:
    def tracer(*_: object) -> None:
        return None

    previous = sys.gettrace()
    sys.settrace(tracer)
    try:
        render("x")
        with pytest.raises(TemplateError):
            render("{{ raise_exception('no') }}")
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(previous)


GROW = (
    "{{% set ns = namespace(x={start}) %}}"
    "{{% for i in range(99) %}}{{% set ns.x = {step} %}}{{% endfor %}}"
)
HOSTILE = {
    "times": "{{ 'x' * 10**9 }}",
    "times list": "{{ [0] * 10**9 }}",
    "power": "{{ 10 ** (10 ** 9) }}",
    "squares": GROW.format(start="3", step="ns.x * ns.x"),
    "doubled by +": GROW.format(start="'x'", step="ns.x + ns.x"),
    "doubled by ~": GROW.format(start="'x'", step="ns.x ~ ns.x"),
    "doubled by set": "{% set ns = namespace(x='x') %}{% for i in range(99) %}"
    "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}",
    "doubled list": GROW.format(start="[1]", step="[ns.x, ns.x]") + "{{ ns.x }}",
    "doubled tuple": GROW.format(start="(1,)", step="(ns.x, ns.x)") + "{{ {ns.x: 1} }}",
    "doubled mapping": GROW.format(start="{}", step="{'a': ns.x, 'b': ns.x}") + "{{ ns.x|tojson }}",
    "doubled dict()": GROW.format(start="{}", step="dict(a=ns.x, b=ns.x)") + "{{ ns.x|string }}",
    "doubled arguments": "{% macro m(n) %}{{ m(n - 1, varargs, varargs) if n else varargs }}"
    "{% endmacro %}{{ m(60) }}",
    "compared": "{% set a = namespace(x=[1]) %}{% set b = namespace(x=[1]) %}"
    "{% for i in range(60) %}{% set a.x = [a.x, a.x] %}{% set b.x = [b.x, b.x] %}{% endfor %}"
    "{{ a.x == b.x }}",
    "kept": "{% set ns = namespace(l=[], s='x' * 7000000) %}{% for i in range(99999) %}"
    "{% set ns.l = ns.l + [ns.s.upper()] %}{% endfor %}",
    "slices": "{% set ns = namespace(n=0, s='x' * 7000000) %}{% for i in range(99999) %}"
    "{% for p in [ns.s[1:]] %}{% set ns.n = ns.n + p|length %}{% endfor %}{% endfor %}",
    "center": "{{ 'x'.center(10**9) }}",
    "center filter": "{{ 'x' | center(1000000000) }}",
    "mapped center": "{{ ['x'] | map('center', 10**9) | list }}",
    "borrowed method": "{% set pad = 'x'.ljust %}{{ pad(10**9) }}",
    "bytes": "{{ 'x'.encode().zfill(10**9) }}",
    "tabs": "{{ ('\t' * 100000).expandtabs(100000) }}",
    "indent": "{{ ('\n' * 100000) | indent(100000) }}",
    "json indent": "{{ [[[1]]] | tojson(indent=10**9) }}",
    "format": "{{ '{:1000000000}'.format(1) }}",
    "nested format": "{{ '{:{w}}'.format(1, w=10**9) }}",
    "many fields": "{{ ('{0}' * 10000).format('x' * 100000) }}",
    "percent": "{{ '%1000000000d' % 1 }}",
    "percent star": "{{ '%*d' % (10**9, 1) }}",
    "percent filter": "{{ '%(a)1000000000d' | format(a=1) }}",
    "replace": "{{ ('x' * 100000).replace('x', 'y' * 100000) }}",
    "replace filter": "{{ ('x' * 100000) | replace('x', 'y' * 100000) }}",
    "join": "{{ ('x' * 100000).join(['a'] * 100000) }}",
    "join filter": "{{ range(100000) | join('x' * 100000) }}",
    "translate": "{{ 'xx'.translate({120: 'y' * 1000000}) }}",
    "split": "{{ ('a,' * 3000000).split(',') | length }}",
    "letters": "{{ ('é' * 7000000) | list | length }}",
    "batch": "{{ [1] | batch(10**9, 1) | list }}",
    "sum": "{{ ([[1]] * 100000) | sum(start=[]) }}",
    "round": "{{ 5 | round(-1000000000) }}",
    "range": "{{ range(10**9) | list }}",
    "output": "{% for i in range(100000) %}{{ 'x' * 100000 }}{% endfor %}",
    "loops": "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "sets": "{% for i in range(100000) %}{% for j in range(1000) %}{% set x = j %}"
    "{% endfor %}{% endfor %}",
    "recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "recursive loop": "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "nesting": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "a long source": "{{ 1 }}" * 50_000,
    "a long sum": "{{ " + "+".join(["1"] * 16_000) + " }}",
    "found from behind": "{% set x = 'a' * 4000000 %}"
    "{{ x.rfind('ab' ~ 'a' * 2000000) or x.rsplit('ab' ~ 'a' * 2000000) }}",
    "stripped": "{{ ('a' * 4000000).strip('b' * 2000000 ~ 'a') }}",
    "trimmed": "{{ ('a' * 4000000) | trim('b' * 2000000 ~ 'a') }}",
    "colliding keys": "{{ dict(range(0, 100000 * (2**61 - 1), 2**61 - 1) | batch(2)) | length }}",
    "colliding fromkeys": "{{ {}.fromkeys(range(0, 100000 * (2**61 - 1), 2**61 - 1)) }}",
    "a long number": "{{ ('f' * 7000000) | int(0, 16) % 7 }}",
    "number of bytes": "{{ (1).from_bytes(('f' * 7000000).encode()) % 7 }}",
    "words": "{{ ('a ' * 3000000) | title }}",
    "word count": "{{ ('a ' * 3000000) | wordcount }}",
    "slow filters": "{% for i in range(100000) %}"
    "{% set x = ('ab' * 3000000) | upper | lower | title | length %}{% endfor %}",
    "slow comparisons": "{% set x = 'ab' * 3900000 %}"
    "{{ [" + "'bb' in x, " * 12_000 + "] }}",
    "slow tests": "{% set x = 'a' * 7900000 %}"
    "{% set y = 'a' * 7900000 %}{{ [" + "x is eq(y), " * 10_000 + "] }}",
    "class": "{{ ''.__class__.__mro__ }}",
    "class by attr": "{{ (''|attr('__class__')).mro() }}",
    "class by format": "{{ '{0.__class__.__mro__[1]}'.format('') }}",
    "globals": "{{ raise_exception.__globals__['sys'] }}",
    "bound": "{{ strftime_now.__self__.source }}",
    "generator": "{{ (messages | map('upper')).gi_frame.f_builtins }}",
    "mutation": "{{ messages.append(1) }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}{{ os }}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_refused(name: str) -> None:
    with pytest.raises(TemplateError) as raised:
        render(HOSTILE[name])
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    "source",
    [
        "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
        "{% if 1 %}" * 150 + "{% endif %}" * 150,
        "{% for x in [1] %}" * 30 + "{% endfor %}" * 30,
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ " + "+".join(["1"] * 20_000) + " }}",
    ],
    ids=["ifs", "some ifs", "fors", "parentheses", "sum"],
)
def test_what_is_nested_too_deep_is_said_to_be(source: str) -> None:
    with pytest.raises(TemplateError, match="is broken: it is nested too deep, or .* too long"):
        render(source)


@pytest.mark.parametrize("source", ["{{ '%c' % 55296 }}", "{{ x }}", "{{ '\\udc00' }}"])
def test_half_a_surrogate_pair_is_no_text(source: str) -> None:
    with pytest.raises(TemplateError, match="half a surrogate pair"):
        render(source, x="a\ud800b")


@pytest.mark.slow
def test_hostile_templates_need_little_memory() -> None:
    """All of them in one process: Python, jinja and what they get hold of."""
    script = (
        "import pathlib, re, resource, sys\n"
        "from nextok.backends.chat_template import ChatTemplate\n"
        "from nextok.generation.errors import TemplateError\n"
        "from nextok.generation.message import Message\n"
        "for source in sys.stdin.read().split('\\0'):\n"
        "    try: ChatTemplate(source, '', '').render([Message('user', 'hi')])\n"
        "    except TemplateError as error: assert 'memory' not in str(error), error\n"
        # Linux counts the parent's memory before the exec into ru_maxrss.
        "status = pathlib.Path('/proc/self/status')\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "if status.exists(): peak = int(re.search(r'VmHWM:\\s+(\\d+)', status.read_text())[1])\n"
        "print(peak)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        input="\0".join(HOSTILE.values()),
        capture_output=True,
        text=True,
        check=True,
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(run.stdout) * unit < 300 * 2**20


def test_a_long_conversation_is_within_the_limits() -> None:
    words = "word " * 200
    turns = [Message(role, words) for _ in range(1000) for role in ("user", "assistant")]
    text = render(family("qwen"), [*turns, *USER])
    assert text.count(words) == 2000


def test_jinja_is_not_imported_before_a_template_is_used() -> None:
    script = (
        "import sys; from nextok.backends.chat_template import ChatTemplate; "
        "import nextok.backends.prompt_tokens, nextok.backends.named_templates; "
        "ChatTemplate('', '', ''); sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
