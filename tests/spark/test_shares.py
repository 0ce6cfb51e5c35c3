"""Shares are whole queries, each once, with their rows in order; other files are moved instead."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import DuplicateError, InputError
from rankgate.spark import query_shares as module
from rankgate.spark.file_pieces import list_pieces
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
)
from support.spark import there as on_spark
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NUMBERS = {0: "grade", 1: "score", 2: "score"}
QUERIES = [f"q{i}" for i in range(60)]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Files of a few rows have several pieces."""
    monkeypatch.setattr("rankgate.spark.file_pieces._MOST_ROWS", 20)
    monkeypatch.setattr(module, "_ROWS", 40)


def written(folder, table, queries, rows, files=2):
    """A table with some rows of each query together, in their order, as files."""
    ids = [query for query in queries for _ in range(rows)]
    frame = pl.DataFrame(
        {
            "query_id": ids,
            "doc_id": [f"d{i % rows}" for i in range(len(ids))],
            NUMBERS[table]: [float(i) for i in range(len(ids))],
        }
    )
    table_folder = folder / f"{table}"
    table_folder.mkdir()
    size = -(-len(frame) // files)
    for i in range(files):
        frame.slice(i * size, size).write_parquet(table_folder / f"{i}.parquet")
    return frame


def shared(spark, folder, tables):  # noqa: F811
    """The shares of tables, with the cells that they open."""
    pieces = {table: list_pieces([str(folder / f"{table}")], NUMBERS[table], {}, 1) for table in tables}
    plan = module.plan_shares(spark, pieces, 1)
    if plan is None:
        return None
    numbers = pa.RecordBatch.from_pydict({"id": [*range(len(plan.every))]})
    return plan, [*plan.opened([numbers])]


def check(cells, frames):
    """Each query is in one cell, with all of its rows of each table in their order."""
    for table, frame in frames.items():
        parts = [cell[table].rename({"number": NUMBERS[table]}) for cell in cells if table in cell]
        combined = pl.concat(parts)
        assert combined.sort(NUMBERS[table]).equals(frame)
        for cell_frame in parts:
            for rows in cell_frame.partition_by("query_id"):
                assert rows[NUMBERS[table]].is_sorted()
    cell_queries = [set().union(*(cell[t]["query_id"] for t in cell)) for cell in cells]
    assert sum(map(len, cell_queries)) == len(set().union(*cell_queries))


SUBSETS = st.sets(st.sampled_from(range(60)), min_size=1).map(sorted)


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(SUBSETS, SUBSETS, SUBSETS, st.integers(1, 3), st.integers(1, 50))
def test_each_query_is_whole_in_one_share(tmp_path_factory, one, two, judged, files, rows):
    folder = tmp_path_factory.mktemp("files")
    tables = {1: (one, 10), 2: (two, rows), 0: (judged, 3)}
    frames = {
        table: written(folder, table, [QUERIES[i] for i in ids], row_count, files)
        for table, (ids, row_count) in tables.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankgate.spark.query_shares._MAX_READ_RATIO", 1e9)
        _, cells = shared(None, folder, frames)
    check(cells, frames)


def test_executors_find_what_the_driver_finds(spark, tmp_path, monkeypatch):  # noqa: F811
    frames = {1: written(tmp_path, 1, [*QUERIES[3:], "q9"], 5), 0: written(tmp_path, 0, QUERIES, 2)}
    driver_plan, _ = shared(spark, tmp_path, frames)
    monkeypatch.setattr(module, "_MAX_DRIVER_QUERIES", 0)
    executor_plan, cells = shared(spark, tmp_path, frames)
    check(cells, frames)
    assert [share.parts for share in executor_plan.every] == [share.parts for share in driver_plan.every]
    assert [{*share.listed} for share in executor_plan.every] == [
        {*share.listed} for share in driver_plan.every
    ]


def test_rows_that_are_apart_and_come_in_another_file(spark, tmp_path):  # noqa: F811
    frames = {1: written(tmp_path, 1, [*QUERIES, "q3", "q40"], 5), 0: written(tmp_path, 0, QUERIES, 2)}
    plan, cells = shared(spark, tmp_path, frames)
    check(cells, frames)
    assert sum(len(share.listed) for share in plan.every) == 2


def test_other_orders_are_moved(spark, tmp_path):  # noqa: F811
    written(tmp_path, 1, QUERIES, 5)
    written(tmp_path, 0, QUERIES[::7] + [query for i, query in enumerate(QUERIES) if i % 7], 5)
    assert shared(spark, tmp_path, [1, 0]) is not None
    chance = np.random.default_rng(1).choice(QUERIES[:12], 400)
    written(tmp_path, 2, [*chance], 1)
    assert shared(spark, tmp_path, [2, 0]) is None
    assert shared(spark, tmp_path, [1, 2]) is None


def test_values_are_those_of_one_machine(tmp_path):
    written(tmp_path, 0, QUERIES[5:], 3)
    for table, queries in ((1, QUERIES[2:]), (2, ["unknown", *QUERIES[2:]])):
        frame = written(tmp_path, table, queries, 10)
        frame.write_parquet(tmp_path / f"{table}.parquet")
    qrels, runs = tmp_path / "0", {"one": tmp_path / "1", "two": tmp_path / "2"}
    spark_result = measured(
        *(rankgate.evaluate, on_spark(qrels), runs, ["AP", "nDCG@5", "RR"]), keep_values=True
    )
    judged = pl.concat([pl.read_parquet(path) for path in sorted(qrels.glob("*"))])
    local = {name: f"{path}.parquet" for name, path in runs.items()}
    local_result = rankgate.evaluate(judged, local, ["AP", "nDCG@5", "RR"])
    for run in local_result.runs:
        spark_table = spark_result.maker.values.where(f"run = '{run.run}'").toArrow()
        spark_values = dict(
            zip(spark_table["query_id"].to_pylist(), spark_table["AP"].to_pylist(), strict=True)
        )
        assert spark_values == dict(zip(run.query_ids, run.values["AP"].tolist(), strict=True))
    spark_comparison = measured(rankgate.compare, on_spark(qrels), runs["one"], [runs["two"]], ["AP"])
    local_comparison = rankgate.compare(judged, *local.values(), ["AP"], test="t")
    assert spark_comparison.metrics["delta"].to_list() == pytest.approx(
        local_comparison.metrics["delta"].to_list()
    )


def test_a_row_twice_and_a_damaged_file_are_named(tmp_path):
    written(tmp_path, 0, QUERIES, 3)
    frame = written(tmp_path, 1, QUERIES, 10)
    frame.slice(5, 1).write_parquet(tmp_path / "1" / "9.parquet")
    with raises("duplicate-document", DuplicateError) as caught:
        rankgate.evaluate(on_spark(tmp_path / "0"), on_spark(tmp_path / "1"), ["AP"])
    assert (caught.value.source, caught.value.line) == (str(tmp_path / "1" / "9.parquet"), 1)
    wrong = tmp_path / "1" / "1.parquet"
    wrong.write_bytes(wrong.read_bytes()[:-20])
    with raises("damaged-file", InputError) as caught:
        rankgate.evaluate(on_spark(tmp_path / "0"), on_spark(tmp_path / "1"), ["AP"])
    assert caught.value.source == str(wrong)
