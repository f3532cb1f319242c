"""A program in a pseudo-terminal, read through a screen emulator as a person reads it."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import traceback
import tty
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyte
import pytest
from wcwidth import wcswidth, wcwidth

from nextok.backends.chat_file import read_records
from nextok.cli.chat.editor import Editor, Suggestion
from nextok.cli.chat.reply_mode import QuietKeys
from nextok.generation.conversation import Conversation

HANG = 90
"""Seconds after which nothing more is expected."""
CONTROL = {f"ctrl-{letter}": chr(ord(letter) & 0x1F) for letter in "abcdefghijklmnopqrstuvwxyz"}
KEYS = CONTROL | {
    "enter": "\r",
    "tab": "\t",
    "escape": "\x1b",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "delete": "\x1b[3~",
    "shift-tab": "\x1b[Z",
    "ctrl-right": "\x1b[1;5C",
    "ctrl-left": "\x1b[1;5D",
    "ctrl-_": "\x1f",
    "alt-enter": "\x1b\r",
    "alt-b": "\x1bb",
    "alt-f": "\x1bf",
}
SGR = re.compile(rb"\x1b\[([0-9;:]*)m")
CURSOR = re.compile(rb"\x1b\[\?25([hl])")
BRACKETED_PASTE = re.compile(rb"\x1b\[\?2004([hl])")


def _screen_svg() -> Any:
    """The module tests/screen_svg.py: under importlib mode it has no name to import it by."""
    path = Path(__file__).parents[2] / "screen_svg.py"
    spec = importlib.util.spec_from_file_location("nextok_tests_screen_svg", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCREEN_SVG = _screen_svg()


class Emulator(pyte.Screen):
    """A screen that answers what a terminal is asked (where the cursor is, what it is)."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        self._texts: dict[int, str] = {}
        super().__init__(columns, rows)
        self._answer = answer

    def texts(self) -> list[str]:
        """Every row's text; only those that were drawn on since are read anew."""
        for row in self.dirty:
            self._texts[row] = self._text(row)
        self.dirty.clear()
        return [self._texts[row] for row in range(self.lines)]

    def _text(self, row: int) -> str:
        line, text, is_second_half = self.buffer[row], "", False
        for column in range(max(line, default=-1) + 1):
            char = "" if is_second_half else line[column].data
            is_second_half = wcwidth(char[:1]) == 2
            text += char
        return text.rstrip()

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    def select_graphic_rendition(self, *attributes: int, **options: Any) -> None:
        """The emulator knows no dim: here it is what is left of blinking."""
        kept: list[int] = []
        for place, one in enumerate(attributes):
            if one in (38, 48):  # an extended colour: what follows are its numbers
                kept += attributes[place:]
                break
            kept += {2: [5], 22: [22, 25]}.get(one, [one])
        super().select_graphic_rendition(*kept, **options)


