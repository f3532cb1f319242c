"""How long the journal takes: a row, and the statistics over a million rows.

Measured: `Journal.add` in a process that has added before, p50 and p95, with what importing
sqlite3 adds once; then `nextok stats`, `stats --since 7d` and `log` as whole processes on a journal
of a million made-up rows of four models over two years (the file is some 400 MB). Against: a second
for the statistics.

    python benchmarks/journal.py [--rows 1000000] [--runs 5]
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import sys
import time
from pathlib import Path
from statistics import median

from processes import ENVIRONMENT, NEXTOK, percentile, succeeded, verdict

from nextok.backends.journal import Journal, Row
from nextok.backends.journal_row import FIGURES

BAR_SECONDS = 1.0
MODELS = ("small-Q4_K_M", "small-Q8_0", "medium-Q4_K_M", "large-Q4_K_M")
FINISHES = ("eos",) * 70 + ("length",) * 12 + ("interrupted",) * 8 + ("stop",) * 5
FINISHES += ("disconnected",) * 3 + ("timeout", "error")
SPAN_SECONDS = 2 * 365 * 86400


def made_up(chance: random.Random, ended_at: float) -> Row:
    """A generation like others."""
    model = chance.choices(MODELS, (50, 20, 20, 10))[0]
    tokens = min(int(chance.lognormvariate(5, 1.2)), 8000)
    itl = 0.01 * (1 + MODELS.index(model)) * chance.lognormvariate(0, 0.2)
    ttft = chance.lognormvariate(-1, 0.6)
    has_gaps = tokens > 1
    return Row(
        ended_at=ended_at,
        command=chance.choice(("generate", "chat")),
        model=model,
        quantization=model.partition("-")[2],
        threads=2,
        prompt_tokens=chance.randrange(10, 4000),
        cached_tokens=0,
        completion_tokens=tokens,
        finish=chance.choice(FINISHES),
        load_seconds=0.2,
        ttft_seconds=ttft if tokens else None,
        prefill_seconds=ttft,
        decode_seconds=itl * (tokens - 1) if has_gaps else None,
        total_seconds=ttft + itl * tokens,
        itl_p50_seconds=itl if has_gaps else None,
        itl_p95_seconds=itl * 1.5 if has_gaps else None,
        itl_p99_seconds=itl * 2 if has_gaps else None,
        itl_max_seconds=itl * 5 if has_gaps else None,
        seed=chance.randrange(2**32 - 1),
        version="0.1.0",
    )


def fill(path: Path, rows: int) -> None:
    """Put them in by hand, all in one transaction."""
    chance = random.Random(1)
    now = time.time()
    Journal(path).add(made_up(chance, now - SPAN_SECONDS))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    ids = {}
    for model in MODELS:
        values = (model, model.partition("-")[2])
        connection.execute("INSERT OR IGNORE INTO model (name, quantization) VALUES (?, ?)", values)
        query = "SELECT id FROM model WHERE name = ? AND quantization = ?"
        (ids[model],) = connection.execute(query, values).fetchone()
    marks = ", ".join("?" * (len(FIGURES) + 1))
    connection.executemany(
        f"INSERT INTO generation ({', '.join(FIGURES)}, model_id) VALUES ({marks})",
        (
            [*(getattr(row, name) for name in FIGURES), ids[row.model]]
            for row in (
                made_up(chance, now - SPAN_SECONDS + SPAN_SECONDS * index / rows)
                for index in range(1, rows)
            )
        ),
    )
    connection.execute("COMMIT")
    connection.close()


def adding(path: Path, count: int) -> list[float]:
    """Milliseconds of each row."""
    journal, chance = Journal(path), random.Random(2)
    times = []
    for _ in range(count):
        row = made_up(chance, time.time())
        began = time.perf_counter()
        if not journal.add(row):
            raise SystemExit(f"{path}: a row was not written")
        times.append((time.perf_counter() - began) * 1000)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    path = Path(ENVIRONMENT["XDG_STATE_HOME"]) / "nextok" / "journal.sqlite"
    if sys.platform != "linux":
        raise SystemExit("the journal's place is known for Linux alone")
    times = adding(path, 200)
    print(f"a row: p50 {median(times):.2f} ms, p95 {percentile(times, 95):.2f} ms")
    Journal(path).forget()
    fill(path, asked.rows)
    print(f"{asked.rows:,} rows: {os.path.getsize(path) / 1e6:.0f} MB")
    times = adding(path, 200)
    print(f"a row more: p50 {median(times):.2f} ms, p95 {percentile(times, 95):.2f} ms")
    for command in (["stats"], ["stats", "--since", "7d"], ["stats", "-m", "small-Q8_0"], ["log"]):
        walls = [succeeded([NEXTOK, *command]).wall for _ in range(asked.runs)]
        met = verdict(median(walls), BAR_SECONDS)
        print(f"nextok {' '.join(command)}: {median(walls):.2f} s  {met}")


if __name__ == "__main__":
    main()
