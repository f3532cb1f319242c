"""How long nextok takes to start, over bare Python, and what it imports on the way.

Measured: the whole process of the installed `nextok` (wall clock, and user + system time, which
other processes disturb less), minus the same of `python -c pass`, in turn. Commands: `--version`;
a usage error; `--help` on a terminal; and the way to the first engine call, which is a generation
that ends where `llama_model_load_from_file` would be called: settings read, prompt read, file
checked (as on a second run), engine library loaded. Then the heavy modules each one imports, by
`-X importtime`; none is wanted but rich for `--help`.

    python benchmarks/startup.py [--runs 21]

An editable install adds its import hook to both sides: measure an ordinary one.
"""

from __future__ import annotations

import argparse
import os
import pty
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from processes import NEXTOK, Ran, run, verdict

#: Stands for the engine's first call, so that the product runs unchanged up to it.
TO_ENGINE = """
import os, sys
from nextok.cli.entry import main
from nextok.backends.llama_library import library
library().llama_model_load_from_file = lambda path, params: os._exit(0)
sys.exit(main())
"""
COMMANDS = {
    "--version": ([NEXTOK, "--version"], 0.120),
    "usage error": ([NEXTOK, "--temp", "nonsense", "hi"], 0.120),
    "first engine call": ([sys.executable, "-c", TO_ENGINE, "hi"], 0.120),
    "--help": ([NEXTOK, "--help"], 0.220),
    "generate --help": ([NEXTOK, "generate", "--help"], 0.220),
}
BARE = [sys.executable, "-c", "pass"]
HEAVY = ("numpy", "llama_cpp.llama", "huggingface_hub", "jinja2", "typer", "click", "rich", "gguf")


@dataclass(frozen=True)
class Cost:
    """Seconds of one process."""

    wall: float
    cpu: float


def cost(name: str, command: Sequence[str]) -> Cost:
    """Run it once; help goes to a terminal, where it is at its most handsome."""
    ran = on_terminal(command) if name.endswith("--help") else run(command)
    if ran.code != (2 if name == "usage error" else 0):
        raise SystemExit(f"{name}: exit code {ran.code}\n{ran.err}")
    return Cost(ran.wall, ran.cpu)


def on_terminal(command: Sequence[str]) -> Ran:
    """Run a command with a terminal as its output, which is read and forgotten."""
    ours, theirs = pty.openpty()
    reader = threading.Thread(target=drain, args=(ours,))
    reader.start()
    try:
        return run(command, output=theirs)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)


def drain(descriptor: int) -> None:
    """Read until the other end is closed."""
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError:  # EIO: nobody has the terminal open any more
        return


def heavy_imports(command: Sequence[str]) -> list[str]:
    """The heavy ones among the modules a command imports."""
    arguments = command[1:] if command[0] == sys.executable else command
    listed = run([sys.executable, "-X", "importtime", *arguments]).err.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in listed if "import time:" in line}
    return [name for name in HEAVY if name in imported]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21)
    runs = parser.parse_args().runs
    bare: list[Cost] = []
    ours: dict[str, list[Cost]] = {name: [] for name in COMMANDS}
    run([NEXTOK, "-n", "0", "hi"])  # the starter's file is checked once and remembered
    for _ in range(runs):
        bare.append(cost("bare", BARE))
        for name, (command, _) in COMMANDS.items():
            ours[name].append(cost(name, command))
    wall, cpu = median(one.wall for one in bare), median(one.cpu for one in bare)
    print(f"python -c pass: {wall * 1000:.0f} ms, CPU {cpu * 1000:.0f} ms")
    for name, (command, bar) in COMMANDS.items():
        over = median(one.wall for one in ours[name]) - wall
        over_cpu = median(one.cpu for one in ours[name]) - cpu
        print(
            f"{name}: + {over * 1000:.0f} ms, CPU + {over_cpu * 1000:.0f} ms  "
            f"{verdict(over * 1000, bar * 1000)}; heavy imports: "
            f"{', '.join(heavy_imports(command)) or 'none'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
