"""From the command line to a conversation: which one, with what, and with whom in front of it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime

from nextok.backends.chat_folder import ChatFolder
from nextok.backends.folders import chats_folder, states_folder
from nextok.backends.kv_store import KvStore
from nextok.cli.chat.keeping import Keeping
from nextok.cli.chat.keyboard import own_keyboard
from nextok.cli.chat.reply import Stage
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.cli.chat.session import Session
from nextok.cli.chat.turn_notes import TurnNotes
from nextok.cli.invocation import Invocation
from nextok.cli.privacy import keeps_chats
from nextok.cli.prompt import decode, joined, unescape, written
from nextok.cli.settings import PromptSettings
from nextok.cli.status import Status
from nextok.cli.stdin import read_all
from nextok.cli.watcher import Keyboard
from nextok.generation.abort import Abort
from nextok.generation.conversation import Conversation
from nextok.generation.errors import UsageError
from nextok.generation.finish import FinishReason


def chat_at_keyboard(
    invocation: Invocation, keyboard: QuietKeys, before: Sequence[str] = ()
) -> int:
    """Talk until somebody leaves; the exit code.

    before: texts that come ahead of the first message on the command line, as one with it.
    """
    from nextok.cli.chat.interactive import talk

    return talk(invocation, joined([*before, first_message(invocation)]), keyboard)


def chat_without_keyboard(invocation: Invocation) -> int:
    """Answer what standard input holds; with -i, go on at the terminal. The exit code."""
    if not invocation.resolved.chat.interactive:
        from nextok.cli.chat.piped import answer_lines

        return answer_lines(invocation, first_message(invocation))
    terminal = opened_terminal()
    text = everything(invocation.resolved.prompt)
    os.dup2(terminal, 0)
    os.close(terminal)
    with own_keyboard(0) as keyboard:
        return chat_at_keyboard(invocation, keyboard, [text])


def first_message(invocation: Invocation) -> str:
    """What the command line says. Raises UsageError for text that cannot be read."""
    settings = invocation.resolved.prompt
    return written(settings.prompt or "", "the prompt", settings)


def opened_terminal() -> int:
    """What is to become standard input. Raises UsageError when there is none."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"-i needs a terminal to go on at: {error.strerror}") from error


def everything(settings: PromptSettings) -> str:
    """All of standard input as one text, without its last newline."""
    text = decode(read_all(), "standard input", settings.encoding)
    text = text.removesuffix("\n").removesuffix("\r")
    return unescape(text) if settings.escape else text


def chat_folder() -> ChatFolder:
    """Where chats are saved."""
    return ChatFolder(chats_folder())


def kv_store(cap_bytes: int) -> KvStore:
    """Where KV states are kept."""
    return KvStore(states_folder(), cap_bytes=cap_bytes)


def make_session(invocation: Invocation, keyboard: Keyboard | None) -> Session:
    """A new chat, or the one that the flags name, taken up. Raises UsageError."""
    conversation, keeping = taken_up(invocation)
    status = Status(invocation.console, time.monotonic)
    notes = TurnNotes(time.monotonic)

    def last_words(reason: FinishReason) -> None:
        status.close()
        notes.cut(reason)

    prompt = invocation.resolved.prompt
    if prompt.system is not None:
        conversation.set_system(written(prompt.system, "--system", prompt))
    return Session(
        conversation=conversation,
        keeping=keeping,
        store=kv_store(invocation.resolved.chat.state_cap),
        resolved=invocation.resolved,
        console=invocation.console,
        status=status,
        stage=Stage(
            abort=Abort(),
            clock=time.monotonic,
            keyboard=keyboard,
            last_words=last_words,
        ),
        notes=notes,
    )


def taken_up(invocation: Invocation) -> tuple[Conversation, Keeping]:
    """The conversation that the flags name, or a new one, and where it is kept."""
    resolved = invocation.resolved
    keeping = Keeping(chat_folder(), invocation.console, datetime.now)
    keeping.wanted = keeps_chats(resolved) and resolved.chat.save is not False
    conversation = Conversation(keeping.record)
    name = chosen(invocation)
    if name is not None:
        keeping.take_up(name, conversation)
    return conversation, keeping


def chosen(invocation: Invocation) -> str | None:
    """The saved chat that the flags name; None for a new one. Raises UsageError."""
    settings = invocation.resolved.chat
    if settings.resume is not None and settings.continue_last:
        raise UsageError("--continue and --resume exclude each other: choose one")
    if settings.resume is not None:
        return chat_folder().find(settings.resume)
    if not settings.continue_last:
        return None
    last = chat_folder().last()
    if last is None:
        raise UsageError("there is no chat to go on with: none is saved yet")
    return last
