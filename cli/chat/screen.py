"""What the chat itself says on the terminal: lines, dim or plain, between the messages."""

from __future__ import annotations

from collections.abc import Sequence

from nextok.cli.console import one_line, visible
from nextok.cli.stdout import Stdout

DIM, BOLD, PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"


class Screen:
    """A terminal, whatever standard output is."""

    def __init__(self, terminal: Stdout, *, color: bool, draws: bool, quiet: bool) -> None:
        """draws: whether the terminal obeys escape codes at all."""
        self.color = color
        self.draws = draws
        self._terminal = terminal
        self._quiet = quiet

    def say(self, text: str, *, dim: bool = False) -> None:
        """What was asked for, any number of lines."""
        self._write(self.dim(visible(text)) if dim else visible(text))

    def note(self, text: str) -> None:
        """One dim line; silenced by -q."""
        if not self._quiet:
            self._write(self.dim(one_line(text)))

    def trouble(self, text: str) -> None:
        """One line about what did not work."""
        label = f"{BOLD}error:{PLAIN}" if self.color else "error:"
        self._write(f"{label} {one_line(text)}")

    def rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Two columns, the second dim."""
        width = max((len(left) for left, _ in rows), default=0)
        for left, right in rows:
            self._write(f"  {visible(left):<{width}}  {self.dim(visible(right))}".rstrip())

    def blank(self) -> None:
        """An empty line; silenced by -q."""
        if not self._quiet:
            self._write("")

    def dim(self, text: str) -> str:
        return f"{DIM}{text}{PLAIN}" if self.color and text else text

    def ask_terminal(self, codes: str) -> None:
        """Escape codes that the user has asked for."""
        self._terminal.style(codes)

    def _write(self, text: str) -> None:
        self._terminal.drawn(text + "\n")
