"""How large a store may grow: times of what is done with it, on SQLite.

``python bench/limits.py [records a project] [projects]``; the table is in docs/operation.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from rankgate.store.backup import backup, hashes, restore
from rankgate.store.material import projects
from rankgate.store.records import records, series
from rankgate.store.records.records import NewRecord, Value
from rankgate.store.store import Store
from rankgate.workspace.records.alerts.alert_check import check_alerts, set_rules

METRICS, SYSTEMS, RULES = 20, 5, 20
START = datetime(2024, 1, 1, tzinfo=UTC)


def fill(store: Store, count: int, project: int) -> None:
    """Records of five systems and twenty metrics, six hours apart."""
    noise = np.random.default_rng(project).normal(0.6, 0.01, (count, SYSTEMS, METRICS))
    with store.write() as connection:
        for day in range(count):
            values = tuple(
                Value(f"nDCG@{m + 1}", f"system{s}", float(noise[day, s, m]), n=100)
                for s in range(SYSTEMS)
                for m in range(METRICS)
            )
            timestamp = START + timedelta(hours=6 * day)
            record = NewRecord({"kind": "evaluation", "day": day}, timestamp, values=values)
            records.add(connection, store.blobs, project, record)


def timed(do: Callable[[], object], times: int = 5) -> float:
    """The median of seconds of the processor, as other programs may be busy."""
    durations = []
    for _ in range(times):
        begin = time.process_time()
        do()
        durations.append(time.process_time() - begin)
    return float(np.median(durations))


def rules() -> str:
    """Twenty rules, each on the five systems of a metric."""
    return "\n".join(
        f'[[rules]]\nid = "r{m}"\nkind = "relative"\nmetric = "nDCG@{m + 1}"\nmargin = 0.2\n'
        for m in range(RULES)
    )


def measure(store: Store, count: int, many: int, folder: Path) -> dict[str, float]:
    """Seconds of the processor for each thing, and how much there is."""
    begin = time.process_time()
    numbers = []
    for index in range(many):
        with store.write() as connection:
            numbers.append(projects.add(connection, f"p{index}").id)
        fill(store, count, numbers[-1])
    measurements = {
        "projects": many,
        "records": many * count,
        "figures": many * count * 100.0,
        "record one evaluation of 100 figures": (time.process_time() - begin) / (many * count),
    }
    with store.write() as connection:
        set_rules(connection, numbers[0], rules())

    def points() -> None:
        with store.read(once=True) as connection:
            series.list_points(connection, numbers[0], "nDCG@10", system="system1")

    measurements["series of one metric and system"] = timed(points)
    measurements["check of 20 rules on 100 series"] = timed(lambda: check_alerts(store, "p0"), 3)
    target = folder / "b.zip"
    measurements["backup"] = timed(lambda: backup(store, target), 1)
    measurements["megabytes of backup"] = target.stat().st_size / 1e6
    measurements["restore with comparison"] = timed(
        lambda: restore(target, str(folder / "restored.db"), str(folder / "restored")), 1
    )
    measurements["hashes of all tables"] = timed(lambda: hashes(store), 1)
    return measurements


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    count, many = (*given, *(1_000, 10)[len(given) :])
    with tempfile.TemporaryDirectory() as name, Store.create(f"{name}/x.db") as store:
        for what, value in measure(store, count, many, Path(name)).items():
            print(f"{what:42} {value:12,.4f}")
