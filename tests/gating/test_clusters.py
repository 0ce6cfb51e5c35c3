"""Copies of queries are one unit, in the gate and in compare."""

import numpy as np
import polars as pl
import pytest

from rankgate import compare, gate
from rankgate.data.collection import Collection
from rankgate.data.query_sample import Sample
from rankgate.data.query_tags import find_near_copies, with_clusters
from rankgate.decisions.comparison.design import Design
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.reported_systems import read_scores
from rankgate.measurement.stats.weighted_means import QueryClusters

POLICY = """
[gate]
interval = "{interval}"

[[rules]]
id = "no-worse"
kind = "noninferiority"
metric = "nDCG@10"
margin = {margin}
"""


def _scores(values, base=0.5):
    systems = {"old": np.full(len(values), base), "new": np.asarray(values)}
    ids = [f"q{i}" for i in range(len(values))]
    return [
        pl.DataFrame({"query_id": ids, "run": run, "nDCG@10": run_values})
        for run, run_values in systems.items()
    ]


def _tags(clusters):
    ids = [f"q{i}" for i in range(len(clusters))]
    return pl.DataFrame({"query_id": ids, "cluster": [f"c{cluster}" for cluster in clusters]})


@pytest.fixture
def decided(tmp_path):
    def decided(values, tags=None, interval="t", margin=0.05):
        path = tmp_path / "rules.toml"
        path.write_text(POLICY.format(interval=interval, margin=margin))
        return gate(read_scores(*_scores(values), tags=tags), "old", "new", path, log=False)

    return decided


SINGLE = np.random.default_rng(4).normal(0.5, 0.1, 30)
COPIES = np.tile(SINGLE, 5)
CODES = np.tile(np.arange(30), 5)


@pytest.mark.parametrize("interval", ["t", "guaranteed"])
def test_five_copies_of_each_query_decide_what_one_decides(decided, interval):
    single, copies = decided(SINGLE, None, interval), decided(COPIES, _tags(CODES), interval)
    (first,), (second,) = single.rules, copies.rules
    assert (second.outcome.n, second.outcome.status) == (30, first.outcome.status)
    assert (second.outcome.low, second.outcome.high) == pytest.approx((first.outcome.low, first.outcome.high))
    assert second.outcome.low < decided(COPIES, None, interval).rules[0].outcome.low
    assert any("150 queries are 30 clusters" in note for note in copies.notes)


@pytest.mark.parametrize("test", ["t", "randomization", Test(interval="bca"), Test(interval="simultaneous")])
def test_compare_counts_clusters(test):
    single = compare(read_scores(*_scores(SINGLE)), metrics="nDCG@10", test=test).metrics
    tags = _tags(CODES)
    copies = compare(read_scores(*_scores(COPIES), tags=tags), metrics="nDCG@10", test=test)
    names = ["n", "delta", "low", "high", "p_raw", "wins"]
    assert copies.metrics.select(names).row(0) == pytest.approx(single.select(names).row(0), abs=0.01)
    assert len(copies.only.queries) == 150


def test_clusters_of_unequal_sizes_have_the_mean_of_queries_and_the_error_of_clusters():
    sizes = np.tile([1, 2, 3], 10)
    values, codes = np.repeat(SINGLE, sizes), np.repeat(np.arange(30), sizes)
    row = compare(read_scores(*_scores(values), tags=_tags(codes)), metrics="nDCG@10").metrics.row(
        0, named=True
    )
    means = [np.average(np.delete(SINGLE, i), weights=np.delete(sizes, i)) for i in range(30)]
    away = np.array(means) - values.mean()
    error = np.sqrt(29 / 30 * (away @ away))
    assert (row["n"], row["candidate"]) == (30, pytest.approx(values.mean()))
    assert row["high"] - row["delta"] == pytest.approx(2.1 * error, rel=0.05)


@pytest.mark.parametrize("interval", ["t", "guaranteed"])
def test_one_query_copied_a_hundred_times_decides_nothing(decided, interval):
    values = np.r_[np.full(100, 0.52), SINGLE]
    codes = np.r_[np.zeros(100, int), np.arange(1, 31)]
    outcome = decided(values, _tags(codes), interval).rules[0].outcome
    assert outcome.status == "inconclusive"
    assert decided(values, None, interval, margin=0.2).verdict == "pass"
    if interval == "t":
        assert outcome.code == "few-effective-queries"


def test_guaranteed_bounds_of_unequal_clusters_are_of_the_mean_over_queries(decided):
    sizes = np.tile([1, 2], 150)
    single = np.random.default_rng(5).normal(0.6, 0.05, 300)
    values, codes = np.repeat(single, sizes), np.repeat(np.arange(300), sizes)
    outcome = decided(values, _tags(codes), "guaranteed").rules[0].outcome
    assert outcome.status == "pass"
    assert outcome.low < values.mean() - 0.5 < outcome.high


