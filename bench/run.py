"""The benchmark: every contestant on every workload, one table.

    python bench/run.py                     everything, about half an hour
    python bench/run.py --targets           what the targets need, less than ten minutes
    python bench/run.py --quick             without ranx on large runs and without the huge run
    python bench/run.py --workload small    one workload; the others keep their last results

Needs nothing but Python: the contestants and the workloads live in an environment that is
built in bench/work on first use. Without --quick, bench/results.json and the tables of
docs/speed.md are written; what was not measured keeps its last results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import page
import rows as table
import targets
from contestants import OURS, Contestant, contestants
from environment import machine, prepared, versions
from measure import Repeated, alternating

BENCH = Path(__file__).parent
WORK = BENCH / "work"
RESULTS = BENCH / "results.json"
NAMES = (
    "small",
    "small-shuffled",
    "passages",
    "passages-shuffled",
    "users",
    "users-shuffled",
    "huge",
)
LIMIT = 300.0  # seconds until a contestant is ended
PATIENCE = 45.0  # seconds of one contestant on one workload, after which it is not repeated
TIMES = {"small": 9, "huge": 3}  # executions, else five
INSIDE = 2  # executions of those that time themselves, each five times


def main() -> int:
    """Measure, print, and write down a full run."""
    asked = _asked()
    programs = prepared(WORK / "env", BENCH / "constraints.txt", BENCH.parent)
    names = [asked.workload] if asked.workload else list(NAMES)
    needed = targets.needed() if asked.targets else None
    if needed is not None:
        names = [name for name in names if name in needed]
    if asked.quick and not asked.workload:
        names.remove("huge")
    load = os.getloadavg()[0]
    found: list[table.Row] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        who = contestants(name, quick=asked.quick)
        if needed is not None:
            who = [each for each in who if each.name in needed[name] | {OURS.name}]
        found += _measured(name, programs, who)
    result = targets.outcomes(found)
    print(table.markdown(found, LIMIT))
    print(targets.markdown([each for each in result if each.measured is not None]))
    if not asked.quick:
        together = _with_earlier(found)
        _write(together, targets.outcomes(together), programs, load)
    agreed = all(row.agrees is not False for row in found)
    return 0 if agreed and all(each.met is not False for each in result) else 1


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare rankgate's speed with others'.")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--targets", action="store_true", help="only what targets compare")
    parser.add_argument("--workload", choices=NAMES, help="only this one")
    return parser.parse_args()


def _measured(name: str, programs: Path, who: list[Contestant]) -> list[table.Row]:
    """Some contestants of one workload, ourselves among them."""
    maker = [str(programs / "python"), str(BENCH / "workloads.py"), name, str(WORK)]
    made = subprocess.run(maker, check=True, capture_output=True, text=True).stdout
    title, qrels, run = made.splitlines()
    measured: dict[str, Repeated] = {}
    for inside, times in ((False, TIMES.get(name.partition("-")[0], 5)), (True, INSIDE)):
        some = [each for each in who if each.inside is inside]
        commands = {each.name: each.command(programs, Path(qrels), Path(run)) for each in some}
        measured |= alternating(commands, times, LIMIT, PATIENCE)
    found = [table.row(name, title, each, measured[each.name]) for each in who]
    ours = next(row.means for row in found if row.contestant == OURS.name)
    return [
        replace(row, agrees=table.agree(row.means, ours)) if row.means and ours else row
        for row in found
    ]


def _with_earlier(found: list[table.Row]) -> list[table.Row]:
    """New rows in the place of those that an earlier run wrote down."""
    if not RESULTS.exists():
        return found
    new = {(row.workload, row.contestant): row for row in found}
    earlier = [table.Row(**row) for row in json.loads(RESULTS.read_text())["rows"]]
    rows = [new.pop((row.workload, row.contestant), row) for row in earlier]
    return sorted([*rows, *new.values()], key=lambda row: NAMES.index(row.workload))


def _write(
    found: list[table.Row], measured: list[targets.Outcome], programs: Path, load: float
) -> None:
    """The results as JSON, and the page's tables."""
    where, what = machine(), versions(programs)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": where,
        "versions": what,
        "load_before": load,
        "rows": [row.to_dict() for row in found],
        "targets": [{**asdict(each), "met": each.met} for each in measured],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    line = ", ".join(f"{name} {version}" for name, version in what.items())
    place = f"{where['cpu']}, {where['cores']} cores, {where['memory_gb']} GB"
    head = f"Measured on {place}, {where['system']}, Python {where['python']}, with {line}.\n"
    page.replace("results", head + "\n" + table.markdown(found, LIMIT))
    page.replace("targets", targets.markdown(measured))


if __name__ == "__main__":
    sys.exit(main())
