"""The thread count follows the CPUs: scripted neighbours, and a machine that is arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from nextok.generation.thread_policy import BLIND_PATIENCE, LOOK_EVERY, ThreadPolicy

ALONE = 0.024
"""Seconds a token takes with one thread."""
STARVED = 2.0
"""Seconds it takes when a thread waits for a CPU at every barrier: 500 barriers, 4 ms each."""


class Machine:
    """CPUs, and neighbours that each keep one of them busy."""

    def __init__(self, cpus: int, *, sees: bool = True, noise: float = 0.0) -> None:
        """sees: whether it says how busy it is. noise: 0.3 is a third more or less."""
        self.cpus = cpus
        self.neighbours = 0.0
        self.looks = 0
        self._sees = sees
        self._noise = noise
        self._random = random.Random(5)
        self._seconds = self._taken = 0.0

    def takes(self, threads: int, rows: int = 1, work: float = ALONE) -> float:
        """Let a pass happen; its seconds."""
        starves = threads > 1 and threads + self.neighbours > self.cpus
        seconds = STARVED if starves else work / threads
        seconds *= rows * (1 + self._noise * self._random.uniform(-1, 1))
        self.passes(seconds)
        return seconds

    def passes(self, seconds: float) -> None:
        """Time goes by."""
        self._seconds += seconds
        self._taken += seconds * self.neighbours

    def look(self) -> float | None:
        """CPUs left over, on average since the last look."""
        self.looks += 1
        if not self._sees or self._seconds < 0.05:
            return None
        free = self.cpus - self._taken / self._seconds
        self._seconds = self._taken = 0.0
        return free


def decode(
    policy: ThreadPolicy,
    machine: Machine,
    tokens: int,
    neighbours: Mapping[int, float] | None = None,
) -> list[tuple[int, float]]:
    """Threads and seconds of each token. neighbours: how many there are from some tokens on."""
    told = []
    for token in range(tokens):
        machine.neighbours = (neighbours or {}).get(token, machine.neighbours)
        threads = policy.threads
        seconds = machine.takes(threads)
        policy.passed(1, seconds)
        told.append((threads, seconds))
    return told


def counts(told: list[tuple[int, float]]) -> list[int]:
    """The threads, each run of equal ones once."""
    threads = [one for one, _ in told]
    return [one for place, one in enumerate(threads) if not place or one != threads[place - 1]]


@pytest.mark.parametrize("cpus", [2, 4, 16])
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("sees", [True, False])
def test_a_quiet_machine_changes_nothing(cpus: int, noise: float, sees: bool) -> None:
    machine = Machine(cpus, sees=sees, noise=noise)
    policy = ThreadPolicy(cpus, machine.look)
    policy.begin()
    assert counts(decode(policy, machine, 2000)) == [cpus]


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_neighbour_comes_and_goes(noise: float) -> None:
    machine = Machine(2, noise=noise)
    policy = ThreadPolicy(2, machine.look)
    told = decode(policy, machine, 400, {50: 1, 150: 0})
    assert counts(told) == [2, 1, 2]
    lowered = [threads for threads, _ in told].index(1)
    assert 50 < lowered <= 52
    assert max(seconds for _, seconds in told[lowered:]) <= 3 * ALONE
    back = [threads for threads, _ in told[lowered:]].index(2) + lowered
    assert 150 < back < 150 + 2.5 * LOOK_EVERY / ALONE


def test_a_neighbour_that_stays_is_never_tried_against() -> None:
    machine = Machine(2)
    policy = ThreadPolicy(2, machine.look)
    told = decode(policy, machine, 5000, {50: 1})
    assert sum(seconds == STARVED for _, seconds in told) <= 2
    assert counts(told) == [2, 1]


def test_a_neighbour_who_is_there_first_is_given_way_to() -> None:
    machine = Machine(2)
    policy = ThreadPolicy(2, machine.look)
    machine.neighbours = 1
    machine.passes(0.3)
    policy.begin()
    assert counts(decode(policy, machine, 200)) == [1]


def test_as_many_threads_as_there_are_free_cpus() -> None:
    machine = Machine(16)
    policy = ThreadPolicy(8, machine.look)  # two CPUs share a core
    told = decode(policy, machine, 3000, {50: 5, 500: 11, 1500: 3})
    assert counts(told) == [8, 4, 5, 8]
    assert sum(seconds == STARVED for _, seconds in told) == 1
    assert (told[800][0], told[-1][0]) == (5, 8)


@pytest.mark.parametrize("sees", [True, False])
def test_one_hiccup_is_no_reason(sees: bool) -> None:
    machine = Machine(2, sees=sees)
    policy = ThreadPolicy(2, machine.look)
    for _ in range(10):
        decode(policy, machine, 60)
        machine.passes(1.0)
        policy.passed(1, 1.0)
    assert policy.threads == 2


def test_without_a_view_slow_passes_close_together_decide() -> None:
    machine = Machine(8, sees=False)
    policy = ThreadPolicy(8, machine.look)
    told = decode(policy, machine, 3000, {50: 5, 53: 4})
    assert [threads for threads, _ in told[50:54]] == [8, 8, 8, 4]
    assert counts(told) == [8, 4]  # and nothing is tried that might starve


def test_without_a_view_a_later_generation_tries_again_and_waits_longer_each_time() -> None:
    machine = Machine(2, sees=False)
    policy = ThreadPolicy(2, machine.look)
    waits = []
    for _ in range(4):
        decode(policy, machine, 20, {0: 0, 10: 1})
        assert policy.threads == 1
        waited = 0.0
        while policy.threads == 1:
            policy.passed(1, 1.0)
            waited += 1.0
            policy.begin()
        waits.append(waited)
    assert waits == [BLIND_PATIENCE * factor for factor in (1, 2, 4, 8)]


def test_a_higher_count_that_is_no_better_is_given_up_for_longer_each_time() -> None:
    """Something throttles that no look shows: a quota, a busy hyper-thread."""
    policy = ThreadPolicy(4, lambda: 4.0)
    for _ in range(20):
        policy.passed(1, 0.010)
    for _ in range(3):
        policy.passed(1, 0.100)
    assert policy.threads == 3
    raised_at, now = [], 0.0
    for _ in range(4000):
        before = policy.threads
        policy.passed(1, 0.010)
        now += 0.010
        if policy.threads > before:
            raised_at.append(now)
    pauses = [later - earlier for earlier, later in zip(raised_at, raised_at[1:], strict=False)]
    assert len(pauses) >= 3
    assert all(later > 1.5 * earlier for earlier, later in zip(pauses, pauses[1:], strict=False))
    assert policy.threads == 3


def test_a_higher_count_that_is_much_worse_is_given_up_at_once() -> None:
    free = [1.0]
    policy = ThreadPolicy(2, lambda: free[0])
    policy.begin()
    for _ in range(20):
        policy.passed(1, ALONE)
    free[0] = 2.0
    while policy.threads == 1:
        policy.passed(1, ALONE)
    policy.passed(1, 2.5 * ALONE)
    assert policy.threads == 1


def test_after_a_long_calm_the_first_try_comes_soon_again() -> None:
    machine = Machine(2)
    policy = ThreadPolicy(2, machine.look)
    for _ in range(6):
        told = decode(policy, machine, 6000, {0: 0, 50: 1, 150: 0})
        assert counts(told) == [2, 1, 2]
        assert counts(told[250:]) == [2]


def test_a_cpu_shared_fairly_is_better_than_none() -> None:
    """A neighbour that needs half of one: tokens take twice as long, as with one thread."""
    policy = ThreadPolicy(2, lambda: 1.5)
    for _ in range(50):
        policy.passed(1, 0.012)
    for _ in range(200):
        policy.passed(1, 0.024)
    assert policy.threads == 2


def test_a_busy_cpu_and_a_slow_token_are_enough_together() -> None:
    policy = ThreadPolicy(2, lambda: 1.5)
    for _ in range(30):
        policy.passed(1, 0.012)
    policy.passed(1, 0.200)
    assert policy.threads == 1


def test_one_cpu_leaves_no_choice() -> None:
    machine = Machine(1)
    policy = ThreadPolicy(1, machine.look)
    policy.begin()
    assert counts(decode(policy, machine, 300, {50: 3, 150: 0})) == [1]


# -- prefill


def test_chunks_that_starve_step_down_between_chunks() -> None:
    machine = Machine(2)
    policy = ThreadPolicy(2, machine.look)
    threads = []
    for chunk in range(12):
        machine.neighbours = 1 if 4 <= chunk < 8 else 0
        policy.passed(512, machine.takes(policy.threads, 512, work=0.004))
        threads.append(policy.threads)
    assert threads[3] == 2
    assert threads[4:8] == [1] * 4
    assert threads[9:] == [2] * 3


@pytest.mark.parametrize("sees", [True, False])
def test_depth_is_no_neighbour(sees: bool) -> None:
    """Chunks of a long prompt take longer and longer; so do tokens after it."""
    look: Callable[[], float | None] = (lambda: 2.0) if sees else (lambda: None)
    policy = ThreadPolicy(2, look)
    policy.begin()
    for chunk in range(16):
        policy.passed(512, 512 * 0.003 * (1 + 0.6 * chunk))
        assert policy.threads == 2
    policy.begin()
    for _ in range(20):
        policy.passed(1, 0.010)
    policy.passed(500, 2.0)
    policy.begin()
    for token in range(5000):
        policy.passed(1, 0.050 + 0.00004 * token)
        assert policy.threads == 2


def test_passes_of_different_sizes_are_not_compared() -> None:
    """In a large batch a row costs a fraction of what it costs alone."""
    policy = ThreadPolicy(2, lambda: None)
    for _ in range(20):
        policy.passed(512, 512 * 0.001)
    for _ in range(20):
        policy.passed(1, 0.010)
        policy.passed(4, 4 * 0.005)
    assert policy.threads == 2


def test_the_machine_is_not_looked_at_for_each_token() -> None:
    machine = Machine(2)
    policy = ThreadPolicy(2, machine.look)
    seconds = sum(seconds for _, seconds in decode(policy, machine, 2000))
    assert machine.looks <= seconds / LOOK_EVERY + 1
