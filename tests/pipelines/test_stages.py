"""Stages: ceilings by trying every order, losses that add up, steps as scipy and statsmodels."""

from __future__ import annotations

from itertools import pairwise, permutations
from math import log2
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

import rankgate
from rankgate.core.errors import UsageError
from rankgate.measurement.scoring import CONVENTIONS
from support.wording import assert_warned, assert_wording, raises

LABELS = {3: "Exact", 2: "Substitute", 1: "Complement", 0: "Irrelevant"}


def ndcg(order, grades, k):
    def dcg(gains):
        return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], start=1))

    ideal_dcg = dcg(sorted((max(g, 0) for g in grades.values()), reverse=True))
    return dcg([max(grades.get(doc, 0), 0) for doc in order]) / ideal_dcg if ideal_dcg else 0.0


def ranked(order):
    return {doc: float(len(order) - position) for position, doc in enumerate(order)}


def row(table, **where):
    for name, value in where.items():
        table = table.filter(pl.col(name) == value)
    return table.row(0, named=True)


@st.composite
def pipelines(draw):
    """Judgments with holes, a retrieval of up to five documents, and the output of a reranker."""
    qrels, first, second = {}, {}, {}
    for query in ("q1", "q2", "q3"):
        docs = "abcdefg"
        qrels[query] = {doc: draw(st.integers(-1, 3)) for doc in docs if draw(st.booleans()) or doc == "a"}
        retrieved = draw(st.permutations(docs))[: draw(st.integers(1, 5))]
        reranked = draw(st.permutations(retrieved))[: draw(st.integers(1, len(retrieved)))]
        first[query], second[query] = ranked(retrieved), ranked(reranked)
    return qrels, first, second


@given(pipelines(), st.sampled_from([1, 2, 3]))
def test_no_order_of_the_candidates_is_better_than_the_ceiling(data, k):
    qrels, *runs = data
    result = rankgate.stages(qrels, runs, [f"nDCG@{k}"], depth=5)
    best_values = [ndcg(list(grades), grades, 7) and 1.0 for grades in qrels.values()]
    tops, values = [], []
    for run in runs:
        tops.append(
            [max(ndcg(order, qrels[query], k) for order in permutations(run[query])) for query in qrels]
        )
        values.append([ndcg(list(run[query]), qrels[query], k) for query in qrels])
    assert result.best == pytest.approx(np.mean(best_values))
    assert result.ceilings["ceiling"].to_list() == pytest.approx([np.mean(top) for top in tops])
    assert result.ceilings["value"].to_list() == pytest.approx([np.mean(v) for v in values])
    assert result.kinds == ("retrieves", "reranks")
    parts = [
        np.mean(best_values) - np.mean(tops[0]),
        np.mean(tops[0]) - np.mean(tops[1]),
        np.mean(tops[1]) - np.mean(values[1]),
    ]
    assert result.losses["why"].to_list() == ["retrieval", "cut", "order"]
    assert result.losses["lost"].to_list() == pytest.approx(parts)
    assert result.losses["lost"].sum() == pytest.approx(np.mean(best_values) - np.mean(values[1]))


TARGETS = [
    "nDCG(gain='exp')@3",
    "DCG@3",
    "ERR@3",
    "nERR@3",
    "RBP(p=0.8)@3",
    "RR@3",
    "AP@3",
    "P@3",
    "R@3",
    "F@3",
    "Success@3",
    "NCG@3",
    "CG@3",
]


@settings(max_examples=4 * settings.default.max_examples)
@given(data=pipelines(), target=st.sampled_from(TARGETS))
def test_the_ceiling_of_every_metric_that_may_be_a_target(data, target):
    qrels, first, _ = data
    orders = {
        f"{query}:{number}": (qrels[query], ranked(order))
        for query, documents in first.items()
        for number, order in enumerate(permutations(documents))
    }
    values = rankgate.evaluate(
        {name: grades for name, (grades, _) in orders.items()},
        {name: run for name, (_, run) in orders.items()},
        [target],
    ).values
    best_values = dict.fromkeys(qrels, 0.0)
    for name, value in values.select("query_id", "value").iter_rows():
        query = name.partition(":")[0]
        best_values[query] = max(best_values[query], value)
    result = rankgate.stages(qrels, [first], [target], target=target, depth=5)
    assert result.ceilings["ceiling"][0] == pytest.approx(np.mean(list(best_values.values())))


