"""What is said about each line of a batch: one JSON object, and a row in the journal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from nextok.cli.batch_prompts import Prepared
from nextok.cli.journaling import Begun, Notes
from nextok.cli.loaded import Loaded
from nextok.cli.oneshot import facts, splitter
from nextok.cli.report import guesses_report
from nextok.generation.events import Finish
from nextok.generation.reasoning import Span, SpanKind

if TYPE_CHECKING:
    from nextok.generation.timings import Timings


class Said(NamedTuple):
    """How a line ended, and all that was said."""

    prepared: Prepared
    finish: Finish
    spans: list[Span]
    began_at: float
    """When its turn came, in the clock's seconds."""

    @classmethod
    def of(cls, prepared: Prepared, finish: Finish, text: str, began_at: float) -> Said:
        """text: all of it, reasoning and its tags included."""
        tell = splitter(prepared.prompt)
        if tell is None:
            return cls(prepared, finish, [(SpanKind.ANSWER, text)], began_at)
        return cls(prepared, finish, [*tell.feed(text), *tell.close()], began_at)

    def text(self, kind: SpanKind) -> str | None:
        """All of one kind; None if there is nothing."""
        pieces = [text for one, text in self.spans if one is kind]
        return "".join(pieces) if pieces else None


def result(said: Said, model: str, *, exact: bool) -> Mapping[str, object]:
    """The line of standard output. Times in seconds, from when the line's turn came."""
    finish, line = said.finish, said.prepared.line
    found: dict[str, object] = {
        "id": line.id,
        "line": line.number,
        "text": said.text(SpanKind.ANSWER) or "",
        "finish_reason": finish.reason.value,
        "stop": finish.stop,
        "seed": said.prepared.sampling.seed,
        "prompt_tokens": finish.prompt_tokens,
        "cached_tokens": finish.cached_tokens,
        "completion_tokens": finish.completion_tokens,
        "model": model,
        "exact": exact,
        "timings": _timings(finish.timings),
        "input": line.digest,
        "settings": said.prepared.conditions,
    }
    reasoning = said.text(SpanKind.REASONING)
    if reasoning is not None:
        found["reasoning"] = reasoning
    if finish.speculation is not None:
        found["speculation"] = guesses_report(finish.speculation)
    if finish.error is not None:
        found["error"] = str(finish.error)
    return found


def remember(said: Said, loaded: Loaded, model: str, *, loads: bool) -> None:
    """Leave a row in the journal, if there is to be one. model: as the journal names it.

    loads: whether this is the line that the load is counted to. Never raises.
    """
    resolved, prepared = loaded.resolved, said.prepared
    if not resolved.journal.remembers:
        return
    begun = Begun(command="batch", model=model, at=said.began_at, asked=prepared.line.asked)
    notes = Notes(
        begun,
        resolved.journal,
        clock=time.monotonic,
        now=time.time,
        quantization=lambda: loaded.weights.quantization,
        loads=loads,
    )
    notes.start(facts(loaded, prepared.prompt, prepared.sampling), said.began_at)
    notes.event(said.finish, said.spans)
    notes.write()


def _timings(timings: Timings) -> Mapping[str, float | None]:
    ttft, rate = timings.ttft_seconds, timings.decode_tokens_per_second
    return {
        "prefill_s": round(timings.prefill_seconds, 4),
        "ttft_s": None if ttft is None else round(ttft, 4),
        "decode_tps": None if rate is None else round(rate, 2),
        "total_s": round(timings.total_seconds, 4),
    }
