"""The prompt: standard input, files and the argument, in that order, as text.

Promises that nothing is changed unless asked: no escapes, no trimming but one last newline of
standard input. Knows nothing of tokens or templates.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

from nextok.cli.settings import PromptSettings
from nextok.cli.stdin import is_readable, read_all
from nextok.generation.errors import UsageError
from nextok.generation.message import Message, parse_messages

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "0": "\0"}


class PromptReader:
    """Reads what the settings name. UsageError for whatever cannot be read as text."""

    def __init__(self, settings: PromptSettings, hint: Callable[[str], None]) -> None:
        """hint: told once that standard input keeps us waiting."""
        self._settings = settings
        self._hint = hint

    def messages(self) -> list[Message]:
        """The conversation to answer."""
        settings = self._settings
        found: list[Message] = []
        if settings.system is not None:
            system = written(settings.system, "--system", settings)
            found.append(Message(role="system", content=system))
        if settings.messages is not None:
            source = settings.messages
            data = read_all() if source == "-" else _file(source)
            found += parse_messages(decode(data, source, "utf-8"))
        text = self.text(required=settings.messages is None)
        if text:
            found.append(Message(role="user", content=text))
        return found

    def text(self, *, required: bool = True) -> str:
        """The parts with one blank line between them; a long document comes before the question."""
        text = joined(self._parts())
        if required and not text.strip():
            raise UsageError(
                "the prompt is empty: give it as an argument, with -f FILE or through a pipe"
            )
        return text

    def _parts(self) -> Iterator[str]:
        settings = self._settings
        if not settings.file and self._reads_stdin():
            yield self._stdin()
        for name in settings.file:
            yield self._stdin() if name == "-" else self._file(name)
        if settings.prompt is not None:
            yield written(settings.prompt, "the prompt", settings)

    def _reads_stdin(self) -> bool:
        settings = self._settings
        taken = settings.messages == "-"
        return not taken and not settings.no_stdin and is_readable()

    def _stdin(self) -> str:
        text = decode(self._stdin_bytes(), "standard input", self._settings.encoding)
        if self._settings.raw:
            return self._unescape(text)
        return self._unescape(re.sub(r"\r?\n\Z", "", text))

    def _stdin_bytes(self) -> bytes:
        if self._settings.prompt is None:
            return read_all()
        return read_all(
            when_silent=lambda: self._hint(
                "waiting for standard input to end; --no-stdin answers the argument alone"
            )
        )

    def _file(self, name: str) -> str:
        return self._unescape(read_file(name, self._settings.encoding))

    def _unescape(self, text: str) -> str:
        return unescape(text) if self._settings.escape else text


def joined(parts: Iterable[str]) -> str:
    """The parts that are not empty, one blank line between them."""
    text = ""
    for part in filter(None, parts):
        text = f"{text}{_blank_line(text)}{part}" if text else part
    return text


def written(text: str, origin: str, settings: PromptSettings) -> str:
    """A text from the command line as it was meant: its bytes decoded, --escape heeded."""
    text = argument(text, origin, settings.encoding)
    return unescape(text) if settings.escape else text


def unescape(text: str) -> str:
    r"""Replace \n \r \t \\ \' \" \0 \xHH; anything else after a backslash stays as it is."""

    def replace(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) == 3 else _ESCAPES[code]

    return re.sub(r"\\(x[0-9a-fA-F]{2}|[nrt\\'\"0])", replace, text)


def _file(name: str) -> bytes:
    try:
        descriptor = os.open(os.path.expanduser(name), os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {name}: {why}") from error
    try:
        return read_all(descriptor, name=name)
    finally:
        os.close(descriptor)


def read_file(name: str, encoding: str) -> str:
    """A file's text. UsageError when it cannot be read, or not as that."""
    return decode(_file(name), name, encoding)


def _blank_line(text: str) -> str:
    """What makes one blank line after `text`."""
    if re.search(r"\n\r?\n\Z", text):
        return ""
    return "\n" if text.endswith("\n") else "\n\n"


def argument(text: str, origin: str, encoding: str = "utf-8") -> str:
    """The argument's own bytes, whatever the locale made of them; --encoding is for files first."""
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError:  # it comes from the config file, and was text all along
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return decode(data, origin, encoding)


def decode(data: bytes, origin: str, encoding: str, *, offset: int = 0, line: int = 1) -> str:
    """The text that bytes are. UsageError with the place where they are not.

    offset, line: where in the origin the first byte is.
    """
    if encoding == "utf-8" and data.startswith(_UTF16_MARKS):
        raise UsageError(f"{origin} is UTF-16: add --encoding utf-16")
    try:
        text = data.decode(encoding).removeprefix("\N{BYTE ORDER MARK}")
        text.encode("utf-8")
        return text
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{origin} holds half a character (a surrogate) as {encoding}: character {error.start}"
        ) from error
    except LookupError:
        raise UsageError(f"unknown encoding {encoding}: utf-8, utf-16, latin-1, …") from None
    except UnicodeDecodeError as error:
        line += data[: error.start].count(b"\n")
        raise UsageError(
            f"{origin} is not {encoding}: byte 0x{data[error.start]:02x} at offset "
            f"{offset + error.start} (line {line}); name the encoding with --encoding, "
            "e.g. --encoding latin-1"
        ) from error
    except UnicodeError as error:  # of codecs that do not say where
        raise UsageError(f"{origin} is not {encoding}: {error}") from error
