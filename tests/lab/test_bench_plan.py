"""The order of a benchmark: neighbours are compared, and nobody is always first."""

from __future__ import annotations

from itertools import groupby

from nextok.lab.bench_plan import SHORT_PROMPT, Kind, Measure, Plan, Subject

PLAN = Plan(prefill=(64, 8), depths=(32, 0, 64), tokens=4, rounds=2, threads=(1, 2), models=2)


def test_every_round_has_every_measure_of_everybody_once() -> None:
    steps = list(PLAN.steps())
    wanted = {(one, who) for one in (*PLAN.passes, *PLAN.loops) for who in PLAN.subjects}
    for number in range(PLAN.rounds):
        found = [(step.measure, step.subject) for step in steps if step.round == number]
        assert len(found) == len(wanted) and set(found) == wanted


def test_who_is_compared_stands_side_by_side() -> None:
    steps = [step for step in PLAN.steps() if step.measure in PLAN.passes]
    groups = [list(group) for _, group in groupby(steps, lambda step: (step.round, step.measure))]
    assert {len(group) for group in groups} == {4}
    assert [step.subject for step in groups[0]] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    assert [step.subject for step in groups[-1]] == [(1, 2), (0, 2), (1, 1), (0, 1)]


def test_the_loop_and_its_bare_twin_are_neighbours_and_take_turns() -> None:
    loops = [step for step in PLAN.steps() if step.measure in PLAN.loops]
    pairs = list(zip(loops[::2], loops[1::2], strict=True))
    assert all(one.subject == other.subject for one, other in pairs)
    firsts = [one.measure.kind for one, _ in pairs]
    assert firsts == [Kind.ANSWER] * 4 + [Kind.BARE] * 4


def test_a_decode_comes_when_its_depth_has_just_been_read() -> None:
    names = [(one.kind.value, one.depth or one.tokens) for one in PLAN.passes]
    assert names == [
        ("decode", 4), ("prefill", 8), ("decode", 32), ("prefill", 64), ("decode", 64),
    ]  # fmt: skip
    assert PLAN.passes[0] == Measure(Kind.DECODE, 0, 4)


def test_the_context_is_as_large_as_the_largest_measure() -> None:
    assert PLAN.context_size == 64 + 4
    assert Plan(prefill=(100,), depths=(0,), tokens=8).context_size == 108
    assert Plan(prefill=(8, 100), depths=(), tokens=8).context_size == 100


def test_the_answered_prompt_is_the_shortest_that_is_read() -> None:
    assert PLAN.loops == (Measure(Kind.ANSWER, 8, 4), Measure(Kind.BARE, 8, 4))
    assert Plan(prefill=(), tokens=4).loops[0] == Measure(Kind.ANSWER, SHORT_PROMPT, 4)


def test_what_is_too_large_can_be_left_out() -> None:
    less = PLAN.without(40)
    assert (less.prefill, less.depths) == ((8,), (32, 0))
    assert less.context_size == 36
    assert PLAN.without(4096) == PLAN


def test_subjects_are_models_within_thread_counts() -> None:
    assert PLAN.subjects == (Subject(0, 1), Subject(1, 1), Subject(0, 2), Subject(1, 2))