class Terminal:
    """One program at a terminal of its own. Every wait is for something to be there."""

    def __init__(
        self,
        *argv: str | Path,
        columns: int = 80,
        rows: int = 24,
        cwd: Path | None = None,
        stdout: Path | None = None,
        stderr: Path | None = None,
        calls: Callable[[], int] | None = None,
        typed: str = "",
        **env: str,
    ) -> None:
        """stdout, stderr: files instead of the terminal. env: over this process's. calls: is called
        with `argv` as its sys.argv in a fork of this process, which spares it every import. typed:
        before the program starts."""
        self.raw = b""
        self._ours, self._theirs = os.openpty()
        os.set_blocking(self._ours, False)
        self._set_size(columns, rows)
        self._emulator = Emulator(columns, rows, lambda data: self.send(data))
        self._stream = pyte.ByteStream(self._emulator)
        self._modes = termios.tcgetattr(self._theirs)
        self.send(typed)
        inherited = {name: os.environ[name] for name in os.environ if name not in _SIZES}
        words, env = [str(word) for word in argv], {**inherited, "TERM": "xterm-256color", **env}
        with contextlib.ExitStack() as stack:
            out, err = (
                self._theirs if path is None else stack.enter_context(open(path, "wb"))
                for path in (stdout, stderr)
            )
            self._process = subprocess.Popen(
                words,
                stdin=self._theirs,
                stdout=out,
                stderr=err,
                env=env,
                cwd=cwd,
                start_new_session=True,
                preexec_fn=lambda: _begin(words, env, calls),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    # -- what a person does

    def send(self, text: str | bytes) -> None:
        """Type it, as bytes that a terminal sends."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        while data:
            readable, writable, _ = select.select([self._ours], [self._ours], [], HANG)
            assert readable or writable, self.picture("nobody reads the keys")
            if readable:
                self._take_output(0)
            if writable:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self._ours, data[:512]) :]

    def key(self, *names: str) -> None:
        for name in names:
            self.send(KEYS[name])

    def paste(self, text: str) -> None:
        """As terminals do it: bracketed, each line's end a carriage return."""
        self.send("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        self._take_output(0)
        self._emulator.resize(rows, columns)
        self._set_size(columns, rows)  # the kernel sends SIGWINCH

    def signal(self, number: int, pid: int = 0) -> None:
        """To the program, or to another that it has started."""
        os.kill(pid or self.pid, number)

    def hang_up(self) -> None:
        """The window is closed: the kernel sends SIGHUP. The screen stays as it was."""
        os.close(self._ours)
        self._ours = -1

    # -- what a person sees

    def lines(self) -> list[str]:
        """The screen's lines, without blanks at their ends, down to the last that has any."""
        self._take_output(0)
        lines = self._emulator.texts()
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self) -> str:
        return "\n".join(self.lines())

    def runs(self) -> list[list[tuple[str, str]]]:
        """The screen's rows as runs of text in one style: see screen_svg.py."""
        self._take_output(0)
        screen = self._emulator
        return list(SCREEN_SVG.runs_of(screen.buffer, screen.columns, screen.lines))

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row, from 0."""
        self._take_output(0)
        return self._emulator.cursor.x, self._emulator.cursor.y

    def wait_for(self, text: str) -> None:
        """Until the text is on the screen; its line breaks are the screen's."""
        self.wait_until(lambda: text in "\n".join(self.lines()), f"{text!r} does not come")

    def wait_until(self, is_so: Callable[[], bool], otherwise: str = "it does not come") -> None:
        until = time.monotonic() + HANG
        while not is_so():
            assert time.monotonic() < until, self.picture(otherwise)
            ended = self._process.poll() is not None
            self._take_output(0.05)
            assert not ended or is_so(), self.picture(f"{otherwise}: the program has ended")

    def is_running(self) -> bool:
        """After a moment in which it could end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.05)
        return self._process.poll() is None

    def wait_until_stopped(self) -> None:
        """Until a signal has stopped it."""
        until, status = time.monotonic() + HANG, 0
        while not os.WIFSTOPPED(status):
            assert time.monotonic() < until, self.picture("the program does not stop")
            self._take_output(0.05)
            _, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)

    def restore_modes(self) -> None:
        """As a shell does when it takes the terminal."""
        termios.tcsetattr(self._theirs, termios.TCSANOW, self._modes)

    def wait(self) -> int:
        """Until the program ends; its exit code, or minus the signal that killed it."""
        until = time.monotonic() + HANG
        while self._process.poll() is None:
            assert time.monotonic() < until, self.picture("the program does not end")
            self._take_output(0.05)
        self._take_output(0)
        return self._process.returncode

    def picture(self, title: str) -> str:
        """The screen, for a person who reads why a test failed."""
        rows = "\n".join(f"|{line}|" for line in self._emulator.display)
        return f"{title}\n{rows}\ncursor {self._emulator.cursor.x}, {self._emulator.cursor.y}"

    # -- how the terminal was left

    def modes_restored(self) -> bool:
        return not self.left_behind()

    def left_behind(self) -> list[str]:
        """What is not as it was: modes, colours, the cursor, bracketed paste."""
        self._take_output(0)
        found = []
        if termios.tcgetattr(self._theirs) != self._modes:
            found.append("modes")
        if _last(SGR, self.raw) not in (None, b"", b"0"):
            found.append("colours")
        if _last(CURSOR, self.raw) == b"l":
            found.append("no cursor")
        if _last(BRACKETED_PASTE, self.raw) == b"h":
            found.append("bracketed paste")
        return found

    def close(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()
        self._process.wait()
        for descriptor in (self._ours, self._theirs):
            if descriptor >= 0:
                os.close(descriptor)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _take_output(self, patience_seconds: float) -> None:
        """Whatever has come, after waiting a moment for it to come."""
        while self._ours >= 0 and select.select([self._ours], [], [], patience_seconds)[0]:
            try:
                data = os.read(self._ours, 1 << 16)
            except OSError:
                return
            self.raw += data
            self._stream.feed(data)
            patience_seconds = 0


_CLEARED = b"\x1b[2J"
_SIZES = ("COLUMNS", "LINES")
"""Variables that would hide the terminal's own size."""


def _begin(argv: list[str], env: dict[str, str], calls: Callable[[], int] | None) -> None:
    """In the child: standard input becomes its controlling terminal. No `calls`: that is all."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if calls is None:
        return
    code = 1
    try:
        os.closerange(3, 1 << 10)  # the parent waits for the end of one of them
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        sys.argv = argv
        os.environ.clear()
        os.environ.update(env)
        code = calls()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _last(pattern: re.Pattern[bytes], raw: bytes) -> bytes | None:
    found = pattern.findall(raw)
    return found[-1] if found else None


Start = Callable[..., Terminal]


@pytest.fixture
def terminal() -> Iterator[Start]:
    """`terminal(*argv, columns=80, rows=24, cwd=None, stdout=None, **env)`: see `Terminal`."""
    started: list[Terminal] = []

    def start(*argv: str | Path, **options: Any) -> Terminal:
        started.append(Terminal(*argv, **options))
        return started[-1]

    yield start
    for one in started:
        one.close()


def _line_loop() -> Any:
    """The module line_loop.py: under importlib mode it has no name to import it by."""
    path = Path(__file__).with_name("line_loop.py")
    spec = importlib.util.spec_from_file_location("nextok_chat_line_loop", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def line_loop(terminal: Start) -> Start:
    """`line_loop(*options, **as for terminal)`: the line editor alone, in line_loop.py."""
    program = _line_loop()

    def start(*options: str | Path, **others: Any) -> Terminal:
        screen = terminal("line_loop", *options, calls=program.main, **others)
        screen.wait_for(">")
        return screen

    return start


class Typist:
    """A line editor at a pseudo-terminal in this process: quick, where no screen is needed."""

    def __init__(self) -> None:
        self._ours, self._theirs = os.openpty()
        os.set_blocking(self._ours, False)
        tty.setraw(self._theirs, termios.TCSANOW)  # what is typed early is kept as it is
        self._no_terminal = os.open(os.devnull, os.O_RDWR)
        self.notes: list[str] = []
        self.clock: Callable[[], float] = lambda: 100.0
        """It stands still: each press of a key comes soon after the one before."""
        self.bottom_line: Callable[[], list[tuple[str, str]]] = list
        self.editor = self.another()

    def another(
        self,
        *,
        history: Path | None = None,
        complete: Callable[[str], Iterable[Suggestion]] = lambda text: (),
        **environ: str,
    ) -> Editor:
        """Another editor at the same terminal; from now on it is this one's."""
        self.editor = Editor(
            history=history,
            complete=complete,
            bottom_line=lambda: self.bottom_line(),
            color=True,
            output=self._theirs,
            keyboard=self._theirs,
            clock=lambda: self.clock(),
            note=self.notes.append,
            environ={"TERM": "xterm", **environ},
            # Its modes make Ctrl-C a signal, and nobody would get it: here are no processes.
            quiet=QuietKeys(self._no_terminal),
        )
        return self.editor

    def read(self, keys: str = "", *, default: str = "", quiet_until: float = 0.0) -> str:
        """What comes of typing these, at once: `read("helo<left>l<enter>")`, see KEYS."""
        with _no_longer_than(HANG):
            os.write(self._ours, as_bytes(keys))
            try:
                return self.editor.read(default=default, quiet_until=quiet_until)
            finally:
                self.drawn = os.read(self._ours, 1 << 20)

    @property
    def modes(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def close(self) -> None:
        for descriptor in (self._ours, self._theirs, self._no_terminal):
            os.close(descriptor)


def as_bytes(keys: str) -> bytes:
    """What a terminal sends: key names in angle brackets, `<paste:...>` in brackets of its own."""

    def sent(found: re.Match[str]) -> str:
        pasted = found[1].removeprefix("paste:")
        if pasted != found[1]:
            return "\x1b[200~" + pasted.replace("\n", "\r") + "\x1b[201~"
        return KEYS[found[1]]

    text = re.sub(r"<(paste:[^>]*|[a-z]+(?:-[a-z_]+)?)>", sent, keys)
    return text.encode("utf-8", "surrogateescape")


@contextlib.contextmanager
def _no_longer_than(seconds: int) -> Iterator[None]:
    def fail(number: int, frame: object) -> None:
        raise AssertionError("the keys do not send anything")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def typist() -> Iterator[Typist]:
    """`typist.read("helo<left>l<enter>")`: see `Typist`."""
    made = Typist()
    yield made
    made.close()


@pytest.fixture
def screen_svg() -> Any:
    """Draws and compares screens: tests/screen_svg.py."""
    return SCREEN_SVG


NEXTOK = Path(sys.executable).with_name("nextok")


class Talk(Terminal):
    """`nextok chat` at a terminal of its own, and what it keeps."""

    prompts = 0
    """How often a line could be typed, when it was last waited for."""

    def at_prompt(self) -> bool:
        """Whether an empty one waits: nothing is typed, and the line about the state is below."""
        lines = self.lines()
        return lines[-2:-1] == [">"] and self.cursor == (2, len(lines) - 2)

    def wait_for_prompt(self) -> None:
        """Until it waits once more."""
        self.wait_until(
            lambda: self._prompts_so_far() > self.prompts and self.at_prompt(),
            "the prompt does not come",
        )
        self.prompts = self._prompts_so_far()

    def say(self, text: str) -> list[str]:
        """Type a line on an empty screen and send it; all that comes of it up to the next prompt,
        without the blank lines around."""
        self._clear()
        self.send(text + "\r")
        self.wait_for_prompt()
        room = self._emulator.columns - 2  # beside the mark
        rows = -(-wcswidth(text) // room)
        return "\n".join(self.lines()[rows:-2]).strip("\n").split("\n")

    def _clear(self) -> None:
        """The screen, down to an empty prompt at its top."""
        before = self.raw.count(_CLEARED)
        self.key("ctrl-l")
        self.wait_until(
            lambda: self.raw.count(_CLEARED) > before and self.at_prompt(),
            "the screen is not cleared",
        )
        self.prompts = self._prompts_so_far()

    def _prompts_so_far(self) -> int:
        return self.raw.count(b"\x1b[?2004h")

    def leave(self) -> int:
        """By the key for it; the exit code."""
        self.key("ctrl-d")
        return self.wait()

    def saved(self, name: str = "") -> Conversation:
        """The chat as its file has it: the one of that name, or the one written last."""
        paths = (_state() / "chats").glob(f"{name or '*'}.jsonl")
        conversation = Conversation()
        path = max(paths, key=lambda one: one.stat().st_mtime_ns)
        assert not read_records(path, conversation.apply).bad_count
        return conversation

    def messages(self, name: str = "") -> list[str]:
        """The texts on the path that is talked on, as they are saved."""
        return [entry.content for entry in self.saved(name).entries()]


@pytest.fixture
def talk(known_models: Path) -> Iterator[Callable[..., Talk]]:
    """`talk(model, *options, **as for terminal)`: see `Talk`. It waits for the prompt, unless it is
    told not to: `ready=False`. under: the words of a command that runs it."""
    started: list[Talk] = []
    seen, ours = (folder / "checked-models.json" for folder in (known_models / "nextok", _state()))
    _copy(seen, ours)

    def start(
        model: Path | None,
        *options: str | Path,
        ready: bool = True,
        under: Sequence[str] = (),
        **others: Any,
    ) -> Talk:
        named = () if model is None else ("-m", model)
        argv = (*under, NEXTOK, "chat", "-t", "1", *named, *options)
        started.append(Talk(*argv, **{"rows": 50, **others}))
        if ready:
            started[-1].wait_for_prompt()
        return started[-1]

    yield start
    for one in started:
        one.close()
    _copy(ours, seen)


def _state() -> Path:
    """The folder of what is kept."""
    return Path(os.environ["XDG_STATE_HOME"]) / "nextok"


def _copy(one: Path, other: Path) -> None:
    """What is known of the models is kept for the next test: it takes a while to find out."""
    if one.exists():
        other.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(one, other)


SLOW_CLOCK = "import time\nreal = time.monotonic\ntime.monotonic = lambda: real() / 30\n"
"""For a sitecustomize.py: what has to come within a second has half a minute for it."""


@pytest.fixture
def slow_clock(tmp_path: Path) -> dict[str, str]:
    """Variables for a program in which a second lasts for half a minute."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_CLOCK)
    return {"PYTHONPATH": str(tmp_path)}


class SlowModel:
    """A model whose loading takes for as long as a file is there: its trial waits for that. The
    clock of the chat is slow, too."""

    def __init__(self, model: Path, folder: Path) -> None:
        self.path = folder / "slow.gguf"
        shutil.copyfile(model, self.path)
        self.gate, self.began = folder / "gate", folder / "began"
        self.gate.touch()
        (folder / "sitecustomize.py").write_text(
            SLOW_CLOCK + "import os, sys\n"
            f"if sys.orig_argv[-3:-1] == ['nextok.backends.trial', {str(self.path)!r}]:\n"
            f"    open({str(self.began)!r}, 'w').close()\n"
            f"    while os.path.exists({str(self.gate)!r}) and os.getppid() == int(sys.argv[-1]):\n"
            "        time.sleep(0.01)\n"
        )
        self.environ = {"PYTHONPATH": str(folder)}

    def wait_for(self, chat: Any) -> None:
        """Until it is being loaded."""
        chat.wait_until(self.began.exists, "the loading does not begin")
        self.began.unlink()


@pytest.fixture
def slow_gguf(emoji_gguf: Path, tmp_path: Path) -> SlowModel:
    """Says "Hi 😀 bye" when it is loaded at last: see `SlowModel`."""
    return SlowModel(emoji_gguf, tmp_path)
