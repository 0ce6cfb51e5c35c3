"""Logs of users: KPIs by day, the log doctor, click models.

    python bench/logs.py      50 million events to the daily table, 30 million of one day to the
                              doctor, 1.7 million rows to click models, on 2 threads within 4 GB;
                              the result goes into docs/speed.md
    python bench/logs.py --events 5000000 --without-models

Events are made by DuckDB before the clock starts: searches with three or four impressions, clicks
on half of them, a few purchases, over 30 days, or over one. Each part is computed in a process of
its own, whose largest resident memory counts. Lists for click models have 30 ranks in orders that
change, so that no two searches are equal.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import page

EVENTS, SEARCHES, RANKS = 50_000_000, 56_667, 30
MEMORY, THREADS, ROOM = "2500MB", 2, 4.0  # DuckDB's own, cores, gigabytes in all
KPIS = (
    "search_ctr",
    "ctr_at_1",
    "abandonment_rate",
    "mrr_first_click",
    "conversion_rate",
    "revenue_per_search",
    "impression_ctr",
    "time_to_first_click_p50",
    "latency_p95",
    "cache_hit_rate",
)


def main() -> int:
    """Print what was measured, and write down a full run; 1 if it took too much memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--without-models", action="store_true")
    parser.add_argument("--child", nargs=2, default=())
    options = parser.parse_args()
    if options.child:
        stage, log = options.child
        print(json.dumps(PARTS[stage](Path(log))))
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events.parquet"
        for stage, events, days in (("daily", options.events, 30), ("doctor", options.events * 3 // 5, 1)):
            written_events = write_log(log, events, days)
            command = [sys.executable, __file__, "--child", stage, str(log)]
            process = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append(Row(stage, written_events, **json.loads(process.stdout)))
            print(rows[-1], flush=True)
    seconds = {} if options.without_models else fit_models()
    text = markdown(rows, seconds)
    print(text)
    if options.events == EVENTS and seconds:
        page.replace("logs", text)
    return int(max(row.gigabytes for row in rows) > ROOM)


@dataclass(frozen=True)
class Row:
    """What a part took."""

    part: str
    events: int
    seconds: float
    processor: float
    gigabytes: float


WORDS = {"daily": "daily table of {kpis} KPIs, 30 days", "doctor": "log doctor, one day"}


def markdown(rows: list[Row], models: dict[str, float]) -> str:
    """Both tables."""
    lines = ["", "| log | events | s | s of processors | GB |", "| :-- | --: | --: | --: | --: |"]
    lines += [
        f"| {WORDS[row.part].format(kpis=len(KPIS))} | {row.events:,} | {row.seconds:.1f} | "
        f"{row.processor:.1f} | {row.gigabytes:.2f} |"
        for row in rows
    ]
    if models:
        seconds = " | ".join(f"{model_seconds:.1f}" for model_seconds in models.values())
        lines += ["", f"| {SEARCHES * RANKS:,} rows | {' | '.join(models)} |"]
        lines += [f"| :-- |{' --: |' * len(models)}", f"| s of processors | {seconds} |"]
    return "\n".join([*lines[1:], ""])


def write_log(place: Path, events: int, days: int = 30) -> int:
    """Write synthetic events, five for each search."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}; SET memory_limit = '1GB'")
    connection.execute(
        f"COPY (SELECT 's' || n AS query_event_id, timestamptz '2026-01-01 00:00:00+00' + "
        "to_microseconds(CAST(n * 8.64e10 * "
        f"{days} / {events // 5} AS BIGINT) + i * 2000000) AS at, CASE WHEN i = 0 THEN 'search' WHEN i < 4 "
        "OR h % 20 > 10 THEN 'impression' WHEN h % 20 = 0 THEN 'purchase' ELSE 'click' END AS kind, CASE "
        "WHEN i = 0 THEN 'query ' || h % 50000 END AS query, 'v' || n // 3 AS session, 'u' || n // 9 AS "
        "user, CASE WHEN n // 9 % 2 = 0 THEN 'old' ELSE 'new' END AS variant, CASE WHEN i > 0 THEN 'd' || (h "
        "+ CASE WHEN i = 4 THEN 1 + h % 3 ELSE i END) % 100000 END AS "
        "doc_id, CASE WHEN i = 4 AND h % 20 <= 10 THEN 1 + h % 3 WHEN i > 0 THEN i END::INTEGER AS rank, "
        "CASE WHEN i = 4 AND h % 20 = 0 THEN 10.0 + h % 90 END AS value, CASE WHEN i = 0 THEN 10.0 + h % 400 "
        "END AS latency_ms, CASE WHEN i = 0 THEN h % 4 = 0 END AS cache_hit, CASE WHEN i = 0 THEN 'ok' END "
        "AS state, n * 5 + i AS source_line FROM (SELECT n, hash(n) % 1000003 AS h, unnest(range(5)) AS i "
        f"FROM range({events // 5}) t(n))) TO '{place}' (FORMAT parquet)"
    )
    count = connection.execute(f"SELECT count(*) FROM '{place}'").fetchone()
    connection.close()
    assert count is not None
    return int(count[0])


def daily(log: Path) -> dict[str, float]:
    """The daily table, with what it took."""
    from rankgate.online import Events, kpi

    events = Events(log, memory=MEMORY, threads=THREADS)
    return _taken(lambda: kpi(events, KPIS, by=("day",), checks=False))


def doctor(log: Path) -> dict[str, float]:
    """All checks of the log doctor, with what they took."""
    from rankgate.online.events.diagnosis import doctor as diagnose

    return _taken(lambda: diagnose(str(log)))


def _taken(work: Callable[[], object]) -> dict[str, float]:
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    gigabytes = used.ru_maxrss * 1024 / 1e9
    return {"seconds": seconds, "processor": used.ru_utime + used.ru_stime, "gigabytes": gigabytes}


PARTS = {"daily": daily, "doctor": doctor}


def fit_models() -> dict[str, float]:
    """Seconds of processors that each click model takes; no two searches are equal."""
    import numpy as np
    import polars as pl

    from rankgate.online.clicks.click_model import Settings
    from rankgate.online.clicks.click_models import MODELS
    from rankgate.online.clicks.packed_searches import PackedSearches

    random = np.random.default_rng(0)
    order = np.argsort(random.random((SEARCHES, RANKS)), axis=1)
    query = random.integers(50, size=SEARCHES)
    worth = random.beta(1, 4, (50, RANKS))
    looks = 1 / np.arange(1, RANKS + 1) ** 0.7
    clicked = random.random(order.shape) < worth[query[:, None], order] * looks
    rows = pl.DataFrame(
        {
            "search": np.repeat(np.arange(SEARCHES), RANKS),
            "query_id": np.char.mod("q%d", np.repeat(query, RANKS)),
            "doc_id": np.char.mod("d%d", order.ravel()),
            "rank": np.tile(np.arange(1, RANKS + 1), SEARCHES),
            "clicked": clicked.ravel(),
        }
    )
    began = time.perf_counter()
    searches = PackedSearches.pack(rows)
    print(f"{len(rows):,} rows packed: {time.perf_counter() - began:.1f} s")
    seconds_by_model = {}
    for model in MODELS.values():
        began = time.process_time()
        model.fit(searches, Settings())
        seconds_by_model[model.name] = time.process_time() - began
    return seconds_by_model


if __name__ == "__main__":
    sys.exit(main())
