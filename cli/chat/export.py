"""A conversation as a document: markdown to read, JSON to go on working with."""

from __future__ import annotations

import json

from nextok.cli.chat.keeping import model_title
from nextok.cli.settings import ExportFormat
from nextok.generation.conversation import Conversation, Entry


def exported(conversation: Conversation, form: ExportFormat) -> str:
    """The path that is being talked on, whole, ended by a newline; the texts as they were."""
    return _json(conversation) if form == "json" else _markdown(conversation)


def _markdown(conversation: Conversation) -> str:
    model = conversation.model
    speakers = {"user": "You", "assistant": "Model" if model is None else model_title(model)}
    parts = [f"# {conversation.title or 'Chat'}"]
    if conversation.system:
        parts += ["## System", conversation.system]
    for entry in conversation.entries():
        parts += [f"## {speakers[entry.role]}", entry.content.strip("\n")]
        if entry.finish == "interrupted":
            parts.append("*(interrupted)*")
    return "\n\n".join(parts) + "\n"


def _json(conversation: Conversation) -> str:
    """`messages` is what `nextok --messages` reads."""
    system = [{"role": "system", "content": conversation.system}] if conversation.system else []
    document = {
        "title": conversation.title,
        "model": conversation.model,
        "messages": [*system, *map(_message, conversation.entries())],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _message(entry: Entry) -> dict[str, object]:
    message: dict[str, object] = {"role": entry.role, "content": entry.content}
    if entry.reasoning:
        message["reasoning_content"] = entry.reasoning
    if entry.finish:
        message["finish_reason"] = entry.finish
    return message
