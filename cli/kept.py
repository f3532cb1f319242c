"""A single answer that belongs to a chat: taken up from a saved one, or kept as a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nextok.cli.chat.command import taken_up
from nextok.cli.chat.keeping import model_of
from nextok.cli.chat.rendering import Rendering
from nextok.cli.chat.reply import figures
from nextok.cli.chat.room import Room
from nextok.cli.console import Console
from nextok.cli.invocation import Invocation
from nextok.cli.prompting import Prompt, PromptTokens
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
    keeping: Keeping
    resolved: Resolved
    """With the model that the chat was with, unless another one was asked for."""

    def tokens(
        self, weights: Weights, console: Console, *, limit: int | None = None
    ) -> PromptTokens:
        """The conversation as a prompt, its oldest messages dropped if they must be."""
        rendering = Rendering(weights, self.resolved.prompt, console)
        most = self.resolved.stops.max_tokens
        if limit is not None:
            room = Room(rendering, limit, console.note)
            room.make(self.conversation, mode=self.resolved.chat.on_full, max_tokens=most)
        return rendering.tokens(self.conversation.messages())

    def end(self, outcome: Outcome, model: str) -> None:
        """Keep the answer, however it ended."""
        self.conversation.set_model(model)
        if outcome.finish.completion_tokens:
            self.conversation.reply(
                outcome.text,
                reasoning=outcome.reasoning or "",
                finish=outcome.finish.reason.value,
                figures=figures(outcome, outcome.text),
            )
        self.keeping.close()


def kept_answer(prompt: Prompt, invocation: Invocation) -> KeptAnswer:
    """Put the prompt into the conversation. Raises UsageError."""
    settings, resolved = prompt.settings, invocation.resolved
    for name, given in (
        ("--raw", settings.raw), ("--messages", settings.messages), ("--prefill", settings.prefill),
    ):  # fmt: skip
        if given:
            raise UsageError(f"{name} is no turn of a chat: leave out --continue and --save")
    conversation, keeping = taken_up(invocation)
    for message in prompt.messages:
        _add(conversation, message)
    model = model_of(conversation, invocation)
    if model is not None:
        resolved = resolved.with_set({"model": model})
    return KeptAnswer(conversation, keeping, resolved)


def _add(conversation: Conversation, message: Message) -> None:
    if message.role == "system":
        conversation.set_system(message.content)
    else:
        conversation.say(message.content)
