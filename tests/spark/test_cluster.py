"""A cluster of two workers, where tasks are lost, retried and run twice: the same values."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.recommenders.splitting import split

pytestmark = [pytest.mark.slow, pytest.mark.separate]

OPENED = """
import json, os, signal, sys, time
from rankgate import evaluate, split
from rankgate.spark import session, table

master, folder = sys.argv[1:]
settings = {"spark.executor.memory": "512m", "spark.driver.memory": "512m",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.local.dir": folder, "spark.shuffle.io.retryWait": "1s",
            "spark.speculation": "true", "spark.speculation.quantile": "0.25",
            "spark.speculation.task.duration.threshold": "3s"}
spark = session(master, settings, keep_values=True)

def first(name, text=""):
    "Whether this is the first to come here; the others find the text."
    try:
        file = os.open(f"{folder}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    os.write(file, text.encode())
    os.close(file)
    return True

def happened(name):
    return os.path.exists(f"{folder}/{name}")

def kill_own():
    "Kill the executor of this Python worker."
    pid = os.getpid()
    while pid > 1:  # the worker's process, those that forked it, the executor
        words = open(f"/proc/{pid}/cmdline").read()
        if "CoarseGrainedExecutorBackend" in words:
            os.kill(pid, signal.SIGKILL)
            break
        pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
"""

EVALUATION = """
from pyspark import TaskContext
from rankgate import metric
from rankgate.core.present.codec import encode

@metric
def deadly(grades: list[float | None]) -> float:
    "The grade of the first document; an executor is killed, then a worker ends, then one waits."
    task = TaskContext.get()
    done = f"{folder}/{os.getpid()}.done"
    with open(done, "a") as file:
        file.write(".")
    if os.path.getsize(done) > 100 and first("killed"):
        kill_own()
    elif happened("killed") and os.path.getsize(done) > 50 and first("ended"):
        os._exit(3)  # Spark tries the task again
    elif happened("ended") and first("waited", f"{task.partitionId()} {task.taskAttemptId()}"):
        for _ in range(2000):  # until Spark runs the task a second time elsewhere
            if happened("copied"):
                break
            time.sleep(0.1)
    elif happened("waited"):
        partition, attempt = open(f"{folder}/waited").read().split()
        if task.partitionId() == int(partition) and task.taskAttemptId() != int(attempt):
            first("copied")
    return float(grades[0] or 0) if grades else 0.0

session(partitions=24)
found = evaluate(table(f"{folder}/qrels.parquet"), table(f"{folder}/run.parquet"),
                 ["nDCG@10", "AP", "RR", deadly])
rows = found.maker.values.select("query_id", "`nDCG@10`", "AP", "RR", "deadly").collect()
print(json.dumps({"happened": [each for each in ("killed", "ended", "copied") if happened(each)],
                  "values": [list(row) for row in rows],
                  "counts": encode(found.runs[0].counts)}))
spark.stop()
"""

SPLIT = """
from pathlib import Path
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.spark.splitting import part_files, spark_split

def kill_one():
    "Kill one of this application's executors."
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_text().split("\\0")
        except OSError:
            continue
        ours = spark.sparkContext.applicationId in words
        if ours and any("CoarseGrainedExecutorBackend" in word for word in words):
            os.kill(int(place.name), signal.SIGKILL)
            first("killed")
            return

counted = spark_split.count_items

def half_way(*words):
    "The rows are sorted and cut, and kept by executors; one of them is lost."
    kill_one()
    return counted(*words)

spark_split.count_items = half_way
session(partitions=4)
plan = SplitPlan(validation=True)
found = split(table(f"{folder}/log.parquet"), plan, Truth(threshold=3.0))

def open_files(batches, work):
    "Batches; one of the tasks loses its executor when all of its files are open."
    yield from batches
    if first("lost", json.dumps(os.listdir(work))):
        kill_own()
        time.sleep(60)  # the worker is killed too

class Deadly(part_files._Writing):
    "Write parts: an executor is killed in the middle, a worker ends before it says what it wrote."

    def _written(self, batches):
        made = super()._written(open_files(batches, self.folder))
        if happened("lost") and first("ended"):
            os._exit(3)
        return made

plainly = part_files._Writing
part_files._Writing = Deadly
found.write(f"{folder}/parts", to="parquet")
part_files._Writing = plainly
found.write(f"{folder}/again", to="parquet")
print(json.dumps({"happened": [each for each in ("killed", "lost", "ended") if happened(each)],
                  "summary": found.to_dict()}))
spark.stop()
"""


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    """The address of a cluster of two workers."""
    from support.standalone import cluster

    with cluster(tmp_path_factory.mktemp("cluster")) as address:
        yield address


def carried_out(program, master, folder):
    """What a driver prints last."""
    command = [sys.executable, "-c", OPENED + program, master, str(folder)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    process = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=900, env=environment
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout.splitlines()[-1])


def files_in(folder):
    """The files below a folder, hidden ones too, with their bytes."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("order", ["moved", "in place"])
def test_lost_retried_and_speculative_tasks_change_no_value(master, tmp_path, order):
    rng = np.random.default_rng(11)
    rows = [(f"q{i}", f"d{j}", float(score)) for i in range(2000) for j, score in enumerate(rng.random(20))]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    judged = run.with_row_index("row").sample(8000, shuffle=True, seed=2)
    judged = judged if order == "moved" else judged.sort("row")
    qrels = judged.select("query_id", "doc_id", pl.lit(1).alias("grade"))
    run.write_parquet(tmp_path / "run.parquet")
    qrels.write_parquet(tmp_path / "qrels.parquet")
    spark_result = carried_out(EVALUATION, master, tmp_path)
    assert spark_result["happened"] == ["killed", "ended", "copied"]
    local_run = rankgate.evaluate(qrels, run, ["nDCG@10", "AP", "RR"]).runs[0]
    values = {query: numbers for query, *numbers in spark_result["values"]}
    assert len(values) == len(spark_result["values"])
    for i, label in enumerate(["nDCG@10", "AP", "RR"]):
        assert {query: metric_values[i] for query, metric_values in values.items()} == local_run.per_query(
            label
        )
    assert spark_result["counts"]["queries"] == local_run.counts.queries


def test_a_split_survives_the_loss_of_executors(master, tmp_path):
    rng = np.random.default_rng(12)
    rows = 8_000
    log = pl.DataFrame(
        {
            "user": [f"u{user}" for user in rng.integers(0, 900, rows)],
            "item": [f"i{item}" for item in rng.zipf(1.3, rows) % 300],
            "time": 1_700_000_000 + rng.integers(0, 3000, rows) * 1800,
            "value": rng.integers(1, 6, rows).astype(float),
        }
    )
    log.write_parquet(tmp_path / "log.parquet")
    spark_result = carried_out(SPLIT, master, tmp_path)
    assert spark_result["happened"] == ["killed", "lost", "ended"]
    assert json.loads((tmp_path / "lost").read_text())  # files that a lost attempt began
    parts, retried_parts = (files_in(tmp_path / name) for name in ("parts", "again"))
    assert parts == retried_parts
    assert not [name for name in parts if ".writing" in name]
    local_split = split(tmp_path / "log.parquet", SplitPlan("global", validation=True), Truth(threshold=3.0))
    assert json.loads(json.dumps(local_split.to_dict())) == spark_result["summary"]
    for name in local_split.write(tmp_path / "here", "parquet"):
        if name == "split.json":
            continue
        read = pl.read_parquet if name.endswith("parquet") else pl.read_csv
        local_table, spark_table = (
            read(tmp_path / "here" / name),
            read(tmp_path / "parts" / name / f"*.{name.rpartition('.')[2]}"),
        )
        assert_frame_equal(local_table, spark_table, check_row_order=False)
