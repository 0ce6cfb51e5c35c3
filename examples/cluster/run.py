"""Make rows of judgments and a run, and evaluate them on Spark and on one machine.

    python run.py                     20 million rows, all cores of this machine
    python run.py --rows 200000       fewer
    python run.py --master spark://host:7077 --folder /shared/folder

Both tables are printed; the exit code is 1 if they differ.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import rankgate
import rankgate.spark
from rankgate.spark import table

DEPTH, JUDGED, PARTS = 100, 20, 8
METRICS = ["nDCG@10", "AP", "RR", "P@10", "Recall@100"]


def make(folder: Path, rows: int) -> tuple[Path, Path]:
    """Write a run of 100 documents a query, and 20 judgments for each; the paths of both."""
    queries = max(PARTS, rows // DEPTH)
    rng = np.random.default_rng(23)
    places = folder / "qrels", folder / "run"
    for each in places:
        each.mkdir()
    for part, own in enumerate(np.array_split(np.arange(queries), PARTS)):
        ids = pl.Series("query_id", own).cast(pl.String)
        ranked = (np.arange(DEPTH) * 7919 + rng.integers(0, 10_000, (len(own), 1))) % 1_000_003
        judged = ranked[:, rng.permutation(DEPTH)[:JUDGED]]
        run = pl.DataFrame(
            [
                ids.gather(np.repeat(np.arange(len(own)), DEPTH)),
                pl.Series("doc_id", ranked.ravel()).cast(pl.String),
                pl.Series("score", rng.integers(0, 5_000, ranked.size) / 1000),
            ]
        )
        qrels = pl.DataFrame(
            [
                ids.gather(np.repeat(np.arange(len(own)), JUDGED)),
                pl.Series("doc_id", judged.ravel()).cast(pl.String),
                pl.Series("grade", rng.integers(0, 4, judged.size)),
            ]
        )
        run.write_parquet(places[1] / f"part-{part}.parquet")
        qrels.write_parquet(places[0] / f"part-{part}.parquet")
    return places


def main() -> int:
    """Print both tables; 1 if they differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        qrels, run = make(Path(folder), asked.rows)
        settings = {"spark.driver.memory": "2g", "spark.local.dir": folder}
        spark = rankgate.spark.session(asked.master, settings)
        began = time.perf_counter()
        there = rankgate.evaluate(table(qrels), {"run": table(run)}, METRICS)
        print(f"Spark, {asked.master}: {time.perf_counter() - began:.1f} s")
        print(there)
        spark.stop()
        began = time.perf_counter()
        here = rankgate.evaluate(qrels, {"run": run}, METRICS)
        print(f"one machine: {time.perf_counter() - began:.1f} s")
        print(here)
    one, other = here.means.row(0)[1:], there.means.row(0)[1:]
    equal = all(abs(a - b) <= 1e-12 for a, b in zip(one, other, strict=True))
    print("equal" if equal else "different")
    return int(not equal)


if __name__ == "__main__":
    sys.exit(main())
