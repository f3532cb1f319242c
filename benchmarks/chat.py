"""What a chat costs beside the engine: a turn, taking up a saved chat, typing.

- A turn: from a line on standard input to the first byte of the answer, in a conversation of 3,000
  tokens that the cache holds, against a bare decode of as many new tokens at the same depth.
- Resuming: a whole process, from its start to the first byte, without what such a turn takes in a
  chat that goes on, against the prefill it saves.
- Typing: from a key to its echo, with 100,000 lines of history against ten.

    python benchmarks/chat.py [--runs 9] [--tokens 3000] [--keys 200]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import models
import pexpect
from processes import ENVIRONMENT, HERE, NEXTOK, pairwise, verdict

CONTEXT = "8192"
QUESTIONS = ("And why is that so, do you think?", "What would you say to a child about it?")
TURN_BAR, RESUME_BAR, TYPING_BAR = 1.3, 0.05, 1.2


class Talk:
    """`nextok chat` through a pipe, one token a reply."""

    def __init__(self, trace: Path, *options: str) -> None:
        command = [NEXTOK, "chat", "-t", "1", "-c", CONTEXT, "-n", "1", "--temp", "0", "-q"]
        self.began = time.monotonic()
        self._trace = trace
        self._child = subprocess.Popen(
            [*command, "-m", str(models.starter()), "--trace", str(trace), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
            bufsize=0,
        )

    def say(self, text: str) -> float:
        """Seconds from the line to the first byte of the answer."""
        assert self._child.stdin and self._child.stdout
        began = time.monotonic()
        self._child.stdin.write(text.encode() + b"\n")
        self._child.stdout.read(1)
        seconds = time.monotonic() - began
        while not self._ended():  # the rest of the turn: newline, record
            time.sleep(0.01)
        os.set_blocking(self._child.stdout.fileno(), False)
        self._child.stdout.read()
        os.set_blocking(self._child.stdout.fileno(), True)
        return seconds

    def last(self, kind: str) -> dict[str, int]:
        """The last line of that type in the trace."""
        lines = [json.loads(line) for line in self._trace.read_text().splitlines()]
        return next(line for line in reversed(lines) if line["type"] == kind)

    def close(self) -> None:
        assert self._child.stdin
        self._child.stdin.close()
        self._child.wait()

    def _ended(self) -> bool:
        return '"end"' in self._trace.read_text().rstrip().rpartition("\n")[2][:20]


class Bare:
    """The engine at a depth."""

    def __init__(self, depth: int) -> None:
        self._child = subprocess.Popen(
            [
                sys.executable,
                str(HERE / "bare_turn.py"),
                str(models.starter()),
                CONTEXT,
                str(depth),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._child.stdout
        self._child.stdout.readline()

    def decode(self, tokens: int) -> float:
        """Seconds."""
        assert self._child.stdin and self._child.stdout
        print(tokens, file=self._child.stdin, flush=True)
        return float(self._child.stdout.readline())

    def close(self) -> None:
        self._child.kill()
        self._child.wait()


def turns_and_resuming(runs: int, tokens: int, folder: Path) -> None:
    """A long first message, then short turns; then the same chat in new processes."""
    talk = Talk(folder / "first.jsonl")
    talk.say("The quick brown fox jumps over the lazy dog. " * (tokens // 10))
    prefill = talk.last("end")["timings"]["prefill_s"]  # type: ignore[index]
    bare = Bare(talk.last("end")["prompt_tokens"])
    ours, theirs = [], []
    for number in range(runs):
        ours.append(talk.say(QUESTIONS[number % 2]))
        end = talk.last("end")
        theirs.append(bare.decode(end["prompt_tokens"] - end["cached_tokens"]))
    bare.close()
    talk.close()
    ratio = pairwise(ours, theirs)
    print(
        f"turn at {tokens:,} tokens: {median(ours) * 1000:.0f} ms, bare decode "
        f"{median(theirs) * 1000:.0f} ms, ratio {ratio:.3f}  {verdict(ratio, TURN_BAR)}"
    )
    times = [resumed(folder / f"{number}.jsonl") for number in range(runs)]
    seconds = median(times) - median(ours)
    print(
        f"resumed: {median(times):.2f} s from the start to the first byte, the turn included, "
        f"{seconds:.2f} without; prefill {prefill:.1f} s, ratio {seconds / prefill:.3f}  "
        f"{verdict(seconds / prefill, RESUME_BAR)}"
    )


def resumed(trace: Path) -> float:
    """Seconds from the start of a process that takes up the chat to its first byte."""
    talk = Talk(trace, "-C")
    talk.say(QUESTIONS[0])
    seconds = time.monotonic() - talk.began
    talk.close()
    return seconds


def typing(keys: int, folder: Path) -> None:
    """Two chats side by side, a key in one, then in the other."""
    few, many = (editor(folder / str(lines), lines) for lines in (10, 100_000))
    ours, theirs = [], []
    for _ in range(keys):
        ours.append(echo(many))
        theirs.append(echo(few))
    ratio = pairwise(ours, theirs)
    print(
        f"typing: {median(ours) * 1000:.1f} ms a key with 100,000 lines of history, "
        f"{median(theirs) * 1000:.1f} with 10, ratio {ratio:.3f}  {verdict(ratio, TYPING_BAR)}"
    )


def editor(home: Path, lines: int) -> pexpect.spawn[bytes]:
    """A chat with the toy model, its history that long."""
    history = home / "nextok" / "history"
    history.parent.mkdir(parents=True)
    history.write_text("".join(f"{json.dumps(f'line {number}')}\n" for number in range(lines)))
    child = pexpect.spawn(
        NEXTOK,
        ["chat", "-m", "toy"],
        env={**ENVIRONMENT, "XDG_STATE_HOME": str(home), "TERM": "xterm-256color"},  # type: ignore[arg-type]
        dimensions=(24, 80),
    )
    child.expect("> ")
    time.sleep(1)
    return child


def echo(child: pexpect.spawn[bytes]) -> float:
    """Seconds from a key to its echo."""
    while child.expect([pexpect.TIMEOUT, r"(?s).+"], timeout=0.05):
        pass
    began = time.monotonic()
    child.send("x")
    child.expect("x")
    return time.monotonic() - began


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--keys", type=int, default=200)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        turns_and_resuming(options.runs, options.tokens, Path(folder))
        typing(options.keys, Path(folder))


if __name__ == "__main__":
    main()
