"""Prompts made of rows by a user's own template."""

from __future__ import annotations

import pytest

from nextok.backends.row_template import RowTemplate
from nextok.generation.errors import TemplateError


def rendered(source: str, **fields: object) -> str:
    return RowTemplate(source, "letter.j2").render(fields)


def test_fields_take_their_places() -> None:
    source = "Dear {{ name }},\n{% for item in items %}\n- {{ item }}\n{% endfor %}\nBye\n"
    assert rendered(source, name="Bo", items=[1, "two"]) == "Dear Bo,\n- 1\n- two\nBye"


def test_nothing_is_escaped() -> None:
    assert rendered("{{ a }}", a="<b> & {{ c }}") == "<b> & {{ c }}"


def test_a_field_that_is_not_there_is_an_error_unless_it_is_asked_for() -> None:
    assert rendered("{% if a is defined %}{{ a }}{% else %}none{% endif %}") == "none"
    assert rendered("{{ a | default('none') }}") == "none"
    with pytest.raises(TemplateError, match=r"^letter\.j2: 'a' is undefined$"):
        rendered("{{ a }}", b=1)


def test_a_broken_template_is_told_with_its_line() -> None:
    with pytest.raises(TemplateError, match=r"^letter\.j2, line 2: unexpected"):
        RowTemplate("fine\n{{ broken", "letter.j2")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{% for i in range(99999) %}{% for j in range(99999) %}a{% endfor %}{% endfor %}", "it "),
        ("{{ 'a' * 99999999 }}", "it makes something larger than"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ a.b.c }}", "has no attribute 'c'"),
    ],
)
def test_a_template_that_goes_too_far_is_stopped(source: str, why: str) -> None:
    with pytest.raises(TemplateError, match=f"^letter.j2: .*{why}"):
        rendered(source, a={"b": 1})
