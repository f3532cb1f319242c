"""The commands by name: what each is for, and where it lives. Imports none of them.

A command's module has a function of the command's name: `def show(invocation: Invocation) -> int`.
"""

from typing import Literal, NamedTuple, TypeAlias, get_args

CommandName: TypeAlias = Literal[
    "generate", "chat", "chats", "render", "tokens", "show",
    "pull", "ls", "rm", "search", "alias", "default", "verify", "prune",
    "cache", "info", "config", "plot", "batch", "bench", "stats", "log", "forget", "lab",
]  # fmt: skip
DEFAULT: CommandName = "generate"
TALK: CommandName = "chat"
"""What is meant at a terminal when there is no prompt."""


class Command(NamedTuple):
    """One command of the table."""

    name: CommandName
    help: str
    word: str | None = None
    """What its words are called in the help; None if it takes none."""
    many: bool = False
    """Whether it takes any number of words."""
    word_help: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Where its function is."""
        return f"nextok.cli.{self.name}"


_PROMPT_HELP = "What to say to the model; several words are joined by spaces."

COMMANDS: tuple[Command, ...] = (
    Command(
        name="generate",
        help="Answer a prompt, one token at a time. The default: its name may be left out.",
        word="PROMPT",
        many=True,
        word_help=_PROMPT_HELP,
        aliases=("gen",),
    ),
    Command(
        name="chat",
        help="Talk with a model; `nextok` alone on a terminal does the same.",
        word="PROMPT",
        many=True,
        word_help="The first message.",
    ),
    Command(
        name="chats",
        help="List the saved chats; with words, those that say them.",
        word="WORDS",
        many=True,
        word_help="What a chat must say; with --rename, the old and the new name.",
    ),
    Command(
        name="render",
        help="Print the exact text the model would get.",
        word="PROMPT",
        many=True,
        word_help=_PROMPT_HELP,
    ),
    Command(
        name="tokens",
        help="Print the tokens of a prompt: ids and pieces.",
        word="PROMPT",
        many=True,
        word_help=_PROMPT_HELP,
    ),
    Command(
        name="show",
        help="Print what a model file is, from its header alone.",
        word="MODEL",
        word_help="A .gguf file, an alias, or part of a local model's name.",
    ),
    Command(
        name="pull",
        help="Fetch a model from the hub, checked; a cut download goes on where it was.",
        word="REF",
        word_help="owner/repo[:QUANT], owner/repo/file.gguf, an address of the hub, or an alias.",
    ),
    Command(
        name="ls",
        help="List the models on this machine, other tools' included.",
        aliases=("list",),
    ),
    Command(
        name="rm",
        help="Remove a model, after saying what that frees.",
        word="MODEL",
        word_help="A name as `nextok ls` prints it, or part of one.",
    ),
    Command(
        name="search",
        help="Search the hub for GGUF models, the most downloaded first.",
        word="WORDS",
        many=True,
        word_help="What the name must hold; several words are joined by spaces.",
    ),
    Command(
        name="alias",
        help="Give a model a short name; without words, list the names there are.",
        word="NAME REF",
        many=True,
        word_help="The new name, then the model it stands for.",
    ),
    Command(
        name="default",
        help="Say which model answers when none is named.",
        word="REF",
        word_help="A .gguf file, an alias, a hub reference, or part of a local name.",
    ),
    Command(
        name="verify",
        help="Compute models' checksums again.",
        word="MODEL",
        word_help="A name as `nextok ls` prints it, or a file; without one, every model.",
    ),
    Command(
        name="prune",
        help="Remove what interrupted downloads left, and revisions nothing names any more.",
    ),
    Command(
        name="plot",
        help="Draw the latency of every token of a trace, here or (-o) as a picture.",
        word="TRACE",
        many=True,
        word_help="Files that --trace wrote, - for standard input; several are overlaid.",
    ),
    Command(
        name="batch",
        help="Answer many prompts, several at a time: a line each in, a line of JSON each out.",
        word="PROMPTS",
        word_help="A file with a prompt a line, plain or as a JSON object; - is standard input.",
    ),
    Command(
        name="bench",
        help="Measure how fast a model reads and writes here; with --compare, two of them.",
        word="MODEL",
        many=True,
        word_help="The same as -m; with --compare, the two models.",
    ),
    Command(
        name="stats",
        help="Show how generations ended, how long they were, and how long they took.",
    ),
    Command(
        name="log",
        help="List the last generations of the journal, or remove old ones.",
        word="prune REST",
        many=True,
        word_help="`prune AGE|DATE|SIZE` is the same as --prune.",
    ),
    Command(
        name="forget",
        help="Take away what nextok keeps: journal, saved chats, input history, KV states.",
        word="WHAT",
        many=True,
        word_help="journal, chats, history, states; without a word you are asked.",
    ),
    Command(
        name="cache",
        help="Say what is kept of what models have read of chats and prompts, or remove it.",
        word="ls|size|clear",
        word_help="List it (that is meant without a word), sum it up, or remove it all.",
    ),
    Command(
        name="lab",
        help="Show what a model's loop does and costs, by experiments; without a word, list them.",
        word="NAME",
        word_help="An experiment's name, or all.",
    ),
    Command(name="info", help="Print versions, the engine's build, folders and their sizes."),
    Command(
        name="config",
        help="Print every effective setting and where it comes from.",
        word="COMMAND",
        word_help="The command whose settings are meant.",
    ),
)

NAMES: tuple[CommandName, ...] = get_args(CommandName)


def find(word: str) -> Command | None:
    """The command of that name or alias."""
    return next((one for one in COMMANDS if word == one.name or word in one.aliases), None)
