"""Metrics of recommendations, besides recommenders, RecBole and torchmetrics, on the processor.

    python bench/recommending.py            10,000, 100,000 and 1,000,000 users; ten minutes alone
    python bench/recommending.py --quick    10,000 users; a minute
    python bench/recommending.py --users N  one of the three; the others keep their last results

Eight metrics of accuracy and six of lists of 100 items, 20 relevant items and 20 of training a
user. rankgate computes all of them; the others those that they have. Each contestant is a process
of its own whose data is in memory before the clock starts, in the form that it wants:

- recommenders takes pandas frames, rankgate Polars frames with the same rows;
- RecBole takes tensors of hits and of items, torchmetrics flat tensors of scores and targets,
  rankgate matrices of items, in which it still has to find the hits.

Contestants take turns, so that a slow minute of the machine meets all of them; one that takes
longer than some seconds has one turn. A contestant that needs more memory or minutes than there
are takes part with fewer users.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import page
from environment import machine, prepared, versions

BENCH = Path(__file__).parent
WORK = BENCH / "work"
RESULTS = BENCH / "recommending.json"
USERS = (10_000, 100_000, 1_000_000)
PROMISED = 100_000  # users from which on the targets hold; below, fixed costs show
TURNS, PATIENCE = 3, 20.0  # a contestant that takes longer than this has one turn
TOLERANCE = 1e-6
PACKAGES = (
    "torch",
    "torchmetrics",
    "pandas",
    "scikit-learn",
    "scipy",
    "tensorboard",
    "colorlog",
    "tqdm",
    "pyyaml",
    "psutil",
    "texttable",
    "tabulate",
)
ALONE = ("recbole", "recommenders")
VERSIONS = ("rankgate", "numpy", "polars", "pandas", "torch", "recommenders", "recbole", "torchmetrics")


@dataclass(frozen=True)
class Contestant:
    """One way to the metrics.

    Attributes:
        name: as the table shows it.
        words: the file in ``peers`` and what it gets before the data.
        besides: our own way that starts from the same kind of data.
        most: how many users it can take.
        wanted: how many times our own time it is to take at least; None for ourselves.
    """

    name: str
    words: tuple[str, ...]
    context: str
    most: int
    wanted: float | None = None


FRAMES, LISTS = "rankgate, frames", "rankgate, matrices"
CONTESTANTS = (
    Contestant(FRAMES, ("lists_of_rankgate.py", "frames"), FRAMES, USERS[-1]),
    Contestant("recommenders", ("lists_of_recommenders.py",), FRAMES, 100_000, 20.0),
    Contestant(LISTS, ("lists_of_rankgate.py", "lists"), LISTS, USERS[-1]),
    Contestant("RecBole", ("lists_of_recbole.py",), LISTS, USERS[-1], 1.0),
    Contestant("torchmetrics", ("lists_of_torchmetrics.py",), LISTS, 100_000, 1.0),
)


@dataclass(frozen=True)
class Row:
    """One contestant with some users; seconds are of its best turn.

    Attributes:
        users: how many.
        contestant: its name.
        metrics: how many of the fourteen it has.
        accuracy: seconds for those of accuracy.
        accuracy_cpu: of all threads together.
        whole: seconds for all of them.
        whole_cpu: of all threads together.
        data: MB before it began.
        memory: the most MB that it used.
        turns: how many it had.
        agrees: whether all its values are ours.
    """

    users: int
    contestant: str
    metrics: int
    accuracy: float
    accuracy_cpu: float
    whole: float
    whole_cpu: float
    data: float
    memory: float
    turns: int
    agrees: bool


def main() -> int:
    """Measure, print, and write down a full run; 1 if a target is missed or values differ."""
    parser = argparse.ArgumentParser(description="Compare the speed of metrics of recommendations.")
    parser.add_argument("--quick", action="store_true", help="10,000 users")
    parser.add_argument("--users", type=int, choices=USERS, help="so many users only")
    options = parser.parse_args()
    home = WORK / "env-recommending"
    limits = BENCH / "recommending-constraints.txt"
    programs = prepared(home, limits, BENCH.parent, PACKAGES, ALONE)
    user_counts = [options.users] if options.users else USERS[:1] if options.quick else USERS
    rows = [row for users in user_counts for row in measured(users, programs)]
    print(markdown(rows))
    if not options.quick:
        all_rows = _earlier(rows) + rows
        write(sorted(all_rows, key=lambda row: row.users), programs)
    targets_met = [ratio >= target for ratio, target in _targets(rows)]
    return 0 if all(targets_met) and all(row.agrees for row in rows) else 1


def measured(users: int, programs: Path) -> list[Row]:
    """All contestants that can take so many users, in turns."""
    maker = [str(programs / "python"), str(BENCH / "recommending_lists.py"), str(users), str(WORK)]
    paths = subprocess.run(maker, check=True, capture_output=True, text=True).stdout.split()
    result: dict[str, list[dict[str, Any]]] = {}
    for _ in range(TURNS):
        for contestant in CONTESTANTS:
            earlier_runs = result.get(contestant.name, [])
            if users > contestant.most or (earlier_runs and sum(earlier_runs[0]["wall"].values()) > PATIENCE):
                continue
            print(f"{users:,} users: {contestant.name} ...", file=sys.stderr, flush=True)
            result.setdefault(contestant.name, []).append(_once(contestant, programs, paths))
    rankgate_values = result[FRAMES][0]["values"] | result[LISTS][0]["values"]
    return [_row(users, name, runs, rankgate_values) for name, runs in result.items()]


def _once(each: Contestant, programs: Path, paths: list[str]) -> dict[str, Any]:
    script, *arguments = each.words
    command = [str(programs / "python"), str(BENCH / "peers" / script), *arguments, *paths]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"{each.name} ended with {process.returncode}: {process.stderr[-2000:]}")
    measurement: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return measurement


def _row(users: int, name: str, runs: list[dict[str, Any]], ours: dict[str, float]) -> Row:
    fastest: dict[str, float] = {}
    for kind in ("wall", "cpu"):
        fastest[f"accuracy {kind}"] = min(run[kind]["accuracy"] for run in runs)
        fastest[kind] = min(_whole(run[kind]) for run in runs)
    values = runs[0]["values"]
    agrees = all(
        abs(value - ours[metric]) <= TOLERANCE * max(1, abs(value))
        for metric, value in values.items()
        if metric in ours
    )
    return Row(
        users,
        name,
        len(values),
        fastest["accuracy wall"],
        fastest["accuracy cpu"],
        fastest["wall"],
        fastest["cpu"],
        runs[0]["data"],
        max(run["memory"] for run in runs),
        len(runs),
        agrees,
    )


def _whole(seconds: dict[str, float]) -> float:
    """Seconds for all metrics: in one go, or one kind after the other."""
    return seconds["all"] if "all" in seconds else sum(seconds.values())


def _targets(rows: list[Row]) -> list[tuple[float, float]]:
    """For each peer that takes part its processor time over ours, and what is wanted."""
    row_by_key = {(row.users, row.contestant): row for row in rows}
    ratios = []
    for row in rows:
        contestant = next(c for c in CONTESTANTS if c.name == row.contestant)
        if contestant.wanted is not None and row.users >= PROMISED:
            rankgate_row = row_by_key[row.users, contestant.context]
            has_list_metrics = row.whole_cpu > row.accuracy_cpu  # it has metrics of lists too
            pair = (
                (row.whole_cpu, rankgate_row.whole_cpu)
                if has_list_metrics
                else (row.accuracy_cpu, rankgate_row.accuracy_cpu)
            )
            ratios.append((pair[0] / pair[1], contestant.wanted))
    return ratios


def markdown(rows: list[Row]) -> str:
    """The table; a ratio is of times, over our own time from the same kind of data."""
    header = (
        "users",
        "contestant",
        "metrics",
        "accuracy s",
        "over rankgate",
        "all s",
        "over rankgate",
        "CPU s",
        "over rankgate",
        "data MB",
        "most MB",
        "agrees",
    )
    lines = [f"| {' | '.join(header)} |", "| --: | :-- " + "| --: " * 9 + "| :-: |"]
    row_by_key = {(row.users, row.contestant): row for row in rows}
    context = {contestant.name: contestant.context for contestant in CONTESTANTS}
    for row in rows:
        rankgate_row = row_by_key[row.users, context[row.contestant]]
        cells = [
            f"{row.users:,}",
            row.contestant,
            f"{row.metrics}",
            f"{row.accuracy:.2f}",
            f"{row.accuracy / rankgate_row.accuracy:.1f}",
            f"{row.whole:.2f}",
            f"{row.whole / rankgate_row.whole:.1f}",
            f"{row.whole_cpu:.2f}",
            f"{row.whole_cpu / rankgate_row.whole_cpu:.1f}",
            f"{row.data:,.0f}",
            f"{row.memory:,.0f}",
            "yes" if row.agrees else "NO",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _earlier(found: list[Row]) -> list[Row]:
    """What was written down for other numbers of users."""
    if not RESULTS.exists():
        return []
    new = {row.users for row in found}
    rows = [Row(**row) for row in json.loads(RESULTS.read_text())["rows"]]
    return [row for row in rows if row.users not in new]


def write(rows: list[Row], programs: Path) -> None:
    """The results as JSON, and the page's table."""
    machine_facts, library_versions = machine(), versions(programs, VERSIONS)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine_facts,
        "versions": library_versions,
        "rows": [asdict(row) for row in rows],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    line = ", ".join(f"{name} {version}" for name, version in library_versions.items())
    introduction = f"Measured on {machine_facts['cpu']}, {machine_facts['cores']} cores, with {line}.\n"
    page.replace("recommending", introduction + "\n" + markdown(rows))


if __name__ == "__main__":
    sys.exit(main())
