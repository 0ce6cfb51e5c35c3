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
import json, os, signal, subprocess, sys
from rankgate import metric
from rankgate.spark import evaluate, session

master, folder, kill = sys.argv[1:]
settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": folder, "spark.speculation": "true"}
spark = session(master, settings)

@metric
def deadly(grades: list[float | None]) -> float:
    "The grade of the first document; half-way, and once, the executor is killed."
    done = f"{folder}/{os.getpid()}.done"
    with open(done, "a") as file:
        file.write(".")
    if kill == "yes" and os.path.getsize(done) > 100:
        try:
            os.close(os.open(f"{folder}/killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            pid = os.getpid()
            while pid > 1:  # the worker's process, those that forked it, the executor
                words = open(f"/proc/{pid}/cmdline").read()
                if "CoarseGrainedExecutorBackend" in words:
                    os.kill(pid, signal.SIGKILL)
                    break
                pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    return float(grades[0] or 0) if grades else 0.0

found = evaluate(f"{folder}/qrels.parquet", f"{folder}/run.parquet",
                 ["nDCG@10", "AP", "RR", deadly], partitions=12)
rows = found.values.select("query_id", "`nDCG@10`", "AP", "RR", "deadly").collect()
print(json.dumps({"killed": os.path.exists(f"{folder}/killed"),
                  "values": [list(row) for row in rows],
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
    assert found["killed"]
    here = rankgate.evaluate(qrels, run, ["nDCG@10", "AP", "RR"]).runs[0]
    values = {query: numbers for query, *numbers in found["values"]}
    assert len(values) == len(found["values"])
    for i, label in enumerate(["nDCG@10", "AP", "RR"]):
        assert {query: own[i] for query, own in values.items()} == here.per_query(label)
    assert found["counts"]["queries"] == here.counts.queries
