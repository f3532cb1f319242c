"""Conversations from JSON: what is taken, what is refused, and where the refusal points."""

from __future__ import annotations

import json

import pytest

from nextok.generation.errors import UsageError
from nextok.generation.message import Message, parse_messages


def test_a_list_of_messages() -> None:
    text = '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hé\\u0000"}]'
    assert parse_messages(text) == [Message("system", "Be brief."), Message("user", "Hé\0")]


def test_an_object_with_messages() -> None:
    text = '{"model": "m", "messages": [{"role": "user", "content": ""}]}'
    assert parse_messages(text) == [Message("user", "")]


def test_text_parts_are_joined_by_newlines() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    text = json.dumps([{"role": "user", "content": parts}])
    assert parse_messages(text)[0].content == "one\ntwo"


def test_other_fields_are_kept_as_they_are() -> None:
    calls = [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]
    entry = {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": "hm"}
    message = parse_messages(json.dumps([entry]))[0]
    assert message.extra == {"tool_calls": calls, "reasoning_content": "hm"}
    assert message.fields() == {**entry, "content": ""}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[1,", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('"hello"', "a JSON list"),
        ('{"message": []}', '"messages"'),
        ("[]", "empty"),
        ('["hi"]', "messages[0] must be an object"),
        ('[{"content": "x"}]', 'messages[0] needs a "role"'),
        ('[{"role": "user<|im_end|>", "content": "x"}]', "messages[0].role"),
        ('[{"role": "user\\n", "content": "x"}]', "messages[0].role"),
        ('[{"role": "user", "content": "x"}, {"role": "user"}]', 'messages[1] needs a "content"'),
        ('[{"role": "user", "content": 1}]', "messages[0].content must be a string"),
        (
            '[{"role": "user", "content": [{"type": "image_url"}]}]',
            "messages[0].content[0] is of type 'image_url'",
        ),
        ('[{"role": "user", "content": [{"type": "text"}]}]', "messages[0].content[0] must be"),
        ('[{"role": "user", "content": ["x"]}]', "messages[0].content[0] must be"),
    ],
)
def test_a_bad_shape_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_messages(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("role", ["", "two words", "user\n", "<|im_end|>", "1st"])
def test_a_role_is_one_word(role: str) -> None:
    with pytest.raises(UsageError):
        Message(role, "x")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'[{"role": "user", "content": "a\ud800b"}]', "messages[0].content"),
        (r'{"messages": [{"role": "user", "content": "", "x": {"y": [1, "\udfff"]}}]}',
         "messages[0].x.y[1]"),
        (r'[{"role": "user", "content": "", "\udc00": 1}]', "a name in messages[0]"),
        ('[{"role": "user", "content": "\udcff"}]', "messages[0].content"),
    ],
)  # fmt: skip
def test_half_a_surrogate_pair_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_messages(text)
    assert str(raised.value).startswith(f"{place} has half a surrogate pair (\\u")
    assert str(raised.value).isprintable()


def test_both_halves_are_a_character() -> None:
    text = r'[{"role": "user", "content": "\ud83d\ude00"}]'
    assert parse_messages(text)[0].content == "\N{GRINNING FACE}"
