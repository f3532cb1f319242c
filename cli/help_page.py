"""What `--help` prints, from the tables of commands and flags; no command's module is imported.

Rendered here and not by Typer, whose renderer imports a Markdown parser and a syntax highlighter:
250 ms a page. The panels are laid out here, too: rich's tables cost as much as all the rest.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.console import Console
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

Row = tuple[Text, Text]


class Panel(NamedTuple):
    """A box of names and what they mean."""

    title: str
    rows: Sequence[Row]
    widest: int = 34
    """Cells that a name may take before it is folded."""


Page = Sequence[Text | Panel]


def print_help(command: Command | None) -> None:
    """Print a command's page, or the root's, on standard output."""
    page = root_page() if command is None else command_page(command)
    # Through a string: on a closed pipe rich would end the process in its own way.
    sys.stdout.write(rendered(page, is_terminal(sys.stdout)))


def rendered(page: Page, terminal: bool) -> str:
    """The page as text, as wide as the terminal but no wider than reads well."""
    color = use_color("auto", terminal=terminal, environ=os.environ)
    width = max(min(shutil.get_terminal_size().columns, _WIDEST), 40)
    text = io.StringIO()
    console = Console(
        file=text,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        legacy_windows=False,
    )
    lines = (line for part in page for line in _laid_out(part, width, console))
    console.print(Text("\n").join(lines), soft_wrap=True)
    return text.getvalue()


def root_page() -> Page:
    """What nextok is, its commands, and where to read on."""
    options = [(Text(name, "bold cyan"), Text(text)) for name, text in _ROOT_OPTIONS]
    examples = [(Text(line, "green"), Text(text, "dim")) for line, text in _EXAMPLES]
    return (
        _usage("[COMMAND] [OPTIONS] [WORDS]..."),
        Text(f"\n{_SUMMARY}\n"),
        Panel("Commands", [(_command_name(one), Text(one.help)) for one in COMMANDS]),
        Panel("Options", options),
        Panel("Examples", examples, widest=52),
        _pointer(),
    )


def command_page(command: Command) -> Page:
    """A command, its words and its flags, panel by panel."""
    words = f" [{command.word}]{'...' if command.many else ''}" if command.word else ""
    parts: list[Text | Panel] = [
        _usage(f"{command.name} [OPTIONS]{words}"),
        Text(f"\n{command.help}\n"),
    ]
    if command.word:
        row = (Text(command.word, "bold yellow"), Text(command.word_help))
        parts.append(Panel("Arguments", [row]))
    flags = flags_of(command.name)
    for name in dict.fromkeys(flag.panel for flag in flags):
        parts.append(Panel(name, [_flag_row(flag) for flag in flags if flag.panel == name]))
    parts.append(Panel("Help", [(Text(_HELP_FLAG[0], "bold cyan"), Text(_HELP_FLAG[1]))]))
    parts.append(_ambient(flags))
    return parts


def _laid_out(part: Text | Panel, width: int, console: Console) -> Iterator[Text]:
    """The lines of a part of a page, none wider than it."""
    if isinstance(part, Panel):
        yield from _box(part, width, console)
    else:
        for line in part.wrap(console, width - 2, overflow="fold"):
            yield Text(" ").append_text(line)


def _box(panel: Panel, width: int, console: Console) -> Iterator[Text]:
    names = min(max(name.cell_len for name, _ in panel.rows), panel.widest, width // 2)
    texts = width - names - 6
    yield Text(f"╭─ {panel.title} ".ljust(width - 1, "─") + "╮", "dim")
    for name, text in panel.rows:
        left = name.wrap(console, names, overflow="fold")
        right = text.wrap(console, texts, overflow="fold")
        for one, other in zip_longest(left, right, fillvalue=Text()):
            yield Text.assemble(
                ("│ ", "dim"), _filled(one, names + 2), _filled(other, texts), (" │", "dim")
            )
    yield Text("╰" + "─" * (width - 2) + "╯", "dim")


def _filled(line: Text, cells: int) -> Text:
    line = line.copy()
    line.pad_right(cells - line.cell_len)
    return line


def _usage(pieces: str) -> Text:
    return Text.assemble("\n", ("Usage: ", "yellow"), ("nextok ", "bold"), (pieces, "bold"))


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
