"""Make a table of eight models on 20 tasks whose true means are known: ``python make_table.py``."""

from __future__ import annotations

import csv
import random
from pathlib import Path

TRUE_MEANS = {
    "atlas": 0.62,
    "birch": 0.62,
    "cedar": 0.62,
    "dune": 0.62,
    "ember": 0.60,
    "fjord": 0.60,
    "grove": 0.55,
    "heath": 0.50,
}
"""The means over all tasks like these; the table shows 20 of them."""

TASKS, DIFFICULTY, SPREAD = 20, 0.12, 0.035


def main(seed: int) -> None:
    """Write ``table.csv``: a row for each task, a column for each model."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    with Path(__file__).with_name("table.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["task", *TRUE_MEANS])
        for task in range(1, TASKS + 1):
            easier = rng.gauss(0, DIFFICULTY)
            values = (mean + easier + rng.gauss(0, SPREAD) for mean in TRUE_MEANS.values())
            writer.writerow([f"task-{task:02d}", *(f"{min(max(value, 0), 1):.4f}" for value in values)])


if __name__ == "__main__":
    main(seed=1)
