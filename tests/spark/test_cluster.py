"""A cluster of two workers, one of whose executors is killed half-way: the same values."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import rankgate

pytestmark = pytest.mark.slow

DRIVER = """
import json, os, signal, subprocess, sys, threading, time
from rankgate import metric
from rankgate.spark import evaluate, session

master, folder, kill = sys.argv[1:]
settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": folder, "spark.speculation": "true"}
spark = session(master, settings)

@metric
def slow_first(grades: list[float | None]) -> float:
    "The grade of the first document, after a while."
    time.sleep(0.002)
    return float(grades[0] or 0) if grades else 0.0

def children():
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
    own = spark.sparkContext.applicationId
    lines = [line for line in found.splitlines() if "CoarseGrainedExecutorBackend" in line]
    return [int(line.split()[0]) for line in lines if own in line]

killed = []
def reaper():
    tracker = spark.sparkContext.statusTracker()
    while not killed:
        time.sleep(0.05)
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info and info.numTasks == 12 and info.numCompletedTasks >= 2:
                pids = children()
                if pids:
                    os.kill(pids[0], signal.SIGKILL)
                    killed.append(pids[0])
                    return

if kill == "yes":
    threading.Thread(target=reaper, daemon=True).start()
found = evaluate(f"{folder}/qrels.parquet", f"{folder}/run.parquet",
                 ["nDCG@10", "AP", "RR", slow_first], partitions=12)
rows = found.values.select("query_id", "`nDCG@10`", "AP", "RR", "slow_first").collect()
print(json.dumps({"killed": len(killed), "values": [list(row) for row in rows],
                  "counts": found.summary.runs[0].counts.to_dict()}))
spark.stop()
"""


def test_values_survive_the_loss_of_an_executor(tmp_path):
    pytest.importorskip("pyspark", reason="PySpark is not installed: make spark")
    from support.standalone import cluster

    rng = np.random.default_rng(11)
    rows = [
        (f"q{i}", f"d{j}", float(score))
        for i in range(2000)
        for j, score in enumerate(rng.random(20))
    ]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = run.sample(8000, seed=2).select("query_id", "doc_id", pl.lit(1).alias("grade"))
    run.write_parquet(tmp_path / "run.parquet")
    qrels.write_parquet(tmp_path / "qrels.parquet")
    with cluster(tmp_path) as master:
        command = [sys.executable, "-c", DRIVER, master, str(tmp_path), "yes"]
        own = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=400, env=own
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["killed"] == 1
    here = rankgate.evaluate(qrels, run, ["nDCG@10", "AP", "RR"]).runs[0]
    values = {query: numbers for query, *numbers in found["values"]}
    assert len(values) == len(found["values"])
    for i, label in enumerate(["nDCG@10", "AP", "RR"]):
        assert {query: own[i] for query, own in values.items()} == here.per_query(label)
    assert found["counts"]["queries"] == here.counts.queries
