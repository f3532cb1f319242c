"""Which runs may change their thread count, and what they tell of it: real runs on the toy."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nextok.backends.adaptive_threads import AdaptiveThreads
from nextok.backends.free_cpus import FreeCpus
from nextok.backends.options import ContextOptions
from nextok.backends.threads import allowed_cpus, default_threads
from nextok.backends.toy import Toy
from nextok.cli.answer import JsonAnswer, JsonLines
from nextok.cli.chat.command import make_session
from nextok.cli.chat.engine import Engine
from nextok.cli.chat.session import Session
from nextok.cli.config_file import read_config
from nextok.cli.console import Console
from nextok.cli.deadlines import Deadlines
from nextok.cli.delivery import Delivery
from nextok.cli.invocation import Invocation
from nextok.cli.loaded import Loaded, Loader
from nextok.cli.oneshot import OneShot
from nextok.cli.prompting import read_prompt
from nextok.cli.report import two_lines
from nextok.cli.resolution import Resolved, resolve
from nextok.cli.start import Start
from nextok.cli.status import Status
from nextok.cli.thread_choice import adaptive, may_adapt
from nextok.cli.watcher import Watcher
from nextok.generation.abort import Abort

SILENT = Console(stream=None, terminal=False, color=False)
Lines = list[dict[str, Any]]


def resolved(given: Mapping[str, object], **environ: str) -> Resolved:
    values = {"model": "toy", "max_tokens": 20, "no_stdin": True, **given}
    return resolve("generate", values, environ, read_config(os.devnull))


def loaded(settings: Resolved) -> Loaded:
    loader = Loader(
        resolved=settings,
        abort=Abort(),
        console=SILENT,
        status=Status(SILENT, time.monotonic),
        clock=time.monotonic,
        around_fetching=contextlib.nullcontext,
        cpus=FreeCpus(allowed_cpus()),
    )
    return loader.load()


@pytest.fixture
def busy(tmp_path: Path) -> Callable[[], FreeCpus]:
    """Two CPUs of which a neighbour has one: nothing is idle, and one second a second is ours."""
    stat = tmp_path / "stat"
    stat.write_text("cpu0 9 0 0 7 0 0 0 0 0 0\ncpu1 9 0 0 7 0 0 0 0 0 0\n")

    def watched() -> FreeCpus:
        clock, own = count(), count()
        watched = FreeCpus(
            (0, 1),
            stat=stat,
            clock=lambda: next(clock) / 2,  # asked twice a look
            own=lambda: float(next(own)),
        )
        watched.look()
        return watched

    return watched


# -- which settings freeze it


@pytest.mark.parametrize("given", [{}, {"top_k": 1}, {"temperature": 0.0, "mirostat": 2}])
def test_by_itself_it_may_change(given: Mapping[str, object]) -> None:
    assert may_adapt(resolved(given))


@pytest.mark.parametrize("given", [{"threads": 2}, {"seed": 0}, {"seed": 5}, {"temperature": 0.0}])
def test_who_wants_the_same_tokens_again_gets_one_count(given: Mapping[str, object]) -> None:
    assert not may_adapt(resolved(given))


def test_it_does_not_matter_where_it_was_set() -> None:
    assert not may_adapt(resolved({}, NEXTOK_THREADS="3"))
    assert not may_adapt(resolved({}, NEXTOK_SEED="3"))
    assert not may_adapt(resolved({}).with_model([], {"temperature": 0.0}))
    assert not may_adapt(resolved({}).with_set({"seed": 1}))
    assert may_adapt(resolved({"seed": 1}).with_set({"seed": -1}))
    assert may_adapt(resolved({"threads": None}, NEXTOK_THREADS="3"))


def test_with_one_cpu_or_a_gpu_there_is_nothing_to_choose() -> None:
    class Offloading(Toy):
        can_offload = True

    here = loaded(resolved({}))._replace(threads=2)
    context = here.weights.open(ContextOptions(context_size=64), Abort())
    assert isinstance(adaptive(context, here), AdaptiveThreads)
    assert adaptive(context, here._replace(threads=1)) is None
    on_gpu = here._replace(weights=Offloading())
    assert adaptive(context, on_gpu) is None
    none_on_gpu = on_gpu._replace(resolved=resolved({"gpu_layers": 0}))
    assert isinstance(adaptive(context, none_on_gpu), AdaptiveThreads)


def test_the_start_value(busy: Callable[[], FreeCpus]) -> None:
    assert loaded(resolved({})).threads == default_threads()
    assert loaded(resolved({"threads": 3})).threads == 3


# -- what is told of it


def answered(settings: Resolved, cpus: FreeCpus) -> tuple[Lines, dict[str, Any], str]:
    """The lines of a trace, the object of `--json` and the second line of `--stats`."""
    lines: list[str] = []
    objects: list[str] = []
    delivery = Delivery([JsonLines(lines.append), JsonAnswer(objects.append)], lambda: 0.0)
    abort = Abort()
    one = OneShot(
        loaded(settings)._replace(threads=2, cpus=cpus),
        console=SILENT,
        status=Status(SILENT, time.monotonic),
        started=time.monotonic(),
        delivery=delivery,
        abort=abort,
        watcher=Watcher(
            abort, Deadlines(), started=0.0, clock=time.monotonic, last_words=lambda reason: None
        ),
    )
    one.run(read_prompt(settings.prompt, SILENT))
    assert delivery.facts is not None and delivery.outcome is not None
    figures = two_lines(delivery.facts, delivery.outcome)[1]
    return [json.loads(line) for line in lines], json.loads(objects[0]), figures


def of_kind(lines: Lines, kind: str) -> Lines:
    return [line for line in lines if line["type"] == kind]


def test_a_trace_says_when_it_changes(busy: Callable[[], FreeCpus]) -> None:
    lines, report, figures = answered(resolved({"prompt": "hi"}), busy())
    assert lines[0]["threads"] == 2
    assert of_kind(lines, "threads") == [{"type": "threads", "i": 0, "threads": 1}]
    assert [line["type"] for line in lines[:4]] == ["start", "prefill", "threads", "prefill"]
    assert (lines[-1]["threads"], report["threads"]) == (1, 1)
    assert figures.endswith("1 thread")
    assert lines[0]["exact"] is report["exact"] is False


@pytest.mark.parametrize("given", [{"threads": 2}, {"seed": 5}, {"temperature": 0.0}])
def test_a_frozen_run_keeps_its_count(
    busy: Callable[[], FreeCpus], given: Mapping[str, object]
) -> None:
    lines, report, figures = answered(resolved({"prompt": "hi", **given}), busy())
    assert of_kind(lines, "threads") == []
    assert report["threads"] == 2
    assert figures.endswith("2 threads")


@pytest.fixture
def session(busy: Callable[[], FreeCpus]) -> Session:
    """A chat with the toy, whose neighbour is there all the time."""
    settings = {"model": "toy", "max_tokens": 20, "save": False}
    session = make_session(
        Invocation(
            command="chat",
            words=(),
            resolved=resolve("chat", settings, {}, read_config(os.devnull)),
            start=Start(at=0.0),
            console=SILENT,
            environ={},
        ),
        None,
    )
    session.load()
    assert session.engine is not None
    here = session.engine.loaded._replace(threads=2, cpus=busy())
    session.engine = Engine(here, session.stage.abort, SILENT)
    return session


def said(session: Session) -> Lines:
    lines: list[str] = []
    session.say("hi", [JsonLines(lines.append, turn=1)])
    return [json.loads(line) for line in lines]


def test_a_chat_changes_it_until_its_user_wants_the_same_tokens_again(session: Session) -> None:
    changed = [{"type": "threads", "turn": 1, "i": 0, "threads": 1}]
    assert of_kind(said(session), "threads") == changed
    again = said(session)
    assert of_kind(again, "threads") == changed
    assert (again[0]["threads"], again[-1]["threads"]) == (2, 1)
    assert session.last is not None and session.last.facts.threads == 1
    for values in ({"seed": 5}, {"seed": -1, "temperature": 0.0}):
        session.resolved = session.resolved.with_set(values)
        frozen = said(session)
        assert of_kind(frozen, "threads") == []
        assert frozen[-1]["threads"] == 2
    session.resolved = session.resolved.with_set({"temperature": 0.8})
    assert of_kind(said(session), "threads") == changed
    session.close()
