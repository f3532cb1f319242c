"""A prompt in tokens without a generation: what `render` and `tokens` look at."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from nextok.backends.free_cpus import FreeCpus
from nextok.backends.threads import allowed_cpus
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import Loader
from nextok.cli.prompting import PromptTokens, read_prompt
from nextok.cli.status import Status
from nextok.cli.stdout import Stdout
from nextok.cli.watching import watching
from nextok.generation.abort import Abort

if TYPE_CHECKING:
    from nextok.backends.weights import Weights


def load_prompt(invocation: Invocation) -> tuple[PromptTokens, Weights]:
    """Read the prompt and load the model's vocabulary. Raises NextokError."""
    console = invocation.console
    prompt = read_prompt(invocation.resolved.prompt, console)
    abort, status = Abort(), Status(console, time.monotonic)
    loaded = Loader(
        resolved=invocation.resolved,
        abort=abort,
        console=console,
        status=status,
        clock=time.monotonic,
        around_fetching=lambda: watching(abort, status),
        cpus=FreeCpus(allowed_cpus()),
        vocabulary_only=True,
    ).load()
    return prompt.tokens(loaded.weights, console), loaded.weights


def plain_stdout() -> Stdout:
    """Standard output for exact text."""
    return Stdout(clock=time.monotonic, encoding=sys.stdout.encoding or "utf-8")
