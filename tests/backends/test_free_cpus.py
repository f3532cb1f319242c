"""What the other processes leave of the CPUs, read from a /proc/stat that the test writes."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nextok.backends.free_cpus import FreeCpus, idle_seconds, own_seconds
from nextok.backends.threads import allowed_cpus

STAT = """\
cpu  300 0 0 500 30 0 0 0 0 0
cpu0 100 20 3 400 10 7 1 2 0 0
cpu1 100 0 3 100 5 0 0 0 0 0
cpu10 100 0 3 1000 15 0 0 0 0 0
intr 10798590 0 0 0 9
ctxt 1
"""


@dataclass
class Machine:
    """Two CPUs whose counters the test moves."""

    stat: Path
    now: float = 0.0
    own: float = 0.0
    ticks: dict[int, list[int]] = field(default_factory=lambda: {0: [0] * 10, 1: [0] * 10})

    def passes(self, seconds: float, *, own: float = 0.0, **columns: tuple[int, int]) -> None:
        """columns: ticks that both CPUs spent so, `idle=(50, 100)`."""
        self.now += seconds
        self.own += own
        names = ("user", "nice", "system", "idle", "iowait")
        for name, both in columns.items():
            for cpu, more in enumerate(both):
                self.ticks[cpu][names.index(name)] += more
        self.write()

    def write(self) -> None:
        lines = [f"cpu{cpu} {' '.join(map(str, row))}" for cpu, row in self.ticks.items()]
        self.stat.write_text("cpu  1 1 1 1 1 1 1 1 1 1\n" + "\n".join(lines) + "\nintr 5 0 0\n")

    def watched(self, *allowed: int, niceness: int = 0) -> FreeCpus:
        return FreeCpus(
            allowed,
            stat=self.stat,
            clock=lambda: self.now,
            own=lambda: self.own,
            niceness=lambda: niceness,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(stat=tmp_path / "stat")
    made.write()
    return made


def test_only_the_allowed_cpus_count() -> None:
    assert idle_seconds(STAT, ["cpu0"]) == pytest.approx(4.3)
    assert idle_seconds(STAT, ["cpu1"]) == pytest.approx(1.05)
    assert idle_seconds(STAT, ["cpu0", "cpu10"]) == pytest.approx(14.45)


def test_a_cpu_that_is_not_listed_leaves_no_figure() -> None:
    """In some containers the lines are numbered anew."""
    assert idle_seconds(STAT, ["cpu0", "cpu2"]) is None
    assert idle_seconds("", ["cpu0"]) is None


def test_idle_and_ours_is_free(machine: Machine) -> None:
    cpus = machine.watched(0, 1)
    assert cpus.look() is None
    machine.passes(1.0, own=1.0, user=(100, 5), idle=(0, 95))
    assert cpus.look() == pytest.approx(1.95)
    machine.passes(2.0, own=2.0, user=(200, 200))
    assert cpus.look() == pytest.approx(1.0)
    machine.passes(1.0, own=0.5, user=(100, 100))
    assert cpus.look() == pytest.approx(0.5)


def test_waiting_for_a_disk_is_idle(machine: Machine) -> None:
    cpus = machine.watched(0, 1)
    cpus.look()
    machine.passes(1.0, system=(20, 0), iowait=(80, 100))
    assert cpus.look() == pytest.approx(1.8)


def test_who_gives_way_to_us_takes_nothing(machine: Machine) -> None:
    cpus = machine.watched(0, 1)
    cpus.look()
    machine.passes(1.0, nice=(100, 100))
    assert cpus.look() == pytest.approx(2.0)


def test_who_gives_way_counts_its_own_kind(machine: Machine) -> None:
    """Here nextok itself runs under `nice`, and so does a neighbour."""
    cpus = machine.watched(0, 1, niceness=10)
    cpus.look()
    machine.passes(1.0, own=0.9, nice=(100, 90), idle=(0, 10))
    assert cpus.look() == pytest.approx(1.0)


def test_only_the_allowed_ones_are_watched(machine: Machine) -> None:
    cpus = machine.watched(1)
    cpus.look()
    machine.passes(1.0, user=(100, 10), idle=(0, 90))
    assert cpus.look() == pytest.approx(0.9)


def test_never_more_than_there_are_nor_less_than_none(machine: Machine) -> None:
    cpus = machine.watched(0, 1)
    cpus.look()
    machine.passes(1.0, own=1.5, idle=(100, 100))  # a child ended, and all its time came at once
    assert cpus.look() == 2.0
    machine.passes(1.0, own=-0.1, user=(100, 100))
    assert cpus.look() == 0.0


def test_a_moment_is_too_short_and_is_not_lost(machine: Machine) -> None:
    cpus = machine.watched(0, 1)
    cpus.look()
    machine.passes(0.04, user=(4, 4))
    assert cpus.look() is None
    machine.passes(0.36, idle=(36, 36))
    assert cpus.look() == pytest.approx(1.8)


@pytest.mark.parametrize("text", [None, "", "cpu0 1 2 3\ncpu1 1\n", "cpu0 a b c d e f\n", "\n\n"])
def test_a_system_that_does_not_say(machine: Machine, text: str | None) -> None:
    if text is None:
        machine.stat.unlink()
    else:
        machine.stat.write_text(text)
    cpus = machine.watched(0, 1)
    assert cpus.look() is None
    machine.now += 1
    assert cpus.look() is None
    machine.write()
    assert cpus.look() is None  # the first figure to compare with
    machine.passes(1.0, idle=(100, 100))
    assert cpus.look() == 2.0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say")
def test_this_machine() -> None:
    cpus = FreeCpus(allowed_cpus())
    assert cpus.look() is None
    time.sleep(0.06)
    free = cpus.look()
    assert free is not None and 0 <= free <= len(allowed_cpus())


def test_our_own_time_is_that_of_children_too() -> None:
    before = own_seconds()
    busy = "import time\nwhile time.process_time() < 0.05: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert own_seconds() >= before + 0.04
