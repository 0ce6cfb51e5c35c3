"""A report on 10,000 queries of 20 systems: how long it takes, and how large it is.

    python bench/report.py

Judgments and runs are drawn with a seed: 60 judged documents and 50 ranked ones a query.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

QUERIES, SYSTEMS, JUDGED, RANKED, OTHERS = 10_000, 20, 60, 50, 40
SECONDS, MEGABYTES = 30.0, 15.0  # wanted


def main() -> int:
    """Make the data, write the report; 1 if it is slower or larger than wanted."""
    with tempfile.TemporaryDirectory() as folder:
        paths = made(Path(folder))
        page = Path(folder, "report.html")
        begin = time.perf_counter()
        command = [sys.executable, "-m", "rankgate", "report", *map(str, paths), "-o", str(page)]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - begin
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = page.stat().st_size / 1e6
    busy = used.ru_utime + used.ru_stime
    print(f"{QUERIES:,} queries, {SYSTEMS} systems, 5 metrics\n")
    print("| seconds | of processor | MB of page | MB of memory |")
    print("| --: | --: | --: | --: |")
    print(f"| {seconds:.1f} | {busy:.1f} | {size:.1f} | {used.ru_maxrss / 1e3:.0f} |")
    return int(seconds > SECONDS or size > MEGABYTES)


def made(folder: Path) -> list[Path]:
    """Judgments, then the runs, the baseline first: each puts more noise on the grades."""
    rng = np.random.default_rng(0)
    query, document = np.repeat(np.arange(QUERIES), JUDGED), np.tile(np.arange(JUDGED), QUERIES)
    grades = rng.choice([0, 0, 0, 1, 2, 3], size=QUERIES * JUDGED)
    qrels = folder / "qrels.txt"
    _written(pl.DataFrame({"q": query, "zero": 0, "d": document, "g": grades}), qrels)
    true_grades = np.pad(grades.reshape(QUERIES, JUDGED).astype(float), ((0, 0), (0, OTHERS)))
    paths = [qrels]
    for system in range(SYSTEMS):
        scores = true_grades + rng.normal(size=true_grades.shape) * (1.2 + 0.05 * system)
        order = np.argsort(-scores, axis=1)[:, :RANKED]
        rows = {
            "q": np.repeat(np.arange(QUERIES), RANKED),
            "q0": "Q0",
            "d": order.ravel(),
            "rank": np.tile(np.arange(1, RANKED + 1), QUERIES),
            "score": np.tile(np.arange(RANKED, 0, -1), QUERIES),
            "tag": f"system{system}",
        }
        paths.append(folder / f"system{system:02}.run")
        _written(pl.DataFrame(rows), paths[-1])
    return paths


def _written(table: pl.DataFrame, path: Path) -> None:
    table.write_csv(path, separator=" ", include_header=False)


if __name__ == "__main__":
    sys.exit(main())
