"""From the command line to a command and back: which one is meant, its settings, its errors.

A run does not import Typer: it costs 60 to 90 ms, as much as all of ours. The surface it
describes (`nextok.cli.surface`) is for shells that complete and is imported for them alone.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import TextIO, TypeAlias

from nextok.cli import arguments
from nextok.cli.arguments import Arguments
from nextok.cli.commands import COMMANDS, DEFAULT, TALK, Command, find
from nextok.cli.config_file import config_path, read_config
from nextok.cli.console import console_for, is_terminal
from nextok.cli.exit_codes import ANSWERED, DISCONNECTED, INTERRUPTED, code_of
from nextok.cli.invocation import Invocation
from nextok.cli.resolution import Resolved, resolve
from nextok.cli.spelling import distance
from nextok.cli.start import Start
from nextok.generation.errors import NextokError, OutputError, UsageError

COMPLETION_VARIABLE = "_NEXTOK_COMPLETE"
COMPLETION_FLAGS = ("--install-completion", "--show-completion")

CommandFunction: TypeAlias = Callable[[Invocation], int]


def run(argv: list[str], start: Start) -> int:
    """Run one command line; the exit code, every error told in one line on standard error."""
    _write_utf8(sys.stdout)
    return _Run(start, os.environ).code(argv)


def route(argv: list[str], *, terminal: bool) -> list[str]:
    """The command line with its command named, or the root's own flag first."""
    roots = (*arguments.HELP, arguments.VERSION, *COMPLETION_FLAGS)
    if argv and (argv[0] in roots or find(argv[0])):
        return argv
    return [TALK if terminal and asks_nothing(argv) else DEFAULT, *argv]


def asks_nothing(argv: list[str]) -> bool:
    """Whether there is no prompt in it, and no flag that a chat could not have."""
    try:
        typed = arguments.parse(argv, TALK)
    except UsageError:
        return False
    return not (typed.words or typed.help or typed.version)


class _Run:
    """One command line on its way; knows how to report whatever goes wrong at any point of it."""

    def __init__(self, start: Start, environ: Mapping[str, str]) -> None:
        self._start = start
        self._environ = environ
        self._console = console_for(sys.stderr, "auto", environ)
        self._debug = environ.get("NEXTOK_DEBUG") in ("1", "true")
        self._wants_json = False
        """Asked for JSON by a command that has not begun: it cannot say itself that it failed."""

    def code(self, argv: list[str]) -> int:
        self._debug = self._debug or "--debug" in argv
        self._wants_json = not {"--json", "--jsonl"}.isdisjoint(argv)
        try:
            if COMPLETION_VARIABLE in self._environ:
                return _surface(argv)
            return self._dispatch(argv)
        except (Exception, KeyboardInterrupt) as error:
            return self._report(error)

    def _dispatch(self, argv: list[str]) -> int:
        first, *rest = route(argv, terminal=is_terminal(sys.stdin))
        if first in COMPLETION_FLAGS:
            self._check_stdout()
            return _surface([first, *rest])
        command = find(first)
        if command is None:
            self._check_stdout()
            return _print_version() if first == arguments.VERSION else _print_help(None)
        typed = arguments.parse(rest, command.name)
        if typed.help or typed.version:
            self._check_stdout()
            return _print_version() if typed.version else _print_help(command)
        check_words(command, typed)
        if not find(argv[0] if argv else DEFAULT):
            check_spelling(typed)
        return self._execute(command, typed)

    def _execute(self, command: Command, typed: Arguments) -> int:
        config = read_config(config_path(self._environ))
        resolved = resolve(command.name, given(command, typed), self._environ, config)
        self._listen(resolved)
        self._check_stdout()
        function: CommandFunction = getattr(importlib.import_module(command.module), command.name)
        self._wants_json = self._wants_json and command.name != DEFAULT
        return function(
            Invocation(
                command=command.name,
                words=typed.words,
                resolved=resolved,
                start=self._start,
                console=self._console,
                environ=self._environ,
            )
        )

    def _listen(self, resolved: Resolved) -> None:
        output = resolved.output
        self._debug = output.debug
        self._console = console_for(sys.stderr, output.color, self._environ, quiet=output.quiet)

    def _check_stdout(self) -> None:
        if self._start.stdout_closed:
            raise OutputError("standard output is closed: there is nowhere to write to")

    def _report(self, error: BaseException) -> int:
        code = code_of(error)
        if code in (DISCONNECTED, INTERRUPTED):
            return code
        if self._debug:
            import traceback

            traceback.print_exception(error)
        if self._wants_json and not self._start.stdout_closed:
            from nextok.cli.answer import json_text

            with contextlib.suppress(OSError):  # it may be what failed
                print(json_text({"error": describe(error), "code": code}), flush=True)
        self._console.error(describe(error))
        return code


def describe(error: BaseException) -> str:
    """What to tell the user."""
    if isinstance(error, NextokError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return "too many open files: raise the limit (ulimit -n)"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'cannot write'}: {error.strerror}"
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"internal error: {what} (run again with --debug)"


def check_words(command: Command, typed: Arguments) -> None:
    """Refuse more words than the command takes."""
    if command.many or len(typed.words) <= (1 if command.word else 0):
        return
    if command.word is None:
        raise UsageError(
            f"`nextok {command.name}` takes no words, only options: {typed.words[0]!r}"
        )
    together = " ".join(typed.words)
    raise UsageError(
        f"`nextok {command.name}` takes one {command.word}, not {len(typed.words)} words: "
        f'quote what belongs together ("{together}")'
    )


def check_spelling(typed: Arguments) -> None:
    """Refuse a lone word that is most likely a command's name with a slip in it."""
    if len(typed.words) != 1 or typed.literal or len(typed.words[0]) < 3:
        return
    (word,) = typed.words
    if word.split() != [word]:
        return
    for command in COMMANDS:
        if len(command.name) > 2 and distance(word, command.name) == 1:
            raise UsageError(
                f"there is no command {word}: did you mean {command.name}? "
                f"(as a prompt: nextok {DEFAULT} {word})"
            )


def given(command: Command, typed: Arguments) -> Mapping[str, object]:
    """The flags' values, a prompt's words among them."""
    if command.word != "PROMPT" or not typed.words:
        return typed.values
    if "prompt" in typed.values:
        raise UsageError("the prompt is given twice, with -p and as an argument: choose one")
    return {**typed.values, "prompt": " ".join(typed.words)}


def _write_utf8(stream: TextIO) -> None:
    """A pipe gets UTF-8 in every locale; a terminal what it says it can show."""
    if isinstance(stream, io.TextIOWrapper):
        if is_terminal(stream):
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def _print_version() -> int:
    from nextok.cli.version import version

    print(f"nextok {version()}")
    return ANSWERED


def _print_help(command: Command | None) -> int:
    from nextok.cli.help_page import print_help

    print_help(command)
    return ANSWERED


def _surface(argv: list[str]) -> int:
    from nextok.cli.surface import serve

    return serve(argv)
