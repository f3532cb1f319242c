"""Templates by name: the shapes llama.cpp gives to them, and names that do not exist."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from nextok.backends.chat_template import ChatTemplate
from nextok.backends.llama_library import library
from nextok.backends.named_templates import load_template, names, template_named
from nextok.generation.errors import TemplateError, UsageError
from nextok.generation.message import Message

TURNS = [
    Message("user", "How are you?"),
    Message("assistant", "Fine.\nYou?"),
    Message("user", "Hé 🙂"),
]
CONVERSATIONS = {
    "user": TURNS[:1],
    "turns": TURNS,
    "system": [Message("system", "Be brief."), *TURNS],
    "ends with a reply": TURNS[:2],
}
OURS_ALONE = {"alpaca"}
LLAMA_CPP_NAMES = {
    "llama2": "llama2-sys-bos",
    "mistral": "mistral-v3",
    "qwen": "chatml",
}
END = {"zephyr": "<|endoftext|>"}


def llama_cpp(name: str, messages: list[Message]) -> str:
    """The shape built into the engine, which writes no BOS at the beginning."""
    llama = library()
    chat = (llama.llama_chat_message * len(messages))()
    for entry, message in zip(chat, messages, strict=True):
        entry.role, entry.content = message.role.encode(), message.content.encode()
    buffer = ctypes.create_string_buffer(10_000)
    length = llama.llama_chat_apply_template(
        name.encode(), chat, len(messages), messages[-1].role == "user", buffer, len(buffer)
    )
    assert length > 0
    return buffer.raw[:length].decode()


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("name", sorted(set(names()) - OURS_ALONE))
def test_the_shape_is_the_engines(name: str, conversation: str) -> None:
    messages = CONVERSATIONS[conversation]
    template = ChatTemplate(template_named(name) or "", "<s>", END.get(name, "</s>"))
    text = template.render(messages, add_generation_prompt=messages[-1].role == "user")
    assert text.removeprefix("<s>") == llama_cpp(LLAMA_CPP_NAMES.get(name, name), messages)


def test_alpaca() -> None:
    template = ChatTemplate(template_named("alpaca") or "", "<s>", "</s>")
    assert template.render(CONVERSATIONS["system"][:2]) == (
        "<s>Be brief.\n\n### Instruction:\nHow are you?\n\n### Response:\n"
    )


def test_a_role_without_a_shape_is_refused() -> None:
    template = ChatTemplate(template_named("gemma") or "", "", "")
    with pytest.raises(TemplateError, match="this template has no role tool"):
        template.render([Message("tool", "x")])


def test_names_are_sorted_and_known_in_any_case() -> None:
    assert list(names()) == sorted(names())
    assert template_named("ChatML") == template_named("chatml") is not None
    assert template_named("nothing") is None


def test_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text("\ufeff{{ 'é' }}\n", encoding="utf-8")
    assert load_template(str(path)) == "{{ 'é' }}\n"


def test_a_name_goes_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chatml").write_text("mine")
    assert load_template("chatml") == template_named("chatml")
    assert load_template("./chatml") == "mine"


def test_an_unknown_name_lists_the_names_nearest_first() -> None:
    with pytest.raises(UsageError, match=r"no such name; the names are llama3, .*chatml"):
        load_template("lama3")


@pytest.mark.parametrize("content", [b"", b" \n", b"caf\xe9", b"x" * 1_000_001])
def test_a_file_that_is_no_template(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.jinja"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="odd.jinja"):
        load_template(str(path))


@pytest.mark.parametrize("name", ["", ".", "/", "a\0b", "x" * 5000])
def test_odd_names_are_usage_errors(name: str) -> None:
    with pytest.raises(UsageError):
        load_template(name)


def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(UsageError):
        load_template("/dev/zero")


def test_unknown_names_list_the_nearest_first_and_the_rest_in_order() -> None:
    with pytest.raises(UsageError) as raised:
        load_template("gemmma")
    listed = str(raised.value).rpartition("the names are ")[2].split(", ")
    assert listed[0] == "gemma" and sorted(listed) == list(names())
    with pytest.raises(UsageError) as raised:
        load_template("###")  # like none of them
    assert str(raised.value).endswith("the names are " + ", ".join(names()))
