"""`nextok verify`: whether models on disk still are what was fetched, and whether they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from nextok.backends.folders import state_folder
from nextok.backends.intact_files import IntactFiles
from nextok.backends.local_models import local_models
from nextok.backends.locate import locate
from nextok.backends.model_check import check_model_file
from nextok.backends.seen_files import SeenFiles
from nextok.backends.split_files import first_part
from nextok.cli.checksums import check_sums
from nextok.cli.choices import print_choices
from nextok.cli.columns import Column, print_columns
from nextok.cli.exit_codes import ANSWERED, FAILED
from nextok.cli.invocation import Invocation
from nextok.cli.status import Status
from nextok.cli.watching import watching
from nextok.generation.abort import Abort
from nextok.generation.errors import EngineError, ModelError, UsageError

_COLUMNS = (
    Column(title="model", style="bold", fold=True),
    Column(title="finding"),
    Column(title="why", style="dim", fold=True),
)


class Finding(Enum):
    """What came of one model."""

    RIGHT = "right"
    READABLE = "readable"
    """Sound as far as its header tells; nothing says what its checksum should be."""
    WRONG = "WRONG"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One model and what was found."""

    name: str
    finding: Finding
    why: str = ""


def verify(invocation: Invocation) -> int:
    """Print one line a model; the exit code is 1 if one of them is not what it should be."""
    abort, status = Abort(), Status(invocation.console, time.monotonic)
    with watching(abort, status):
        verdicts = [
            _verdict(name, path, invocation, abort, status) for name, path in _models(invocation)
        ]
    print_columns(
        _COLUMNS,
        [[one.name, one.finding.value, one.why] for one in verdicts],
        invocation.resolved.output,
    )
    if not verdicts:
        invocation.console.note("no models here yet: nextok pull REF fetches one")
    wrong = any(one.finding is Finding.WRONG for one in verdicts)
    return FAILED if wrong else ANSWERED


def _models(invocation: Invocation) -> Iterator[tuple[str, Path]]:
    """The one that was named, or all there are."""
    resolved = invocation.resolved
    named = invocation.words[0] if invocation.words else resolved.asked[0].values.get("model")
    if named is None:
        yield from ((model.name, model.path) for model in local_models())
        return
    try:
        path = locate(str(named), resolved.config.aliases)
    except UsageError as error:
        print_choices(error, resolved.output)
        raise
    if path is None:
        raise UsageError("the toy has no file to verify: name a model")
    yield str(named), path


def _verdict(
    name: str, path: Path, invocation: Invocation, abort: Abort, status: Status
) -> Verdict:
    intact = IntactFiles(seen=SeenFiles(state_folder()))
    try:
        check_model_file(path)
        checked = check_sums(
            path,
            abort,
            read=lambda share: status.show(f"{name}: {share:.0%} read"),
            remedy=lambda: _remedy(path),
        )
        if checked:
            intact.add(path)
        if invocation.resolved.hub.load:
            from nextok.backends.trial import run_trial

            status.show(f"{name}: trying it in the engine")
            run_trial(first_part(path))
    except (ModelError, EngineError, OSError) as error:
        intact.refuse(path)
        return Verdict(name=name, finding=Finding.WRONG, why=str(error))
    finally:
        status.clear()
    finding = Finding.RIGHT if checked else Finding.READABLE
    why = "its sha256 is the promised one" if checked else "nothing says what its sha256 should be"
    loads = "; it runs" if invocation.resolved.hub.load else ""
    return Verdict(name=name, finding=finding, why=why + loads)


def _remedy(path: Path) -> str:
    """How to get the right bytes."""
    real = first_part(path).resolve()
    model = next((one for one in local_models() if one.path.resolve() == real), None)
    if model is not None and model.origin == "hub":
        return f"nextok pull {model.name} fetches them again"
    if model is not None and model.origin == "ollama":
        return f"ollama rm {model.name}, then ollama pull {model.name}"
    return "fetch it again from where it came"
