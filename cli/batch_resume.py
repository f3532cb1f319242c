"""A file of results that a batch adds to: which lines are answered there, by what model and under
which settings.

Promises that no other process adds to it meanwhile, and that nothing but results is ever cut or
taken up: what cannot be gone on with is refused, not guessed.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nextok.backends.draft_file import try_lock
from nextok.backends.shown_text import shown
from nextok.cli.batch_lines import TIME_LIMITS, Line, LineId
from nextok.cli.loaded import Loaded
from nextok.generation.errors import OutputError, UsageError
from nextok.generation.finish import FinishReason

#: These will come out the same again. What ran out of time may come to its end with more of it.
_FINAL = frozenset(
    reason.value
    for reason in (
        FinishReason.EOS,
        FinishReason.STOP,
        FinishReason.LENGTH,
        FinishReason.CONTEXT,
    )
)
_BEGINNING = b'{"id": '
_REMEDY = "give --resume another file"


class Conditions:
    """What the answers of a run depend on beside the lines: the model and the settings for all."""

    def __init__(self, loaded: Loaded, template: str | None) -> None:
        """template: the source of the one that overrides the model's own."""
        self.model = loaded.weights.name
        self._loaded = loaded
        self._template = template
        self._of_all = self._digest({})

    def digest(self, line: Line) -> str:
        """Sixteen digits that other settings would not have. Without a seed a draw is a draw."""
        return self._digest(line.settings) if line.settings else self._of_all

    def _digest(self, own: Mapping[str, object]) -> str:
        resolved = self._loaded.resolved.with_set(own)
        what = resolved.prompt._replace(
            prompt=None, file=(), encoding="", no_stdin=False, chat_template=self._template
        )  # the template's text: a file may say something else by now
        held = [
            what._asdict(),
            resolved.sampling._asdict(),
            resolved.biases,
            {**resolved.stops._asdict(), **dict.fromkeys(TIME_LIMITS)},
            self._loaded.context_limit,
        ]
        text = json.dumps(held, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


class Answered(NamedTuple):
    """Of a result that need not be made again."""

    line: str
    """The digest of its line."""
    model: str | None
    settings: str | None
    """The digest of what held for it."""


class Done(NamedTuple):
    """What a file of results holds."""

    name: str
    answers: Mapping[LineId, Answered]
    length: int
    """Bytes of whole lines: the last one may have been cut."""

    def has(self, line: Line) -> bool:
        """Whether it is answered. UsageError when another line was, under its name."""
        found = self.answers.get(line.id)
        if found is None:
            return False
        if found.line != line.digest:
            raise UsageError(
                f"{self.name} has an answer to another line of the name {line.id!r} than line "
                f"{line.number}: go on with the same prompts, or {_REMEDY}"
            )
        return True

    def check_lines(self, lines: Sequence[Line]) -> None:
        """UsageError when it has answers, and none to any of these."""
        if lines and self.answers and not any(line.id in self.answers for line in lines):
            first = shown(str(next(iter(self.answers))))
            raise UsageError(
                f"{self.name} has answers to other prompts, the first to {first}: "
                f"go on with the same ones, or {_REMEDY}"
            )

    def check(self, line: Line, conditions: Conditions) -> None:
        """UsageError when its answer is another model's, or was made under other settings."""
        found = self.answers[line.id]
        if found.model not in (None, conditions.model):
            raise UsageError(
                f"{self.name} has answers of the model {shown(str(found.model))}, and this is "
                f"{shown(conditions.model)}: go on with the same model, or {_REMEDY}"
            )
        if found.settings not in (None, conditions.digest(line)):
            raise UsageError(
                f"{self.name} has an answer to line {line.number} under other settings (sampling, "
                f"lengths, what goes before the prompt): go on with the same ones, or {_REMEDY}"
            )


def opened_results(name: str, inputs: str) -> tuple[int, Done]:
    """The file to add to, made if it is not there, and what it holds. It is locked until closed.

    inputs: the path of the prompts. Raises UsageError, OutputError.
    """
    if os.path.exists(inputs) and os.path.exists(name) and os.path.samefile(inputs, name):
        raise UsageError(f"--resume {name} is the file of the prompts: results go into another")
    if os.path.exists(name) and not stat.S_ISREG(os.stat(name).st_mode):
        raise UsageError(
            f"--resume {name} is no regular file: name one, or one that is not there yet"
        )
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        if not try_lock(descriptor):
            raise OutputError(
                f"another batch is adding to {name}: wait until it has ended, or {_REMEDY}"
            )
        done = _read(descriptor, name)
        os.ftruncate(descriptor, done.length)
    except OSError as error:
        raise OutputError(f"cannot write {name}: {error.strerror}") from error
    return descriptor, done


def _read(descriptor: int, name: str) -> Done:
    """UsageError for what is no file of results: it would be spoilt."""
    length = 0
    answers: dict[LineId, Answered] = {}
    with os.fdopen(os.dup(descriptor), "rb") as file:
        for number, line in enumerate(file, 1):
            if line[: len(_BEGINNING)] != _BEGINNING[: len(line)]:
                raise UsageError(
                    f"{name}, line {number} is no result of a batch: --resume takes a file that "
                    "holds nothing else"
                )
            if not line.endswith(b"\n"):
                break
            length += len(line)
            answers.update(_answered(line))
    return Done(name, answers, length)


def _answered(line: bytes) -> Iterator[tuple[LineId, Answered]]:
    """The id of a final result, and what is to be known of it."""
    try:
        result = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(result, dict) or result.get("finish_reason") not in _FINAL:
        return
    own_id, digest = result.get("id"), result.get("input")
    if isinstance(own_id, (str, int)) and isinstance(digest, str):
        model, settings = result.get("model"), result.get("settings")
        yield own_id, Answered(digest, model, settings)
