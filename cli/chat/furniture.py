"""What stands around a chat at a terminal: the screen, the session, who replies, how it is shown.

Made once from the command line, and used by the loop; knows no loop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from nextok.cli.chat.command import make_session
from nextok.cli.chat.partner import Partner
from nextok.cli.chat.replies import Replies
from nextok.cli.chat.screen import Screen
from nextok.cli.chat.screen_console import on_screen
from nextok.cli.chat.terminal_state import Leaving, TerminalState
from nextok.cli.chat.turn_taking import TurnTaking
from nextok.cli.console import knows_codes, use_color
from nextok.cli.stdout import Stdout, open_terminal
from nextok.cli.trace import opened_trace

if TYPE_CHECKING:
    from nextok.cli.chat.reply_mode import QuietKeys
    from nextok.cli.invocation import Invocation
    from nextok.cli.settings import OutputSettings


class Furniture:
    """All of it."""

    def __init__(
        self, invocation: Invocation, keyboard: QuietKeys, interrupted: Callable[[], None]
    ) -> None:
        """interrupted: told when Ctrl-C has ended something.

        Raises UsageError for a saved chat that cannot be taken up.
        """
        output = invocation.resolved.output
        encoding = sys.stdout.encoding or "utf-8"
        stdout = Stdout(clock=time.monotonic, encoding=encoding)
        terminal = stdout if stdout.is_terminal else open_terminal(time.monotonic, encoding)
        self.terminal = terminal.descriptor
        """Shows the prompt, wherever the replies go."""
        self.screen = made_screen(terminal, output, invocation.environ)
        invocation = invocation._replace(console=on_screen(invocation.console, self.screen))
        self.state = TerminalState(keyboard, self.screen)
        self.session = make_session(invocation, self.state)
        self.session.note = self.screen.aside
        self.leaving = Leaving(self.state, stdout)
        self.partner = Partner(
            self.session, invocation, self.screen, keyboard, self.leaving.alone, interrupted
        )
        self.replies = Replies(
            session=self.session,
            stdout=stdout,
            screen=self.screen,
            output=output,
            trace=opened_trace(invocation),
        )
        self.turns = TurnTaking(
            session=self.session,
            partner=self.partner,
            replies=self.replies,
            screen=self.screen,
            leaving=self.leaving,
            interrupted=interrupted,
            shows_figures=output.stats,
        )


def made_screen(terminal: Stdout, output: OutputSettings, environ: Mapping[str, str]) -> Screen:
    """The screen on this terminal, as the flags and the environment want it."""
    return Screen(
        terminal,
        color=use_color(output.color, terminal=True, environ=environ),
        draws=knows_codes(environ),
        quiet=output.quiet,
    )