def test_clusters_of_one_query_change_nothing(decided):
    plain, clustered = decided(SINGLE), decided(SINGLE, _tags(np.arange(30)))
    assert plain.rules[0].outcome == clustered.rules[0].outcome
    assert plain.again == clustered.again
    assert plain.notes == clustered.notes


def test_near_copies_are_found_by_their_words():
    texts = {"1": "iPhone 15 case!", "2": "case iphone-15", "3": "iphone 15", "4": "", "5": ""}
    assert find_near_copies(texts) == {"1": "1", "2": "1"}
    table = pl.DataFrame({"query_id": list(texts), "text": list(texts.values())})
    assert with_clusters(table)["cluster_by_text"].to_list() == ["1", "1", None, None, None]
    assert "cluster_by_text" not in with_clusters(table.filter(pl.col("query_id") > "1")).columns


def test_near_copies_by_text_are_clusters(decided):
    ids = [f"q{i}" for i in range(150)]
    texts = [f"red shoe {code}" if i < 75 else f"{code} SHOE, red" for i, code in enumerate(CODES)]
    verdict = decided(COPIES, pl.DataFrame({"query_id": ids, "text": texts}))
    assert verdict.rules[0].outcome.n == 30
    assert any("near-copies by their texts" in note for note in verdict.notes)


def test_units():
    units = QueryClusters.from_queries(["a", "b", "c", "d"], {"a": "x", "c": "x", "b": "a"})
    assert units.codes.tolist() == [0, 1, 0, 2]
    assert units.means(np.array([1.0, 2, 3, 4])).tolist() == [2, 2, 4]
    assert units.values(np.array([1.0, 2, 3, 4])).mean() == pytest.approx(2.5)


def test_a_sweep_counts_clusters():
    from rankgate.decisions.sweeps.point_measurer import MeasuredPoint, align_values

    ids = ["a", "b", "c", "d"]

    def point(values):
        table = {"query_id": ids, "metric": "m", "value": values, "why": None}
        scores = pl.DataFrame(table, schema_overrides={"why": pl.String})
        return MeasuredPoint({}, "", "ok", scores=scores)

    points = [point([1.0, 3.0, 5.0, 6.0]), point([0.0, 0.0, 2.0, 2.0])]
    pairs = {"a": "1", "b": "1", "c": "2", "d": "2"}
    table = align_values(points, ["m"], [], pairs)
    assert table.values["m"].tolist() == [[2.0, 0.0], [5.5, 2.0]]
    assert (table.clustered, align_values(points, ["m"], []).clustered) == (4, 0)
    assert "are worth" in align_values(points, ["m"], [], {"a": "1", "b": "1"}).problem


def test_a_models_judgments_of_copies_are_those_of_one():
    rng = np.random.default_rng(6)
    people, noise = rng.normal(0.1, 0.2, 200), rng.normal(0, 0.1, 200)

    def estimate(copies):
        ids = [f"{i}.{j}" for i in range(200) for j in range(copies)]
        values = np.repeat(people, copies)
        table = {
            "query_id": ids,
            "metric": "m",
            "baseline": 0.0,
            "candidate": values + np.repeat(noise, copies),
        }
        clusters = {query: query.partition(".")[0] for query in ids} if copies > 1 else {}
        design = Design(Sample("random"), pl.DataFrame(table), clusters=clusters)
        return design.estimate(ids[: 40 * copies], values[: 40 * copies], "m", np.subtract)

    assert estimate(5).variance == pytest.approx(estimate(1).variance)
    assert estimate(5).mean == pytest.approx(estimate(1).mean)
    assert len(estimate(5).values) == 40


def test_compare_with_a_model_counts_clusters():
    rng = np.random.default_rng(8)
    docs = [f"d{i}" for i in range(6)]
    grades = rng.integers(0, 4, (60, 6))
    noise = [rng.normal(0, scale, (60, 6)) for scale in (2.0, 1.5, 0.7)]
    people = rng.permutation(60)[:30]

    def inputs(copies):
        def table(values, rows=range(60)):
            return {
                f"{row}.{copy}": dict(zip(docs, values[row].tolist(), strict=True))
                for row in rows
                for copy in range(copies)
            }

        model = np.clip(np.round(grades + noise[2]), 0, 3).astype(int)
        runs = [table(grades + errors) for errors in noise[:2]]
        ids = [f"{row}.{copy}" for row in range(60) for copy in range(copies)]
        tags = pl.DataFrame({"query_id": ids, "cluster": [i.partition(".")[0] for i in ids]})
        collection = Collection(table(grades, people), predicted=table(model), sample="random", tags=tags)
        return compare(collection, *runs, ["nDCG@5"]).only

    single, copies = inputs(1), inputs(4)
    names = ["n", "delta", "low", "high", "wins"]
    assert copies.metrics.select(names).row(0) == pytest.approx(single.metrics.select(names).row(0))
    assert copies.represented["queries"][0] == 30
