"""rankgate on Spark besides MLlib and recommenders, and besides the local engine.

    python bench/spark.py                  50,000 users with 100 items each, one core and two
    python bench/spark.py --users 2000     fewer
    python bench/spark.py --executors      1, 2 and 4 executors, 10^6 to 10^8 rows; half an hour

Needs Java 17 and ``pip install 'rankgate[spark]'``; recommenders takes part where
``pip install --no-deps recommenders`` was done. Every contestant is a separate process, which
computes the metrics once before the clock starts, as a JVM is slow before it has compiled.
Processor seconds are those of the driver, the JVM and the Python workers. The rows are Parquet with
strings as ids; MLlib and recommenders get whole numbers, and lists are collected as their
documentation says. The last lines are what the figures mean next to what was aimed at.
With --executors, each executor is a JVM with one core and a Python worker of its own, as in a
cluster; the values of every mean are compared with those of the local engine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

K, DEPTH, RELEVANT = 10, 100, 20
FIVE = ["P@10", "Recall@10", "nDCG@10", "AP@10", "AP"]
TWENTY = [
    *FIVE,
    "RR",
    "RR@10",
    "nDCG",
    "nDCG@5",
    "nDCG@20",
    "P@1",
    "P@5",
    "P@20",
    "Recall@5",
    "Recall@50",
    "Success@1",
    "Success@10",
    "F1@10",
    "Rprec",
    "bpref",
]
TICKS = os.sysconf("SC_CLK_TCK")
AT_K = ("precisionAtK", "recallAtK", "ndcgAtK", "meanAveragePrecisionAtK")
PARTS = ("driver", "JVM", "workers")
GROWTH = (10**6, 10**7, 10**8)  # rows of run and judgments
EXECUTORS = (1, 2, 4)
EXECUTOR_MEMORY = "1024m"


@dataclass(frozen=True)
class Row:
    """What a contestant took.

    Attributes:
        name: of the contestant, with the cores that it had.
        metrics: how many it computed.
        wall: seconds.
        parts: processor seconds of the driver, the JVM and the Python workers.
    """

    name: str
    metrics: int
    wall: float
    parts: dict[str, float]

    @property
    def processor(self) -> float:
        """Processor seconds in all."""
        return sum(self.parts.values())

    @property
    def each(self) -> float:
        """Processor seconds of a metric."""
        return self.processor / self.metrics

    def line(self, rows: int) -> str:
        """As a row of the table."""
        speed = rows / self.processor
        parts = [f"{self.parts.get(name, 0.0):.1f}" for name in PARTS]
        cells = (
            self.name,
            self.metrics,
            f"{self.wall:.1f}",
            f"{self.processor:.1f}",
            *parts,
            f"{self.each:.2f}",
            f"{speed:,.0f}",
        )
        return f"| {' | '.join(map(str, cells))} |"


def write(folder: Path, users: int) -> None:
    """Lists of 100 of 10,000 items, and 20 relevant items a user, of which some are listed."""
    rng = np.random.default_rng(4)
    start = rng.integers(0, 10_000, (users, 1))
    items = (start + np.arange(DEPTH) * 97) % 10_000
    hits = rng.integers(0, 200, (users, RELEVANT))
    truth = (start + hits * 97) % 10_000
    owner = np.arange(users)
    run = pl.DataFrame(
        {
            "query_id": np.repeat(owner, DEPTH),
            "doc_id": items.ravel(),
            "score": np.tile(np.arange(DEPTH, 0, -1.0), users) + rng.random(items.size) / 2,
        }
    )
    judged = pl.DataFrame({"query_id": np.repeat(owner, RELEVANT), "doc_id": truth.ravel()})
    qrels = judged.unique(maintain_order=True).with_columns(grade=pl.lit(1))
    ids = pl.col("query_id", "doc_id")
    for name, table in (("run", run), ("qrels", qrels)):
        table.write_parquet(folder / f"{name}-numbers.parquet")
        table.with_columns(ids.cast(pl.String)).write_parquet(folder / f"{name}.parquet")


def ours(metrics: list[str]) -> Callable[[Path, Any], dict[str, float]]:
    """Use rankgate on Spark."""

    def use(folder: Path, _spark: Any) -> dict[str, float]:
        import rankgate
        from rankgate.spark import table

        tables = table(folder / "qrels.parquet"), table(folder / "run.parquet")
        return dict(rankgate.evaluate(*tables, metrics).runs[0].means)

    return use


def here(metrics: list[str]) -> Callable[[Path, Any], dict[str, float]]:
    """Use the local engine."""

    def use(folder: Path, _spark: Any) -> dict[str, float]:
        import rankgate

        result = rankgate.evaluate(folder / "qrels.parquet", folder / "run.parquet", metrics)
        return dict(result.runs[0].means)

    return use


def mllib(metrics: int) -> Callable[[Path, Any], dict[str, float]]:
    """Use RankingEvaluator of Spark ML, one call a metric, on lists that are collected once."""

    def use(folder: Path, spark: Any) -> dict[str, float]:
        from pyspark.ml.evaluation import RankingEvaluator

        lists = _collected(folder, spark)
        cutoff_metrics = [(name, k) for k in (K, 5, 20, 50, 1) for name in AT_K]
        names_and_cutoffs = [("meanAveragePrecision", K), *cutoff_metrics][:metrics]
        values = {
            f"{name} {k}": RankingEvaluator(metricName=name, k=k).evaluate(lists)
            for name, k in names_and_cutoffs
        }
        lists.unpersist()  # or the next use would find the lists collected
        return values

    return use


def _collected(folder: Path, spark: Any) -> Any:
    """The list of each user with the relevant items, in memory."""
    from pyspark.sql import functions as F

    run = spark.read.parquet(str(folder / "run-numbers.parquet"))
    sorted_items = F.sort_array(F.collect_list(F.struct("score", "doc_id")), asc=False)
    lists = run.groupBy("query_id").agg(
        F.transform(sorted_items, lambda each: each.doc_id.cast("double")).alias("prediction")
    )
    truth = spark.read.parquet(str(folder / "qrels-numbers.parquet"))
    labels = truth.groupBy("query_id").agg(F.collect_list(F.col("doc_id").cast("double")).alias("label"))
    return lists.join(labels, "query_id").cache()


def recommenders(folder: Path, spark: Any) -> dict[str, float]:
    """SparkRankingEvaluation of recommenders."""
    from recommenders.evaluation.spark_evaluation import SparkRankingEvaluation

    truth = spark.read.parquet(str(folder / "qrels-numbers.parquet"))
    run = spark.read.parquet(str(folder / "run-numbers.parquet"))
    judge = SparkRankingEvaluation(
        truth,
        run,
        k=K,
        relevancy_method="top_k",
        col_user="query_id",
        col_item="doc_id",
        col_rating="grade",
        col_prediction="score",
    )
    return {
        "precision": judge.precision_at_k(),
        "recall": judge.recall_at_k(),
        "ndcg": judge.ndcg_at_k(),
        "map": judge.map_at_k(),
    }


CONTESTANTS: dict[str, tuple[Callable[[Path, Any], dict[str, float]], int]] = {
    "rankgate on Spark": (ours(FIVE), 5),
    "rankgate on Spark, 20 metrics": (ours(TWENTY), 20),
    "Spark ML RankingEvaluator": (mllib(5), 5),
    "Spark ML RankingEvaluator, 20 metrics": (mllib(20), 20),
    "recommenders SparkRankingEvaluation": (recommenders, 4),
    "rankgate, local engine": (here(FIVE), 5),
    "rankgate, local engine, 20 metrics": (here(TWENTY), 20),
}


def processor() -> dict[str, float]:
    """Processor seconds of this process, of the JVM that it started, and of the JVM's workers."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    java: set[int] = set()
    for stat_file in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, numbers = stat_file.read_text().rpartition(")")
        except OSError:
            continue
        fields, pid = numbers.split(), int(stat_file.parent.name)
        children.setdefault(int(fields[1]), []).append(pid)
        seconds[pid] = sum(map(int, fields[11:15])) / TICKS
        if name.endswith("(java"):
            java.add(pid)
    seconds_by_role = dict.fromkeys(PARTS, 0.0)
    todo = [(os.getpid(), "driver")]
    while todo:
        pid, role = todo.pop()
        seconds_by_role[role] += seconds.get(pid, 0.0)
        for child_pid in children.get(pid, []):
            child_role = "workers" if role != "driver" else role
            todo += [(child_pid, "JVM" if child_pid in java else child_role)]
    return seconds_by_role


