"""rankgate on Spark besides MLlib and recommenders, and besides the local engine.

    python bench/spark.py                  20,000 users with 100 items each, one core and two
    python bench/spark.py --users 2000     fewer

Needs Java 17 and ``pip install 'rankgate[spark]'``; recommenders takes part where
``pip install --no-deps recommenders`` was done. Every contestant is a separate process, which
computes the metrics on few users before the clock starts. Processor seconds are those of the
driver, the JVM and the Python workers. The rows are Parquet with strings as ids; MLlib and
recommenders get whole numbers, and lists are collected as their documentation says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

K, DEPTH, RELEVANT = 10, 100, 20
FIVE = ["P@10", "Recall@10", "nDCG@10", "AP@10", "AP"]
TWENTY = [*FIVE, "RR", "RR@10", "nDCG", "nDCG@5", "nDCG@20", "P@1", "P@5", "P@20", "Recall@5",
          "Recall@50", "Success@1", "Success@10", "F1@10", "Rprec", "bpref"]  # fmt: skip
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Row:
    """What a contestant took."""

    name: str
    metrics: int
    wall: float
    processor: float

    def line(self, rows: int) -> str:
        """As a row of the table."""
        each, cpu = self.wall / self.metrics, self.processor / self.metrics
        speed = rows * self.metrics / self.processor
        cells = (self.name, self.metrics, f"{self.wall:.1f}", f"{self.processor:.1f}",
                 f"{each:.2f}", f"{cpu:.2f}", f"{speed:,.0f}")  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"


def write(folder: Path, users: int) -> None:
    """Lists of 100 of 10,000 items, and 20 relevant items a user, of which some are listed."""
    rng = np.random.default_rng(4)
    start = rng.integers(0, 10_000, (users, 1))
    items = (start + np.arange(DEPTH) * 97) % 10_000
    hits = rng.integers(0, 200, (users, RELEVANT))
    truth = (start + hits * 97) % 10_000
    owner = np.arange(users)
    run = pl.DataFrame({
        "query_id": np.repeat(owner, DEPTH), "doc_id": items.ravel(),
        "score": np.tile(np.arange(DEPTH, 0, -1.0), users) + rng.random(items.size) / 2,
    })  # fmt: skip
    judged = pl.DataFrame({"query_id": np.repeat(owner, RELEVANT), "doc_id": truth.ravel()})
    qrels = judged.unique(maintain_order=True).with_columns(grade=pl.lit(1))
    ids = pl.col("query_id", "doc_id")
    for name, table in (("run", run), ("qrels", qrels)):
        table.write_parquet(folder / f"{name}-numbers.parquet")
        table.with_columns(ids.cast(pl.String)).write_parquet(folder / f"{name}.parquet")


def ours(metrics: list[str]) -> Callable[[Path, Any], dict[str, float]]:
    """Use rankgate on Spark."""

    def use(folder: Path, spark: Any) -> dict[str, float]:
        from rankgate.spark import evaluate

        result = evaluate(
            folder / "qrels.parquet", folder / "run.parquet", metrics, values=False, spark=spark
        )
        return dict(result.summary.runs[0].means)

    return use


def here(folder: Path, _spark: Any) -> dict[str, float]:
    """The local engine."""
    import rankgate

    found = rankgate.evaluate(folder / "qrels.parquet", folder / "run.parquet", FIVE)
    return dict(found.runs[0].means)


def mllib(folder: Path, spark: Any) -> dict[str, float]:
    """RankingEvaluator of Spark ML, one call a metric, on lists that are collected once."""
    from pyspark.ml.evaluation import RankingEvaluator
    from pyspark.sql import functions as F

    run = spark.read.parquet(str(folder / "run-numbers.parquet"))
    best = F.sort_array(F.collect_list(F.struct("score", "doc_id")), asc=False)
    lists = run.groupBy("query_id").agg(
        F.transform(best, lambda each: each.doc_id.cast("double")).alias("prediction")
    )
    truth = spark.read.parquet(str(folder / "qrels-numbers.parquet"))
    labels = truth.groupBy("query_id").agg(
        F.collect_list(F.col("doc_id").cast("double")).alias("label")
    )
    both = lists.join(labels, "query_id").cache()
    names = ("precisionAtK", "recallAtK", "ndcgAtK", "meanAveragePrecisionAtK",
             "meanAveragePrecision")  # fmt: skip
    return {name: RankingEvaluator(metricName=name, k=K).evaluate(both) for name in names}


def recommenders(folder: Path, spark: Any) -> dict[str, float]:
    """SparkRankingEvaluation of recommenders."""
    from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

    truth = spark.read.parquet(str(folder / "qrels-numbers.parquet"))
    run = spark.read.parquet(str(folder / "run-numbers.parquet"))
    judge = SparkRankingEvaluation(
        truth, run, k=K, relevancy_method="top_k", col_user="query_id", col_item="doc_id",
        col_rating="grade", col_prediction="score",
    )  # fmt: skip
    return {
        "precision": judge.precision_at_k(), "recall": judge.recall_at_k(),
        "ndcg": judge.ndcg_at_k(), "map": judge.map_at_k(),
    }  # fmt: skip


CONTESTANTS: dict[str, tuple[Callable[[Path, Any], dict[str, float]], int]] = {
    "rankgate on Spark": (ours(FIVE), 5),
    "rankgate on Spark, 20 metrics": (ours(TWENTY), 20),
    "Spark ML RankingEvaluator": (mllib, 5),
    "recommenders SparkRankingEvaluation": (recommenders, 4),
    "rankgate, local engine": (here, 5),
}


def processor() -> float:
    """Seconds of this process and all that it started."""
    parents: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(place.parent.name)
        parents.setdefault(int(fields[1]), []).append(pid)
        seconds[pid] = sum(map(int, fields[11:15])) / TICKS
    found, todo = 0.0, [os.getpid()]
    while todo:
        pid = todo.pop()
        found += seconds.get(pid, 0.0)
        todo += parents.get(pid, [])
    return found


def child(name: str, cores: int, folder: Path) -> dict[str, Any]:
    """Measure a contestant in this process."""
    use = CONTESTANTS[name][0]
    spark = None
    if "local engine" not in name:
        from rankgate.spark import session

        settings = {
            "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": str(cores),
            "spark.local.dir": str(folder),
        }  # fmt: skip
        spark = session(f"local[{cores}]", settings)
    use(folder / "few", spark)
    before, began = processor(), time.perf_counter()
    values = use(folder, spark)
    wall = time.perf_counter() - began
    cpu = processor() - before
    if spark is not None:
        spark.stop()
    return {"wall": wall, "processor": cpu, "values": values}


def main() -> int:
    """Print a table of all contestants."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--child", nargs=3, default=())
    asked = parser.parse_args()
    if asked.child:
        name, cores, folder = asked.child
        print(json.dumps(child(name, int(cores), Path(folder))))
        return 0
    print("| | metrics | s | processor s | s a metric | processor s a metric | rows/s a core |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "few").mkdir()
        write(folder / "few", 200)
        write(folder, asked.users)
        for name, (_, metrics) in CONTESTANTS.items():
            for cores in (1, 2) if name == "rankgate on Spark" else (2,):
                command = [sys.executable, __file__, "--child", name, str(cores), made]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    continue
                found = json.loads(done.stdout.splitlines()[-1])
                where = "" if "local engine" in name else f", local[{cores}]"
                row = Row(f"{name}{where}", metrics, found["wall"], found["processor"])
                print(row.line(asked.users * DEPTH), flush=True)
                print(json.dumps(found["values"]), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
