"""The chat's screens, as the README shows them: made anew and compared with those kept.

    WRITE_SCREENS=1 pytest tests/cli/chat/test_screens.py

makes the kept ones anew.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NEXTOK = Path(sys.executable).with_name("nextok")
SCREENS = Path(__file__).parents[2] / "screens"
WRITE = bool(os.environ.get("WRITE_SCREENS"))

COLUMNS = 84
SKY = [
    "Sunlight is a mix of all colours. ",
    "Air scatters **short waves** more than long ones, ",
    "so the light that comes from *every side* is blue:\n\n",
    "| colour | wavelength | scattered |\n",
    "|:--|--:|--:|\n",
    "| blue | 450 nm | 4.4 × |\n",
    "| red | 650 nm | 1 × |\n\n",
    "The strength goes with the fourth power:\n\n",
    "```python\n",
    "def scattering(wavelength: float) -> float:\n",
    '    return (650 / wavelength) ** 4  # "Rayleigh"\n',
    "```\n\n",
    "1. At noon the way through the air is short.\n",
    "2. In the evening it is long, and **red** is left over.",
]
TALE = [
    "Once there was a fox ",
    "who read every book ",
    "in the old library, ",
    "and each night it told ",
    "the owls what it had learned. ",
]

Build = Callable[..., Path]


@pytest.fixture
def compare(screen_svg: Any) -> Callable[[Any, str, str], None]:
    """`compare(screen, name, title)`: the screen is what is kept under that name."""

    def check(screen: Any, name: str, title: str) -> None:
        rows = screen.runs()
        path = SCREENS / f"{name}.svg"
        if WRITE:
            screen_svg.write(path, title, rows, COLUMNS)
        kept = list(screen_svg.comparable(screen_svg.read(path)))
        assert list(screen_svg.comparable(rows)) == kept

    return check


def chat(terminal: Any, model: Path, *options: str, rows: int) -> Any:
    screen = terminal(
        NEXTOK, "chat", "-m", model, "-t", "1", "--temp", "0", *options,
        columns=COLUMNS, rows=rows,
    )  # fmt: skip
    wait_for_turns(screen, 0)
    return screen


def wait_for_turns(screen: Any, turns: int) -> None:
    """Until so many replies were made and the next line can be typed."""

    def so_far() -> bool:
        ready = screen.lines()[-2:]
        at_prompt = len(ready) == 2 and ready[0] == ">" and "/" in ready[1]
        return at_prompt and screen.raw.count(" new → ".encode()) == turns

    screen.wait_until(so_far)


def leave(screen: Any) -> None:
    screen.key("ctrl-d")
    assert screen.wait() == 0


def test_a_chat(terminal: Any, scripted: Build, compare: Any) -> None:
    screen = chat(terminal, scripted(SKY, stem="Llama-3.2-1B-Instruct.Q4_0"), rows=31)
    screen.send("Why is the sky blue?\r")
    wait_for_turns(screen, 1)
    compare(screen, "chat", "nextok")
    leave(screen)


def test_an_interrupt(terminal: Any, scripted: Build, compare: Any) -> None:
    """The words said so far stay, and the reply can go on."""
    silence = [("ctl", f"<|{number}|>") for number in range(2000)]
    model = scripted([*TALE, *silence], loop=True, stem="SmolLM2-360M.Q8_0")
    screen = chat(terminal, model, rows=18)
    screen.send("Tell me a story\r")
    screen.wait_for("learned.")
    screen.key("ctrl-c")
    wait_for_turns(screen, 1)
    screen.send("And the owls?")
    screen.wait_for("owls?")
    compare(screen, "interrupt", "nextok")
    screen.key("ctrl-u", "ctrl-d")
    assert screen.wait() == 0


def test_a_full_context(terminal: Any, scripted: Build, compare: Any) -> None:
    """What goes is said in one line."""
    model = scripted(TALE, loop=True, stem="SmolLM2-360M.Q8_0")
    screen = chat(terminal, model, "-c", "256", "-n", "10", rows=24)
    for turn in range(1, 5):
        screen.send(f"Tell me another story, number {turn}\r")
        wait_for_turns(screen, turn)
    compare(screen, "full", "nextok")
    leave(screen)
