"""Five million rows: 20 metrics under 5 conventions, a comparison, a scorecard: all equal."""

import math

import numpy as np
import polars as pl
import pytest

import rankgate
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.slow,
    pytest.mark.separate,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
USERS, DEPTH = 50_000, 100
CONVENTIONS = ["trec", "pytrec_eval", "recommenders", "beir", "torchmetrics"]
METRICS = [
    "P@1",
    "P@5",
    "P@10",
    "Recall@5",
    "Recall@10",
    "Recall@50",
    "nDCG",
    "nDCG@5",
    "nDCG@10",
    "nDCG@20",
    "AP",
    "AP@10",
    "RR",
    "RR@10",
    "Success@1",
    "Success@10",
    "F1@10",
    "Rprec",
    "bpref",
    "Judged@10",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Judgments, a run of five million rows with ties, and one of fewer."""
    folder = tmp_path_factory.mktemp("millions")
    rng = np.random.default_rng(5)
    start = rng.integers(0, 10_000, (USERS, 1))
    items = (start + np.arange(DEPTH) * 97) % 10_000
    hits = (start + rng.integers(0, 200, (USERS, 12)) * 97) % 10_000
    owner = np.arange(USERS)
    for name, depth in (("old", 20), ("new", DEPTH)):
        size = USERS * depth
        run = {
            "query_id": np.repeat(owner, depth),
            "doc_id": items[:, :depth].ravel(),
            "score": rng.integers(0, 1000, size) / 8,
        }
        frame = pl.DataFrame(run).with_columns(pl.col("query_id", "doc_id").cast(pl.String))
        frame.write_parquet(folder / f"{name}.parquet")
    judged = pl.DataFrame({"query_id": np.repeat(owner, 12), "doc_id": hits.ravel()})
    judged = judged.unique(maintain_order=True).with_columns(
        pl.col("query_id", "doc_id").cast(pl.String),
        grade=pl.Series(rng.integers(0, 4, len(judged.unique()))),
    )
    judged.write_parquet(folder / "qrels.parquet")
    frame.sample(fraction=1.0, shuffle=True, seed=3).write_parquet(folder / "shuffled.parquet")
    return folder


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_values_are_those_of_one_machine(files, convention):
    name = "shuffled" if convention == "beir" else "new"  # rows that are moved, and that are not
    paths = files / "qrels.parquet", files / f"{name}.parquet"
    local_result = rankgate.evaluate(*paths, METRICS, convention).runs[0]
    spark_result = measured(*(rankgate.evaluate, *map(there, paths), METRICS, convention), keep_values=True)
    spark_values = spark_result.maker.values
    local_frame = pl.DataFrame({"query_id": local_result.query_ids, **local_result.values}).fill_nan(None)
    spark_frame = pl.DataFrame(
        spark_values.select("query_id", *(f"`{metric}`" for metric in METRICS)).toArrow()
    )
    spark_result.maker.kept.unpersist()
    assert spark_frame.sort("query_id").equals(local_frame.sort("query_id").select(spark_frame.columns))
    for label, mean in local_result.means.items():
        assert math.isclose(spark_result.runs[0].means[label], mean, rel_tol=1e-12), label


def test_a_comparison_is_that_of_one_machine(files):
    three = [files / f"{name}.parquet" for name in ("qrels", "old", "new")]
    local_metrics = rankgate.compare(*three, ["nDCG@10", "AP"], test="t").metrics
    spark_metrics = measured(rankgate.compare, *map(there, three), ["nDCG@10", "AP"]).metrics
    for name in ("delta", "low", "high", "p_raw"):
        assert spark_metrics[name].to_list() == pytest.approx(local_metrics[name].to_list(), rel=1e-9), name


def test_a_scorecard_is_that_of_one_machine(files):
    metrics = ["nDCG@10", "Coverage@10", "Gini@10"]
    qrels, runs = files / "qrels.parquet", {n: files / f"{n}.parquet" for n in ("old", "new")}
    items = [str(item) for item in range(10_000)]
    shop = rankgate.Collection(qrels, items=rankgate.Items(catalogue=items))
    local_figures = rankgate.scorecard(shop, runs, metrics).figures
    moved = rankgate.Collection(there(qrels), items=rankgate.Items(catalogue=items))
    spark_figures = measured(rankgate.scorecard, moved, runs, metrics).figures
    assert len(local_figures) == len(metrics) * len(runs)
    for local_row, spark_row in zip(
        local_figures.iter_rows(named=True), spark_figures.iter_rows(named=True), strict=True
    ):
        assert (local_row["system"], local_row["metric"]) == (spark_row["system"], spark_row["metric"])
        assert local_row["value"] == pytest.approx(spark_row["value"], rel=1e-12)