def child(name: str, master: str, folder: Path) -> dict[str, Any]:
    """Measure a contestant in this process."""
    use = CONTESTANTS[name][0]
    spark = None
    if "local engine" not in name:
        from rankgate.spark import session

        settings = {
            "spark.driver.memory": "2g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": EXECUTOR_MEMORY,
            "spark.sql.shuffle.partitions": re.split(r"[\[,\]]", master)[1],
            "spark.local.dir": str(folder),
        }
        spark = session(master, settings)
    use(folder, spark)
    seconds_before, began = processor(), time.perf_counter()
    values = use(folder, spark)
    wall = time.perf_counter() - began
    seconds_after = processor()
    cpu = {role: seconds_after[role] - seconds_before[role] for role in PARTS}
    if spark is not None:
        spark.stop()
    return {"wall": wall, "processor": cpu, "values": values}


def ratios(rows: dict[str, Row]) -> Iterator[str]:
    """What the figures mean, as far as the contestants took part."""
    two_cores, one_core = (
        "rankgate on Spark, 20 metrics, local[2]",
        "rankgate on Spark, 20 metrics, local[1]",
    )
    peers = (
        "Spark ML RankingEvaluator",
        "Spark ML RankingEvaluator, 20 metrics",
        "recommenders SparkRankingEvaluation",
    )
    for name in peers:
        peer_row = rows.get(f"{name}, local[2]")
        for rankgate_name in ("rankgate on Spark, local[2]", two_cores):
            if peer_row and rankgate_name in rows:
                times = peer_row.each / rows[rankgate_name].each
                yield (f"{name}: {times:.1f} times the processor time a metric of {rankgate_name} (aim: 5)")
    if {two_cores, one_core} <= {*rows}:
        times = rows[one_core].wall / rows[two_cores].wall
        yield f"local[1] over local[2]: {times:.2f} in wall time (aim: 1.25)"
    local_row = rows.get("rankgate, local engine, 20 metrics")
    if local_row and two_cores in rows:
        share = local_row.processor / rows[two_cores].processor
        yield f"efficiency: {share:.0%} of the local engine (aim: 50 %)"