def approximate_runs():
    """Neighbours of three queries, and the lists of exact, quantised and graph search."""
    qrels = {f"q{i}": dict.fromkeys("abcd", 1) for i in range(3)}
    exact = dict.fromkeys(qrels, ranked("abcd"))
    quantised = exact | {"q0": ranked("abcx"), "q1": ranked("abxy")}
    graph = quantised | {"q0": ranked("abdx"), "q1": ranked("axyz"), "q2": ranked("abcx")}
    return qrels, {"exact": exact, "quantised": quantised, "graph": graph}


def test_the_losses_of_approximations_are_apart_from_retrieval():
    qrels, runs = approximate_runs()
    result = rankgate.stages(qrels, runs, ["R@4"], target="R@4", depth=4, approximates=["quantised", "graph"])
    assert result.kinds == ("retrieves", "approximates", "approximates")
    assert result.losses.select("stage", "why").rows() == [
        ("exact", "retrieval"),
        ("quantised", "approximation"),
        ("graph", "approximation"),
        ("graph", "order"),
    ]
    assert result.losses["lost"].to_list() == pytest.approx([0, 0.25, (0.25 + 0.25) / 3, 0])
    assert result.steps.select("stage", "against").rows() == [("quantised", "exact"), ("graph", "quantised")]
    assert (result.bottleneck.stage, result.bottleneck.why) == ("quantised", "approximation")
    assert "approximation" in result.sentence
    without_names = rankgate.stages(qrels, runs, ["R@4"], target="R@4", depth=4)
    assert {*without_names.losses["why"]} == {"retrieval", "order"}
    reranked = {query: dict.fromkeys("a", 1.0) | docs for query, docs in runs["graph"].items()}
    longer = rankgate.stages(
        qrels, {**runs, "rerank": reranked}, ["R@4"], target="R@4", depth=4, approximates=["graph"]
    )
    assert longer.losses.select("stage", "why").rows() == [
        ("quantised", "retrieval"),
        ("graph", "approximation"),
        ("rerank", "cut"),
        ("rerank", "order"),
    ]
    for name in ("exact", "grpah"):
        with raises("unknown-stage"):
            rankgate.stages(qrels, runs, ["R@4"], target="R@4", approximates=name)


def systems(count, rows=30):
    """Judgments of ten documents, and systems that order them with less and less noise."""
    rng = np.random.default_rng(5)
    qrels = {f"q{i:02d}": {f"d{j}": int(rng.integers(0, 4)) for j in range(10)} for i in range(rows)}
    runs = {
        f"s{n}": {
            query: {doc: grade + rng.normal(0, 6 / (n + 1)) for doc, grade in grades.items()}
            for query, grades in qrels.items()
        }
        for n in range(count)
    }
    return qrels, runs


def test_steps_are_scipys_and_corrected_over_all_of_them():
    qrels, runs = systems(4)
    result = rankgate.stages(qrels, runs, ["nDCG@5", "RR@10"])
    raw, delta = [], []
    values = rankgate.evaluate(qrels, runs, ["nDCG@5", "RR@10"]).values
    for previous_name, next_name in pairwise(runs):
        for metric in ("nDCG@5", "RR@10"):
            metric_values = values.filter(pl.col("metric") == metric).sort("query_id")
            previous_values, next_values = (
                metric_values.filter(pl.col("run") == name)["value"].to_numpy()
                for name in (previous_name, next_name)
            )
            raw.append(stats.ttest_rel(next_values, previous_values).pvalue)
            delta.append((next_values - previous_values).mean())
    assert result.steps["delta"].to_list() == pytest.approx(delta)
    assert result.steps["p_raw"].to_list() == pytest.approx(raw)
    assert result.steps["p_value"].to_list() == pytest.approx(multipletests(raw, method="holm")[1])
    assert result.steps.select("stage", "against").row(2) == ("s2", "s1")
    assert result.correction == "holm over 6 tests"


def test_means_are_those_of_evaluate():
    qrels, runs = systems(3)
    result = rankgate.stages(qrels, runs, ["RR@10", "nDCG@5", "P@3"])
    means = rankgate.evaluate(qrels, runs, ["RR@10", "nDCG@5", "P@3"]).means
    assert len(means) == 3
    for name, *values in means.rows():
        stage_means = result.means.filter(pl.col("stage") == name)
        assert stage_means["mean"].to_list() == pytest.approx(values)


