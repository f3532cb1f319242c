"""nextok as Typer sees it: commands and options by name, for shells that complete them.

Built from the same tables a run uses; it never runs a command.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from nextok.cli.commands import COMMANDS, DEFAULT, Command, find
from nextok.cli.completion import complete_model, complete_value
from nextok.cli.exit_codes import FAILED
from nextok.cli.flag_table import flags_of
from nextok.cli.flags import Flag
from nextok.generation.errors import UsageError

VARIABLE = "_NEXTOK_COMPLETE"


class Root(TyperGroup):
    """The root: what a command line without a command's name means, it knows from `route`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        command = find(cmd_name)
        return None if command is None else described(command)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from nextok.cli.app import route

        return super().parse_args(ctx, route(args, terminal=False) if args else args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            known = {item.value for item in found}
            default = described(find(DEFAULT) or COMMANDS[0])
            with default.make_context(DEFAULT, [], parent=ctx, resilient_parsing=True) as inner:
                offered = default.shell_complete(inner, incomplete)
            found += [item for item in offered if item.value not in known]
        return found


def serve(argv: list[str]) -> int:
    """Answer a shell, or install what makes it ask; the exit code."""
    output = io.StringIO()
    try:
        # Typer takes a closed pipe for an end like any other: what it says is written here.
        with redirect_stdout(output):
            code = _answer(argv)
    except (KeyError, ValueError, IndexError):
        if VARIABLE not in os.environ:
            raise
        return FAILED  # what a shell asks is in variables: without them there is no answer
    sys.stdout.write(output.getvalue())
    sys.stdout.flush()
    return code


def _answer(argv: list[str]) -> int:
    app = typer.Typer(cls=Root, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(nextok)
    try:
        code = get_command(app).main(args=argv, prog_name="nextok", standalone_mode=False)
    except SystemExit as end:
        code = end.code
    except typer.TyperException as error:
        raise UsageError(error.format_message()) from error
    return code if isinstance(code, int) else 0


def nextok(
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """Run local language models in the terminal."""


def described(command: Command) -> TyperCommand:
    """A command's options and words."""
    params: list[Any] = [option_of(flag) for flag in flags_of(command.name)]
    if command.word is not None:
        params.append(_argument(command))
    return TyperCommand(
        command.name, params=params, help=command.help, short_help=command.help,
        rich_markup_mode=None,
    )  # fmt: skip


def option_of(flag: Flag) -> TyperOption:
    """A flag as an option of Typer's, for its names, its help and its values."""

    def complete(ctx: Any, args: list[str], incomplete: str) -> list[str]:
        return complete_value(flag, incomplete)

    return TyperOption(
        param_decls=[flag.key, *flag.shown],
        type=bool if flag.switch else str,
        is_flag=flag.switch,
        multiple=flag.repeatable,
        help=flag.help,
        rich_help_panel=flag.panel,
        autocompletion=None if flag.switch else complete,
    )


def _argument(command: Command) -> TyperArgument:
    def complete(ctx: Any, args: list[str], incomplete: str) -> list[str]:
        if command.word in ("MODEL", "REF"):
            return complete_model(incomplete)
        if command.name == "lab":
            from nextok.cli.lab_experiments import names

            return [one for one in names() if one.startswith(incomplete)]
        choices = (command.word or "").split("|")
        if len(choices) > 1:
            return [one for one in choices if one.startswith(incomplete)]
        if command.word == "COMMAND":
            return [one.name for one in COMMANDS if one.name.startswith(incomplete)]
        return []

    return TyperArgument(
        param_decls=["words"],
        nargs=-1 if command.many else 1,
        metavar=command.word,
        autocompletion=complete,
    )
