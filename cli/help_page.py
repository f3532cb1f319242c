"""What `--help` prints, from the tables of commands and flags; no command's module is imported.

Rendered here and not by Typer, whose renderer imports a Markdown parser and a syntax highlighter:
250 ms a page.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence

from rich.box import ROUNDED
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from nextok.cli.commands import COMMANDS, DEFAULT, Command
from nextok.cli.console import is_terminal, use_color
from nextok.cli.flag_table import flags_of
from nextok.cli.flags import Flag

_WIDEST = 100
_SUMMARY = "Run local language models (GGUF) in the terminal: one token at a time."
_EXAMPLES = (
    ('nextok "Why is the sky blue?"', "an answer"),
    ('git diff | nextok "Summarise this change"', "a stage in a pipe"),
    ('nextok -f notes.txt -m model.gguf "What is open?"', "a document, then the question"),
)
_ROOT_OPTIONS = (
    ("--version", "Print the version."),
    ("--install-completion", "Let this shell complete commands, flags and models."),
    ("--show-completion", "Print the script that does."),
    ("-h, --help", "Print this page; after a command, that command's."),
)
_HELP_FLAG = ("-h, --help", "Print this page.")

Row = tuple[RenderableType, RenderableType]


def print_help(command: Command | None) -> None:
    """Print a command's page, or the root's, on standard output."""
    page = root_page() if command is None else command_page(command)
    # Through a string: on a closed pipe rich would end the process in its own way.
    sys.stdout.write(rendered(page, is_terminal(sys.stdout)))


def rendered(page: RenderableType, terminal: bool) -> str:
    """The page as text, as wide as the terminal but no wider than reads well."""
    color = use_color("auto", terminal=terminal, environ=os.environ)
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    text = io.StringIO()
    console = Console(
        file=text,
        width=max(width, 40),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        legacy_windows=False,
    )
    console.print(page)
    return text.getvalue()


def root_page() -> RenderableType:
    """What nextok is, its commands, and where to read on."""
    commands = [(_command_name(one), Text(one.help)) for one in COMMANDS]
    options: list[Row] = [(Text(name, "bold cyan"), Text(text)) for name, text in _ROOT_OPTIONS]
    examples: list[Row] = [(Text(line, "green"), Text(text, "dim")) for line, text in _EXAMPLES]
    return Group(
        _usage("[COMMAND] [OPTIONS] [WORDS]..."),
        Padding(Text(_SUMMARY), (1, 1)),
        _panel("Commands", commands),
        _panel("Options", options),
        _panel("Examples", examples, widest=52),
        Padding(_pointer(), (0, 1)),
    )


def command_page(command: Command) -> RenderableType:
    """A command, its words and its flags, panel by panel."""
    words = f" [{command.word}]{'...' if command.many else ''}" if command.word else ""
    parts: list[RenderableType] = [
        _usage(f"{command.name} [OPTIONS]{words}"),
        Padding(Text(command.help), (1, 1)),
    ]
    if command.word:
        parts.append(_panel("Arguments", [(Text(command.word, "bold yellow"), command.word_help)]))
    flags = flags_of(command.name)
    for name in dict.fromkeys(flag.panel for flag in flags):
        parts.append(_panel(name, [_flag_row(flag) for flag in flags if flag.panel == name]))
    parts.append(_panel("Help", [(Text(_HELP_FLAG[0], "bold cyan"), Text(_HELP_FLAG[1]))]))
    parts.append(Padding(_ambient(flags), (0, 1)))
    return Group(*parts)


def _usage(pieces: str) -> RenderableType:
    usage = Text.assemble(("Usage: ", "yellow"), ("nextok ", "bold"), (pieces, "bold"))
    return Padding(usage, (1, 1, 0, 1))


def _panel(title: str, rows: Iterable[Row], widest: int = 34) -> RenderableType:
    table = Table(box=None, show_header=False, expand=True, pad_edge=False, padding=(0, 1))
    table.add_column(max_width=widest, overflow="fold")
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return Panel(table, title=title, title_align="left", border_style="dim", box=ROUNDED)


def _command_name(command: Command) -> Text:
    name = Text(command.name, "bold cyan")
    if command.aliases:
        name.append(f", {', '.join(command.aliases)}", "cyan")
    return name


def _flag_row(flag: Flag) -> Row:
    name = Text(", ".join(flag.shown), "bold cyan")
    if flag.kind.metavar:
        name.append(f" {flag.kind.metavar}", "yellow")
    text = Text(flag.help)
    default = default_text(flag)
    if default:
        text.append(f" [{default}]", "dim")
    if flag.aliases:
        text.append(f" (also {', '.join(flag.aliases)})", "dim")
    return name, text


def default_text(flag: Flag) -> str:
    """A default worth showing: not that of a switch, nor of what is empty or a long list."""
    if flag.switch or flag.default is None or isinstance(flag.default, (tuple, dict)):
        return ""
    return f"{flag.default:g}" if isinstance(flag.default, float) else str(flag.default)


def _pointer() -> Text:
    return Text.assemble(
        "Without a command, everything goes to ",
        (DEFAULT, "bold cyan"),
        ": its flags are on the page of ",
        (f"nextok {DEFAULT} --help", "green"),
        ".\n",
    )


def _ambient(flags: Sequence[Flag]) -> Text:
    typed = [f"--{flag.title}" for flag in flags if not flag.ambient]
    but = f" (but {', '.join(typed)}: here alone)" if typed else ""
    return Text(
        f"Flags are also NEXTOK_<FLAG> in the environment and keys of config.toml{but};"
        " nextok config shows what holds.\n",
        "dim",
    )
