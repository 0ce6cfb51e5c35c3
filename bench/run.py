"""The benchmark: every contestant on every workload, one table.

    python bench/run.py                     everything, about half an hour
    python bench/run.py --targets           what the targets need, less than ten minutes
    python bench/run.py --quick             without ranx on large runs and without the huge run
    python bench/run.py --workload small    one workload

Needs nothing but Python: the contestants and the workloads live in an environment that is
built in bench/work on first use. Without --quick, bench/results.json and the tables of
docs/speed.md and docs/speed-figures.md are written; rows of other machines, versions and days stay
in tables of their own.
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

import chart
import glance
import page
import rows as table
import targets
from contestants import LEAST, OURS, Contestant, contestants
from environment import machine, prepared, versions
from measure import Repeated, alternating

BENCH = Path(__file__).parent
WORK = BENCH / "work"
RESULTS = BENCH / "results.json"
NAMES = ("small", "small-shuffled", "passages", "passages-shuffled", "users", "users-shuffled", "huge")
LIMIT = 300.0  # seconds until a contestant is ended
PATIENCE = 45.0  # seconds of one contestant on one workload, after which it is not repeated
TIMES = {"small": 9, "huge": 3}  # executions, else five
INSIDE = 2  # executions of those that time themselves, each five times


def main() -> int:
    """Measure, print, and write down a full run."""
    options = _asked()
    programs = prepared(WORK / "env", BENCH / "constraints.txt", BENCH.parent)
    names = [options.workload] if options.workload else list(NAMES)
    needed = targets.needed() if options.targets else None
    if needed is not None:
        names = [name for name in names if name in needed]
    if options.quick and not options.workload:
        names.remove("huge")
    load, circumstances = os.getloadavg()[0], _circumstances(programs)
    rows: list[table.Row] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        participants = contestants(name, quick=options.quick)
        if needed is not None:
            participants = [
                contestant
                for contestant in participants
                if contestant.name in needed[name] | {OURS.name, LEAST.name}
            ]
        measured = _measured(name, programs, participants)
        rows += [replace(row, circumstances=circumstances) for row in measured]
    result = targets.outcomes(rows)
    print(table.markdown(rows, LIMIT))
    print(targets.markdown([outcome for outcome in result if outcome.measured is not None]))
    if not options.quick:
        _write(_with_earlier(rows), result, load)
    agreed = all(row.agrees is not False for row in rows)
    return 0 if agreed and all(outcome.met is not False for outcome in result) else 1


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare rankgate's speed with others'.")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--targets", action="store_true", help="only what targets compare")
    parser.add_argument("--workload", choices=NAMES, help="only this one")
    return parser.parse_args()


def _measured(name: str, programs: Path, who: list[Contestant]) -> list[table.Row]:
    """Some contestants of one workload, ourselves among them."""
    maker = [str(programs / "python"), str(BENCH / "workloads.py"), name, str(WORK)]
    output = subprocess.run(maker, check=True, capture_output=True, text=True).stdout
    title, qrels, run = output.splitlines()
    measured: dict[str, Repeated] = {}
    for in_process, times in ((False, TIMES.get(name.partition("-")[0], 5)), (True, INSIDE)):
        group = [contestant for contestant in who if contestant.inside is in_process]
        commands = {
            contestant.name: contestant.command(programs, Path(qrels), Path(run)) for contestant in group
        }
        measured |= alternating(commands, times, LIMIT, PATIENCE)
    rows = [table.row(name, title, contestant, measured[contestant.name]) for contestant in who]
    our_means = next(row.means for row in rows if row.contestant == OURS.name)
    return [
        replace(row, agrees=table.agree(row.means, our_means)) if row.means and our_means else row
        for row in rows
    ]


def _with_earlier(rows: list[table.Row]) -> list[table.Row]:
    """New rows, and those that an earlier execution wrote down in other circumstances.

    Times of two machines are never in one table: their quotients say nothing.
    """
    new = {(row.circumstances, row.workload, row.contestant) for row in rows}
    written = [table.Row(**row) for row in json.loads(RESULTS.read_text())["rows"]]
    earlier = [r for r in written if (r.circumstances, r.workload, r.contestant) not in new]
    return sorted([*rows, *earlier], key=lambda row: NAMES.index(row.workload))


def _circumstances(programs: Path) -> str:
    """The day, the machine and the versions, in one sentence."""
    facts = machine()
    packages = ", ".join(f"{name} {version}" for name, version in versions(programs).items())
    return (
        f"Measured on {datetime.now(UTC).date()}, {facts['cpu']}, {facts['cores']} cores, "
        f"{facts['memory_gb']} GB, {facts['system']}, Python {facts['python']}, with {packages}."
    )


def _write(rows: list[table.Row], measured: list[targets.Outcome], load: float) -> None:
    """The results as JSON, and the page's tables."""
    result = {
        "load_before": load,
        "rows": [row.to_dict() for row in rows],
        "targets": [{**asdict(outcome), "met": outcome.met} for outcome in measured],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    page.replace("results", table.markdown(rows, LIMIT))
    chart.write(result["rows"])
    glance.write()
    if all(outcome.measured is not None for outcome in measured):
        page.replace("targets", targets.markdown(measured))


if __name__ == "__main__":
    sys.exit(main())
