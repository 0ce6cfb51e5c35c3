"""Compare the coverage of each area with its lower bound; ``--raise`` raises bounds, never lowers.

An area of src/rankgate that has packages for topics of their own (`DIVIDED`) has a bound for each
of them. Coverage is the share of statements and branches that ran. A bound that is more than a
point too low is named: bounds only go up.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from math import floor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "build" / "coverage" / "report.json"
BOUNDS = ROOT / ".ci" / "coverage_bounds.json"
DIVIDED = ("core", "measurement", "decisions", "workspace", "interface")
PACKAGES = ("data/files", "store/client")
"""Packages of areas that are otherwise counted as one."""
BELOW = 1.0
"""A bound is this much below what was measured: some branches depend on the machine."""
SLACK = 1.0


def main(*, raising: bool) -> int:
    """Print a table of areas, and say what to do."""
    bounds = json.loads(BOUNDS.read_text("utf-8"))
    measured = percentages(json.loads(REPORT.read_text("utf-8")))
    if raising:
        bounds = raised(bounds, measured)
        BOUNDS.write_text(json.dumps(bounds, indent=1) + "\n", "utf-8")
    for area, value in measured.items():
        print(f"{area:<25}{value:6.1f} %  at least {bounds.get(area, 0):.1f} %")
    messages = faults(bounds, measured)
    print(*too_low(bounds, measured), *messages, sep="\n")
    return int(bool(messages))


def percentages(report: dict) -> dict[str, float]:
    """The percentage of statements and branches that ran, by area."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in report["files"].items():
        summary = file["summary"]
        area = area_of(Path(name))
        counts[area][0] += summary["covered_lines"] + summary["covered_branches"]
        counts[area][1] += summary["num_statements"] + summary["num_branches"]
    return {area: 100 * ran / total for area, (ran, total) in sorted(counts.items()) if total}


def area_of(path: Path) -> str:
    """The area of a file, with the package if that is counted by itself."""
    parts = path.with_suffix("").parts
    parts = parts[parts.index("rankgate") + 1 :]
    package = "/".join(parts[:2])
    return package if parts[0] in DIVIDED or package in PACKAGES else parts[0]


def faults(bounds: dict[str, float], measured: dict[str, float]) -> list[str]:
    """Areas below their bound, and bounds of no area."""
    lost = [area for area in bounds if area not in measured]
    low_areas = [area for area, bound in bounds.items() if measured.get(area, 100) < bound]
    return [
        *(f"{area}: less of it is tested than before; add tests" for area in low_areas),
        *(f"{area}: no such area; remove it from {BOUNDS.name}" for area in lost),
    ]


def too_low(bounds: dict[str, float], measured: dict[str, float]) -> list[str]:
    """What to do about bounds that are more than `SLACK` lower than they could be."""
    low = [area for area, value in measured.items() if value - BELOW - SLACK > bounds.get(area, 0)]
    return [f"{area}: its bound is too low; say: make coverage RAISE=1" for area in low]


def raised(bounds: dict[str, float], measured: dict[str, float]) -> dict[str, float]:
    """The bounds that the measured percentages allow, none of them lower than before."""
    values = {area: floor(10 * (value - BELOW)) / 10 for area, value in measured.items()}
    return {area: max(values[area], bounds.get(area, 0)) for area in values}


if __name__ == "__main__":
    sys.exit(main(raising="--raise" in sys.argv[1:]))