def test_documents_that_came_and_went_are_counted():
    qrels = {"q": {"a": 3, "b": 1, "c": 0, "e": 2}}
    first = {"q": ranked(["a", "c", "b"])}
    second = {"q": ranked(["e", "a", "x"])}
    result = rankgate.stages(qrels, {"one": first, "two": second}, ["nDCG@2"], depth=3)
    assert row(result.moves, stage="two", k=3) == {
        "stage": "two",
        "k": 3,
        "documents": 3,
        "new": 2,
        "gone": 2,
        "relevant": 2,
        "gained": 1,
        "lost": 1,
    }
    assert row(result.moves, stage="two", k=2)["lost"] == 0  # a stays, and c is not relevant
    assert row(result.moves, stage="one", k=3)["gained"] is None
    assert result.kinds == ("retrieves", "retrieves")


def test_labels_of_the_first_documents():
    qrels = {"q1": {"a": 3, "b": 1, "c": -2}, "q2": {"a": 3, "b": 0}}
    run = {"q1": ranked(["a", "c", "x", "b"]), "q2": ranked(["b"])}
    result = rankgate.stages(qrels, {"s": run}, ["nDCG@3"], labels={**LABELS, 3: "Exact"})
    shares = dict(result.mix.select("label", "count").rows())
    assert shares == {"Exact": 1, "Irrelevant": 1, "unjudged": 2}  # -2 was in the pool, unjudged
    assert result.mix["share"].sum() == pytest.approx(1)


def test_many_grades_are_reported_as_two():
    qrels = {"q": {f"d{i}": i / 10 for i in range(20)}}
    result = rankgate.stages(qrels, [{"q": ranked([f"d{i}" for i in range(10)])}], ["nDCG@10"])
    assert dict(result.mix.select("label", "count").rows()) == {
        "relevant": 9,
        "not relevant": 1,
        "unjudged": 0,
    }


def bottleneck(first, second):
    qrels = {f"q{i}": {"a": 3, "b": 2, "c": 1, "z": 0} for i in range(20)}
    runs = {
        "first": {query: ranked(first) for query in qrels},
        "second": {query: ranked(second) for query in qrels},
    }
    return rankgate.stages(qrels, runs, ["nDCG@3"], depth=5)


@pytest.mark.parametrize(
    ("first", "second", "stage", "why", "word"),
    [
        ("cz", "cz", "first", "retrieval", "retrieval"),
        ("abcz", "cz", "second", "cut", "takes relevant documents out"),
        ("abcz", "zcba", "second", "order", "the order of second"),
        ("zcba", "zbca", "second", "order", "the order of second"),
    ],
)
def test_the_bottleneck_is_where_most_is_lost(first, second, stage, why, word):
    result = bottleneck(first, second)
    assert (result.bottleneck.stage, result.bottleneck.why) == (stage, why)
    assert result.bottleneck.lost == pytest.approx(result.losses["lost"].max())
    assert word in result.sentence


def test_the_best_ranking_has_no_bottleneck():
    result = bottleneck("cba", "abc")
    assert result.bottleneck is None
    assert "Nothing is lost" in result.sentence


def test_what_queries_cannot_tell_apart_is_said():
    qrels = {f"q{i}": {"a": 3, "b": 1} for i in range(20)}
    run = {
        query: ranked(["b", "a"]) if i % 2 else ranked(["b"]) for i, query in enumerate(qrels)
    }  # what retrieval loses in one half, the order loses in the other, nearly
    result = rankgate.stages(qrels, [run], ["RR(rel=3)@2"], target="RR(rel=3)@2")
    assert result.losses["lost"].to_list() == pytest.approx([0.5, 0.25])
    assert result.bottleneck.significant is False
    assert_wording(result.sentence)


def test_an_ideal_of_what_was_retrieved_is_reported():
    qrels, runs = systems(2)
    result = rankgate.stages(qrels, runs, ["nDCG@5"], rankgate.convention("trec", ["nDCG.ideal=retrieved"]))
    assert_warned(result)
    assert result.ceilings["ceiling"].to_list() == pytest.approx([1.0, 1.0])


def test_a_gap_in_judgments_is_reported():
    qrels = {f"q{i}": {"a": 3} for i in range(20)}
    first_run = {query: ranked(["a"]) for query in qrels}
    second_run = {query: ranked(["a", "x", "y"]) for query in qrels}
    result = rankgate.stages(qrels, {"one": first_run, "two": second_run}, ["nDCG@3"])
    assert_warned(result)


def test_equal_names_are_distinguished():
    qrels, runs = systems(1)
    result = rankgate.stages(qrels, [runs["s0"], runs["s0"]], ["nDCG@5"])
    assert len(set(result.stages)) == 2


