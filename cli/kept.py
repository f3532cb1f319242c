"""A single answer that belongs to a chat: taken up from a saved one, or kept as a new one.

Promises that question and answer are kept together: of a run that came to no answer nothing is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.cli.chat.chat_settings import with_settings
from nextok.cli.chat.command import taken_up
from nextok.cli.chat.keeping import model_of, noted_model
from nextok.cli.chat.rendering import Rendering
from nextok.cli.chat.reply import COMPLETE, figures
from nextok.cli.chat.room import Room
from nextok.cli.console import Console
from nextok.cli.invocation import Invocation
from nextok.cli.prompting import Prompt, PromptTokens, check_plausible
from nextok.generation.errors import UsageError
from nextok.generation.message import Message

if TYPE_CHECKING:
    from nextok.backends.weights import Weights
    from nextok.cli.chat.keeping import Keeping
    from nextok.cli.report import Outcome
    from nextok.cli.resolution import Resolved
    from nextok.generation.conversation import Conversation


@dataclass(frozen=True)
class KeptAnswer:
    """A turn of a conversation that one run makes."""

    conversation: Conversation
    """With the question in it."""
    keeping: Keeping
    resolved: Resolved
    """With the model that the chat was with, unless another one was asked for."""

    def tokens(
        self, weights: Weights, console: Console, *, limit: int | None = None
    ) -> PromptTokens:
        """The conversation as a prompt, its oldest messages dropped if they must be."""
        rendering = Rendering(weights, self.resolved.prompt, console)
        if limit is not None:
            question = self.conversation.messages()[-1]
            check_plausible([question.content], weights, limit)
            room, chat = Room(rendering, limit, console.warning), self.resolved.chat
            most = self.resolved.stops.max_tokens
            room.make(self.conversation, mode=chat.on_full, max_tokens=most)
        return rendering.tokens(self.conversation.messages())

    def end(self, outcome: Outcome, model: str) -> None:
        """Keep the answer, however it ended, if there is one. model: what it is called."""
        reason = outcome.finish.reason
        if outcome.text or outcome.reasoning or reason in COMPLETE:
            self.conversation.set_model(noted_model(self.resolved, model))
            self.conversation.reply(
                outcome.text,
                reasoning=outcome.reasoning or "",
                finish=reason.value,
                figures=figures(outcome, outcome.text),
            )
            self.keeping.release(self.conversation.title)
        self.keeping.close()


def kept_answer(prompt: Prompt, invocation: Invocation) -> KeptAnswer | None:
    """The prompt as a turn of a conversation; None for one that cannot be, if nobody insists.

    Raises UsageError.
    """
    strange = _strange_to_chats(prompt)
    if strange is not None:
        if not _insists(invocation):
            return None
        raise UsageError(
            f"{strange} is no turn of a chat: leave out --continue, --resume and --save"
        )
    conversation, keeping = taken_up(invocation)
    keeping.hold()
    for message in prompt.messages:
        _add(conversation, message)
    model, say = model_of(conversation, invocation), invocation.console.note
    resolved = with_settings(invocation.resolved, conversation.settings, say)
    if model is not None:
        resolved = resolved.with_set({"model": model})
    return KeptAnswer(conversation, keeping, resolved)


def _strange_to_chats(prompt: Prompt) -> str | None:
    """The flag with which a prompt is not one message of a conversation."""
    settings = prompt.settings
    given = {
        "--raw": settings.raw, "--messages": settings.messages, "--prefill": settings.prefill
    }  # fmt: skip
    return next((name for name, value in given.items() if value), None)


def _insists(invocation: Invocation) -> bool:
    """Whether this command line says so, not a general setting."""
    resolved = invocation.resolved
    chat = resolved.chat
    return bool(chat.continue_last or chat.resume or resolved.origin("save") == "flag")


def _add(conversation: Conversation, message: Message) -> None:
    if message.role == "system":
        conversation.set_system(message.content)
    else:
        conversation.say(message.content)
