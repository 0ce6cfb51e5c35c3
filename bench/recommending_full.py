"""Metrics of full rankings in memory, besides plain NumPy: as matrices, tensors and lists.

    python bench/recommending_full.py            20,000 users; three minutes alone
    python bench/recommending_full.py --quick    2,560 users

A model's scores of 50,000 items come in batches of 256 users, and ten metrics at 10 and 20 are added
up. The plain program selects the first 20 items with ``numpy.argpartition`` and computes the metrics
without any check; ``Lists`` gets the items that the same lines select. Exit code 1: rankgate takes more than
1.3 times the processor time of the plain program, or values differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import page
from environment import machine, prepared, versions
from recommending import ALONE, BENCH, PACKAGES, TOLERANCE, TURNS, WORK

USERS, QUICK = 20_000, 2_560
MOST = 1.3  # processor time over that of the plain program
FORMS = {
    "plain": "plain NumPy",
    "matrix": "`Accumulator`, a matrix of NumPy",
    "torch": "`Accumulator`, a tensor of torch",
    "lists": "`Accumulator`, `Lists` of items that NumPy selected",
}
VERSIONS = ("rankgate", "numpy", "polars", "torch")


def main() -> int:
    """Measure, print, and write down a full run; 1 if a form takes too long or values differ."""
    parser = argparse.ArgumentParser(description="Compare the speed of metrics of full rankings.")
    parser.add_argument("--quick", action="store_true", help="2,560 users")
    options = parser.parse_args()
    limits = BENCH / "recommending-constraints.txt"
    programs = prepared(WORK / "env-recommending", limits, BENCH.parent, PACKAGES, ALONE)
    measurements = measured(QUICK if options.quick else USERS, programs)
    text = markdown(measurements)
    print(text)
    if not options.quick:
        machine_facts = machine()
        line = ", ".join(f"{name} {version}" for name, version in versions(programs, VERSIONS).items())
        introduction = f"Measured on {machine_facts['cpu']}, {machine_facts['cores']} cores, with {line}.\n"
        page.replace("full rankings", f"{introduction}\n{text}")
    return int(max(ratios(measurements).values()) > MOST or not agree(measurements))


def measured(users: int, programs: Path) -> dict[str, dict[str, Any]]:
    """The fastest turn of each form; they take turns, so that a slow minute meets all."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(TURNS):
        for form in FORMS:
            print(f"{users:,} users: {form} ...", file=sys.stderr, flush=True)
            command = [str(programs / "python"), str(BENCH / "peers" / "full_rankings.py"), form, str(users)]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            measurement: dict[str, Any] = json.loads(output.splitlines()[-1])
            if form not in best or measurement["cpu"] < best[form]["cpu"]:
                best[form] = measurement
    return best


def ratios(measurements: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Processor time over that of the plain program."""
    return {form: row["cpu"] / measurements["plain"]["cpu"] for form, row in measurements.items()}


def agree(measurements: dict[str, dict[str, Any]]) -> bool:
    """True if all forms have the values of the plain program."""
    expected = measurements["plain"]["values"]
    return all(
        abs(row["values"][metric] - value) <= TOLERANCE
        for row in measurements.values()
        for metric, value in expected.items()
    )


def markdown(measurements: dict[str, dict[str, Any]]) -> str:
    """The table."""
    lines = ["| form | wall s | CPU s | CPU over plain NumPy | at most |", "| :-- | --: | --: | --: | --: |"]
    over_plain = ratios(measurements)
    for form, row in measurements.items():
        limit = "" if form == "plain" else f"{MOST:.1f}"
        times = f"{row['wall']:.2f} | {row['cpu']:.2f} | {over_plain[form]:.2f}"
        lines.append(f"| {FORMS[form]} | {times} | {limit} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