def measured(name: str, master: str, folder: Path) -> dict[str, Any] | None:
    """Measure a contestant in a process of its own; None, and a message, where it fails."""
    command = [sys.executable, __file__, "--child", name, master, str(folder)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        print(f"{name}: {process.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    measurement: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return measurement


def by_contestants(users: int) -> None:
    """Print a table of all contestants, and what it means."""
    print("| | metrics | s | processor s | driver | JVM | workers | a metric | rows/s a core |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        write(folder, users)
        for name, (_, metrics) in CONTESTANTS.items():
            for cores in (1, 2) if name.startswith("rankgate on Spark") else (2,):
                measurement = measured(name, f"local[{cores}]", folder)
                if measurement is None:
                    continue
                label = name if "local engine" in name else f"{name}, local[{cores}]"
                rows[label] = Row(label, metrics, measurement["wall"], measurement["processor"])
                print(rows[label].line(users * DEPTH), flush=True)
                print(json.dumps(measurement["values"]), file=sys.stderr)
    print("", *ratios(rows), sep="\n")


def by_executors() -> None:
    """Print times and the largest difference from the local engine, by rows and executors."""
    print("| rows | metrics | | s | processor s | driver | JVM | workers | µs a row | difference |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rows in GROWTH:
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            write(folder, rows // (DEPTH + RELEVANT))
            for metrics, suffix in ((5, ""), (20, ", 20 metrics")):
                local = measured(f"rankgate, local engine{suffix}", "", folder)
                if local is None:
                    continue  # there is nothing to compare with
                means = local["values"]
                print(_growth_line(rows, metrics, "local engine", local, means), flush=True)
                for executors in EXECUTORS:
                    master = f"local-cluster[{executors},1,{EXECUTOR_MEMORY.removesuffix('m')}]"
                    spark = measured(f"rankgate on Spark{suffix}", master, folder)
                    label = f"{executors} executor{'s' * (executors > 1)}"
                    print(_growth_line(rows, metrics, label, spark, means), flush=True)


def _growth_line(
    rows: int, metrics: int, label: str, measurement: dict[str, Any] | None, means: dict[str, float]
) -> str:
    if measurement is None:
        return f"| {rows:,} | {metrics} | {label} | failed | | | | | | |"
    parts = measurement["processor"]
    seconds = sum(parts.values())
    difference = max(abs(means[name] - value) for name, value in measurement["values"].items())
    cells = (
        f"{rows:,}",
        metrics,
        label,
        f"{measurement['wall']:.1f}",
        f"{seconds:.1f}",
        *(f"{parts[name]:.1f}" for name in PARTS),
        f"{seconds / rows * 1e6:.2f}",
        f"{difference:.0e}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def main() -> int:
    """Print the table of contestants, or of executors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=50_000)
    parser.add_argument("--executors", action="store_true")
    parser.add_argument("--child", nargs=3, default=())
    options = parser.parse_args()
    if options.child:
        name, master, folder = options.child
        print(json.dumps(child(name, master, Path(folder))))
    elif options.executors:
        by_executors()
    else:
        by_contestants(options.users)
    return 0


if __name__ == "__main__":
    sys.exit(main())
