"""The verb: learning, refusals, reports."""

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.measurement.fusion.fusion import Fusion
from rankgate.measurement.fusion.trained_methods import METHODS


def world(queries=40, seed=0):
    """Judgments, a good run, and a run of noise, which ranks more documents."""
    rng = np.random.default_rng(seed)
    qrels, good_run, noise = {}, {}, {}
    for q in range(queries):
        docs = [f"d{i}" for i in range(30)]
        grades = dict(zip(docs, (rng.random(30) < 0.2).astype(int).tolist(), strict=True))
        qrels[f"q{q}"] = grades
        good_run[f"q{q}"] = {doc: grades[doc] + float(rng.normal(0, 0.6)) for doc in docs[:20]}
        noise[f"q{q}"] = {doc: float(rng.random()) for doc in docs}
    return qrels, {"good": good_run, "noise": noise}


def test_a_document_of_one_run_and_queries_of_one_run_are_kept():
    fused = rankgate.fuse([{"q1": {"a": 2.0, "b": 1.0}}, {"q1": {"c": 1.0}, "q2": {"d": 1.0}}])
    assert fused.run.table.rows() == [
        ("q1", "c", 1 / 61),
        ("q1", "a", 1 / 61),
        ("q1", "b", 1 / 62),
        ("q2", "d", 1 / 61),
    ]
    assert [(notice.code, notice.subject) for notice in fused.notices] == [("missing-queries", "run1")]


def test_depth_and_keep_cut_lists_before_and_after():
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"c": 2.0, "b": 1.0}}]
    assert rankgate.fuse(runs, depth=1).run.table["doc_id"].to_list() == ["c", "a"]
    assert rankgate.fuse(runs, keep=1).run.table["doc_id"].to_list() == ["c"]


def test_tuned_weights_prefer_the_good_run_on_queries_that_they_have_not_seen():
    qrels, runs = world()
    fused = rankgate.fuse(runs, "linear", learning=rankgate.FusionLearning(qrels, tune=True))
    learned = fused.learned
    assert all(fold.setting.weights[0] > fold.setting.weights[1] for fold in learned.folds)
    assert learned.singles["good"] - 0.05 < learned.held_out <= learned.in_sample + 0.02
    value = rankgate.evaluate(qrels, fused.run, ["nDCG@10"]).means["nDCG@10"][0]
    assert value == pytest.approx(learned.held_out)


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.train])
def test_a_trained_method_trusts_the_better_run(method):
    qrels, runs = world()
    fused = rankgate.fuse(runs, method, learning=rankgate.FusionLearning(qrels))
    assert fused.learned.held_out > fused.learned.singles["noise"] + 0.1


def test_judgments_of_a_query_never_decide_its_own_list():
    """Other judgments of one fold change only the lists of the other folds."""
    qrels, runs = world(queries=12)
    table_before = rankgate.fuse(runs, "posfuse", learning=rankgate.FusionLearning(qrels, folds=12)).run.table
    flipped_qrels = qrels | {"q3": {doc: 1 - grade for doc, grade in qrels["q3"].items()}}
    table_after = rankgate.fuse(
        runs, "posfuse", learning=rankgate.FusionLearning(flipped_qrels, folds=12)
    ).run.table
    is_changed = pl.col("query_id") == "q3"
    assert table_before.filter(is_changed).equals(table_after.filter(is_changed))
    assert not table_before.filter(~is_changed).equals(table_after.filter(~is_changed))


def test_queries_without_judgments_are_fused_by_what_all_teach():
    qrels, runs = world()
    partial_qrels = {query: docs for query, docs in qrels.items() if query != "q7"}
    fused = rankgate.fuse(runs, "mapfuse", learning=rankgate.FusionLearning(partial_qrels))
    assert fused.learned.unjudged == 1
    assert fused.run.table["query_id"].unique(maintain_order=True).to_list() == list(qrels)


def test_the_same_words_give_the_same_result():
    qrels, runs = world()
    first, second = (
        rankgate.fuse(runs, "linear", learning=rankgate.FusionLearning(qrels, tune=True, seed=4))
        for _ in range(2)
    )
    assert first.to_dict() == second.to_dict()
    assert first.run.table.equals(second.run.table)
    restored = Fusion.from_dict(json.loads(json.dumps(first.to_dict())))
    assert restored.to_dict() == first.to_dict()
    assert str(restored) == str(first)


RUN = {"q": {"a": 2.0, "b": 1.0}}
JUDGED = {"q": {"a": 1}}
REFUSED = [
    (([RUN],), {}, "missing-input"),
    (([RUN, RUN], "rff"), {}, "unknown-fusion-method"),
    (([RUN, RUN], "rrf", {"kk": 3}), {}, "unknown-parameter"),
    (([RUN, RUN], "rrf", ["k"]), {}, "invalid-parameter"),
    (([RUN, RUN], "rrf", {"k": -1}), {}, "invalid-parameter"),
    (([RUN, RUN], "combsum"), {"weights": [1, 2]}, "unused-option"),
    (([RUN, RUN],), {"weights": [1]}, "invalid-parameter"),
    (([RUN, RUN],), {"weights": [0, 0]}, "invalid-parameter"),
    (([RUN, RUN],), {"norm": "max"}, "unused-option"),
    (([RUN, RUN], "combsum"), {"norm": "maximal"}, "unknown-normalisation"),
    (([RUN, RUN], "posfuse"), {}, "missing-input"),
    (([RUN, RUN],), {"learning": rankgate.FusionLearning(JUDGED)}, "unused-option"),
    (([RUN, RUN], "posfuse"), {"learning": rankgate.FusionLearning(JUDGED)}, "few-queries"),
]


@pytest.mark.parametrize(("words", "options", "code"), REFUSED)
def test_what_cannot_be_fused_is_one_error(words, options, code):
    with pytest.raises(rankgate.UsageError) as error:
        rankgate.fuse(*words, **options)
    assert error.value.code == code


def test_learning_that_cannot_be_is_one_error():
    for fields, code in (({"tune": True}, "missing-input"), ({"folds": 1}, "invalid-parameter")):
        with pytest.raises(rankgate.UsageError) as error:
            rankgate.FusionLearning(**fields)
        assert error.value.code == code
    learning = rankgate.FusionLearning(JUDGED, tune=True)
    assert learning == rankgate.FusionLearning({"q": {"a": 1}}, tune=True)
    assert learning != rankgate.FusionLearning({"q": {"a": 2}}, tune=True)


def test_a_collection_says_how_judgments_are_read():
    """Training with labels for grades gives the same result as training with grades."""
    qrels, runs = world(queries=30)
    rows = [
        {"term": query, "sku": doc, "label": f"grade {grade}"}
        for query, docs in qrels.items()
        for doc, grade in docs.items()
    ]
    grades = {row["label"]: float(row["label"].split()[1]) for row in rows}
    shop = rankgate.Collection(pl.DataFrame(rows), columns="query=term,doc=sku,grade=label", grades=grades)
    first, second = (
        rankgate.fuse(runs, "linear", learning=rankgate.FusionLearning(judged, tune=True))
        for judged in (qrels, shop)
    )
    assert first.learned.setting == second.learned.setting
    assert first.learned.held_out == second.learned.held_out


def test_a_method_with_nothing_to_tune_says_so():
    qrels, runs = world(queries=10)
    with pytest.raises(rankgate.UsageError) as error:
        rankgate.fuse(runs, "combsum", learning=rankgate.FusionLearning(qrels, tune=True))
    assert error.value.code == "nothing-to-tune"