@pytest.mark.parametrize(
    ("settings_", "code"),
    [
        ({"metrics": ["AP"]}, "no-ceiling"),
        ({"target": "nDCG"}, "missing-cutoff"),
        ({"target": "nDCG@20", "depth": 10}, "depth-too-small"),
        ({"target": "Judged@10"}, "no-ceiling"),
        ({"test": rankgate.Test("randomization", correction="maxt")}, "unknown-choice"),
    ],
)
def test_what_cannot_be_is_said(settings_, code):
    qrels, runs = systems(2)
    with raises(code, UsageError):
        rankgate.stages(qrels, runs, **settings_)


def test_no_stage_is_an_error():
    with raises("missing-input", UsageError):
        rankgate.stages({"q": {"a": 1}}, [])


def test_a_query_that_one_stage_lacks():
    qrels, runs = systems(2)
    del runs["s1"]["q03"]
    with raises("values-differ", UsageError):
        rankgate.stages(qrels, runs, ["nDCG@5"])
    zero = rankgate.stages(qrels, runs, ["nDCG@5"], test=rankgate.Test(unequal="zero"))
    assert (zero.queries, zero.steps["n"][0]) == (30, 30)
    assert zero.losses["lost"].sum() == pytest.approx(1 - zero.ceilings["value"][1])


def test_the_published_stages_of_cast_2021(shared):
    """ANCE and the BERT that puts its documents in a new order: recall stays, nDCG@3 moves."""
    source_folder = shared / "cast2021"
    names = ("org_manual_bm25", "org_manual_ance", "org_manual_ance_bert")
    result = rankgate.stages(
        source_folder / "trec-cast-qrels-docs.2021.qrel.gz",
        [source_folder / "runs" / f"{name}.run.gz" for name in names],
        ["nDCG@3", "R@100"],
    )
    means = {(stage, metric): mean for stage, metric, mean, _ in result.means.rows()}
    assert [round(means[name, "nDCG@3"], 4) for name in names] == [0.3974, 0.5300, 0.5196]
    assert means[names[1], "R@100"] == means[names[2], "R@100"]
    assert result.kinds == ("retrieves", "retrieves", "reranks")
    assert result.ceilings["ceiling"][1] == result.ceilings["ceiling"][2]
    assert (result.bottleneck.stage, result.bottleneck.why) == (names[2], "order")


@pytest.mark.parametrize("name", CONVENTIONS)
def test_under_every_convention_nothing_is_above_its_ceiling(name):
    folder = Path(__file__).parents[2] / "examples" / "search-stages"
    runs = [folder / f"{stage}.run" for stage in ("bm25", "rrf", "rerank")]
    result = rankgate.stages(folder / "qrels.txt", runs, ["nDCG@5"], name, depth=10)
    assert (result.ceilings["value"] <= result.ceilings["ceiling"] + 1e-12).all()
    assert (result.ceilings["ceiling"] <= result.best + 1e-12).all()
    lost = result.best - result.ceilings["value"][-1]
    assert result.losses["lost"].sum() == pytest.approx(lost)


def test_runs_that_a_later_one_merges_are_no_steps():
    qrels = {f"q{i}": {"a": 3, "x": 1} for i in range(20)}
    lexical, vectors = ["a", "b", "c"], ["x", "y", "b"]
    merged = ["b", "a", "x", "y", "c"]
    runs = {"words": lexical, "vectors": vectors, "merged": merged, "last": ["a", *merged[2:]]}
    result = rankgate.stages(
        qrels, {name: dict.fromkeys(qrels, ranked(run)) for name, run in runs.items()}, ["nDCG@3"]
    )
    assert result.kinds == ("retrieves", "retrieves", "retrieves", "reranks")
    assert result.steps["stage"].to_list() == ["merged", "last"]
    assert result.correction == "holm over 2 tests"
    assert result.losses["stage"].to_list() == ["merged", "last", "last"]


def test_a_stage_that_lowers_the_metric_is_named_first():
    qrels, runs = systems(9, rows=90)
    worse = {name: runs[name] for name in ("s8", "s2", "s0")}
    result = rankgate.stages(qrels, worse, ["nDCG@5"])
    deltas = {row["stage"]: row for row in result.steps.to_dicts()}
    assert deltas["s0"]["high"] < 0
    assert result.sentence.startswith("s2 lowers nDCG@5 by")
    assert f"s0 lowers nDCG@5 by {-deltas['s0']['delta']:.4f} against s2" in result.sentence
    assert "lowers" not in rankgate.stages(qrels, runs, ["nDCG@5"]).sentence
