"""The real `nextok`, run as a process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

from nextok.backends.chat_file import read_records
from nextok.backends.chat_folder import ChatFolder
from nextok.generation.conversation import Conversation


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of one run."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]
SCRIPT = Path(sys.executable).with_name("nextok")


@pytest.fixture
def nextok() -> Run:
    """`nextok("--version", env={...}, input="...")` → Ran, from the installed script."""

    def run(
        *arguments: str,
        env: Mapping[str, str] | None = None,
        input: str = "",
        cwd: Path | None = None,
    ) -> Ran:
        done = subprocess.run(
            [str(SCRIPT), *arguments],
            input=input,
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **(env or {})},
            cwd=cwd,
            timeout=60,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    return run


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """`config_file(text)` writes a config file that every run then reads."""

    def write(text: str) -> Path:
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("NEXTOK_CONFIG", str(path))
        return path

    return write


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What came of one run, its answer byte for byte."""

    code: int
    out: bytes
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        (line,) = self.lines
        return line

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    def check_failed(self, code: int, *words: str) -> None:
        """It said nothing, and ended with this code and one line with these words in it."""
        assert (self.code, self.out) == (code, b""), self
        self.check_line("error", *words)

    def check_line(self, kind: str, *words: str) -> None:
        """Standard error is one line of this kind ("error", "warning") with these words."""
        assert self.err.count("\n") == 1 and self.err.startswith(f"nextok: {kind}: "), self.err
        assert [word for word in words if word not in self.err] == [], self.err


Ask = Callable[..., Answered]


@pytest.fixture(scope="session")
def known_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder for all tests: a model is tried in a child process once, not in each."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def ask(known_models: Path) -> Ask:
    """`ask("-m", path, "hi", input=b"...", env={...})`: one thread, bytes in and out.

    Without `input` standard input is /dev/null.
    """

    def run(
        *arguments: str | bytes | Path,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Answered:
        ours = {"NEXTOK_THREADS": "1", "XDG_STATE_HOME": str(known_models)}
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        streams |= {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        done = subprocess.run(
            [str(SCRIPT), *arguments],
            env={**os.environ, **ours, **(env or {})},
            timeout=60,
            **(streams | options),
        )
        return Answered(code=done.returncode, out=done.stdout or b"", err=done.stderr.decode())

    return run


@pytest.fixture
def state_folder(known_models: Path) -> Iterator[Path]:
    """Where this test's processes keep chats and the like. It knows which models were tried."""
    folder = Path(os.environ["XDG_STATE_HOME"]) / "nextok"
    ours, theirs = folder / "checked-models.json", known_models / "nextok" / "checked-models.json"
    if theirs.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(theirs, ours)
    yield folder
    if ours.exists():
        theirs.parent.mkdir(exist_ok=True)
        shutil.copy(ours, theirs)


@pytest.fixture
def ask_alone(ask: Ask, state_folder: Path) -> Ask:
    """`ask`, with a state folder of this test alone."""

    def run(
        *arguments: str | bytes | Path, env: Mapping[str, str] | None = None, **options: Any
    ) -> Answered:
        ours = {"XDG_STATE_HOME": str(state_folder.parent)}
        return ask(*arguments, env=ours | dict(env or {}), **options)

    return run


class Saved:
    """The chats on disk, as another process reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """The one written last comes first."""
        return [one.name for one in ChatFolder(self.folder).list()]

    def path(self, name: str | None = None) -> Path:
        """Of the only one, if none is named."""
        if name is None:
            (name,) = self.names()
        return ChatFolder(self.folder).path(name)

    def conversation(self, name: str | None = None) -> Conversation:
        """All its lines must be good."""
        conversation = Conversation()
        reading = read_records(self.path(name), conversation.apply)
        assert reading.bad_count == 0, reading
        return conversation

    def said(self, name: str | None = None) -> list[tuple[str, str]]:
        """Roles and texts of the path that is talked on."""
        entries = self.conversation(name).entries()
        return [(entry.role, entry.content) for entry in entries]


@pytest.fixture
def saved(state_folder: Path) -> Saved:
    """`saved.names()`, `saved.said(name)`: what this test's processes have kept of chats."""
    return Saved(state_folder / "chats")


@pytest.fixture
def hub(fakehub: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A hub on the loopback that every run then asks; `hub.log` has all requests."""
    with fakehub.FakeHub() as made:
        monkeypatch.delenv("HF_HUB_OFFLINE")
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        for name in ("http_proxy", "https_proxy", "all_proxy", "HF_TOKEN", "HF_HOME"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.upper(), raising=False)
        yield made


@pytest.fixture
def cache() -> Path:
    """The hub's cache folder, of this test alone."""
    return Path(os.environ["XDG_CACHE_HOME"]) / "huggingface" / "hub"


@pytest.fixture
def pulled(hub: Any, ask: Ask, emoji_gguf: Path) -> Any:
    """A hub whose one model is here already, and which has been asked nothing since."""
    hub.add_repo("owner/Emoji-GGUF", {"Emoji-Q4_K_M.gguf": emoji_gguf})
    assert ask("pull", "-q", "owner/Emoji-GGUF:Q4_K_M").code == 0
    hub.clear()
    return hub


_WAITING = re.compile(
    r"(?:\r\x1b\[2K\x1b\[2m(?:loading the model|reading the prompt)[^\r]*)+\r\x1b\[2K"
)
"""The line that says what takes so long: it comes on a busy machine, and is taken away."""


class Terminal(pexpect.spawn):  # type: ignore[type-arg]
    """nextok in a pseudo-terminal, its output as bytes."""

    def rest(self, *, waiting: bool = False) -> str:
        """Everything up to the end of the process; without `waiting`, not what fills a wait."""
        self.expect(pexpect.EOF)
        self.close()
        assert isinstance(self.before, bytes)
        output = self.before.decode()
        return output if waiting else _WAITING.sub("", output)

    def lines(self) -> list[str]:
        """What is left of that on the screen."""
        return self.on_screen(self.rest())

    def on_screen(self, output: str) -> list[str]:
        """The lines that are left on the screen of such output."""
        height, width = self.dimensions
        screen = pyte.Screen(width, height)
        pyte.Stream(screen).feed(output)
        return [line.rstrip() for line in screen.display if line.strip()]


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """`terminal(*arguments, dimensions=(24, 80), **environment)`: one thread."""
    spawned: list[Terminal] = []

    def spawn(
        *arguments: str, dimensions: tuple[int, int] = (24, 80), **environment: str
    ) -> Terminal:
        ours = {"TERM": "xterm-256color", "NEXTOK_THREADS": "1"}
        child = Terminal(
            str(SCRIPT),
            list(arguments),
            env={**os.environ, **ours, **environment},
            dimensions=dimensions,
            timeout=60,
        )
        child.dimensions = dimensions
        spawned.append(child)
        return child

    yield spawn
    for child in spawned:
        child.close(force=True)
