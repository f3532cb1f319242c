"""The user's own editor for a long message: $VISUAL or $EDITOR, on a file for their eyes only."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nextok.generation.errors import UsageError

_OTHERWISE = ("editor", "nano", "vi")


class ExternalEditor:
    """Opens it, and closes it when the chat has to end."""

    def __init__(self, environ: Mapping[str, str], *, keyboard: int, output: int) -> None:
        """keyboard, output: descriptors of the terminal that it is to use."""
        self._environ = environ
        self._keyboard = keyboard
        self._output = output
        self._process: asyncio.subprocess.Process | None = None

    async def edited(self, text: str) -> str:
        """The text as it was saved, without the line end that editors add, or as it was.

        UsageError if it does not start. The text stays if the editor says that it failed.
        """
        with tempfile.TemporaryDirectory(prefix="nextok-") as folder:
            file = Path(folder) / "message.md"
            before = text.encode("utf-8", "surrogateescape")
            file.write_bytes(before)
            if await self._run(*command(self._environ), str(file)):
                return text
            after = file.read_bytes()
            if after == before:
                return text
            return after.decode("utf-8", "replace").removesuffix("\n")

    def stop(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def _run(self, *words: str) -> int:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *words, stdin=self._keyboard, stdout=self._output, stderr=self._output
            )
        except OSError as error:
            why = "it is a folder" if os.path.isdir(words[0]) else error.strerror
            raise UsageError(
                f"the editor {words[0]} does not start: {why}; set EDITOR to another"
            ) from error
        try:
            return await self._process.wait()
        finally:
            self._process = None


def command(environ: Mapping[str, str]) -> list[str]:
    """The editor's words. UsageError if none is named and none is there."""
    named = environ.get("VISUAL") or environ.get("EDITOR")
    if named:
        with contextlib.suppress(ValueError):  # an unclosed quote: take it as one word
            return shlex.split(named)
        return [named]
    for name in _OTHERWISE:
        if shutil.which(name, path=environ.get("PATH", os.defpath)):
            return [name]
    raise UsageError("there is no editor: set EDITOR to one")
