"""An explanation adds up: to the value that ``evaluate`` gives, for every metric there is."""

import math
import random
from dataclasses import replace
from functools import cache

import pytest

from rankgate.core.errors import UsageError
from rankgate.data import read_qrels, read_run
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.metric_declaration import RANKING
from rankgate.measurement.scoring import CONVENTIONS
from support.wording import raises

TREC = CONVENTIONS["trec"]
HOW = {
    **CONVENTIONS,
    "by id": replace(TREC, name="by id", ties="doc_id_asc"),
    "as filed": replace(TREC, name="as filed", ties="file_order"),
    "judged": replace(TREC, name="judged", judged_only=True),
    "shallow": replace(TREC, name="shallow", depth=7),
}


def complete(metric):
    """The metric with the parameters that it needs for a value."""
    return metric(**dict.fromkeys(metric.missing, 1 if metric.at == "recall" else 5))


METRICS = [complete(metric) for metric in CATALOGUE]


def collection(seed):
    """Judgments and a run with ties, holes, pool documents, missed documents and empty queries."""
    chance = random.Random(seed)
    qrels, run = {}, {}
    for query in ("a", "b", "none relevant", "missing"):
        pool = chance.sample(range(40), 14)
        grades = [0, -1] if query == "none relevant" else [-1, 0, 0, 1, 2, 3]
        qrels[query] = {f"d{i:02}": chance.choice(grades) for i in pool}
        run[query] = {f"d{i:02}": chance.choice([1, 2, 3, 4]) for i in chance.sample(range(40), 18)}
    del run["missing"]
    return qrels, run


@cache
def evaluated(how):
    """A collection and the values of all metrics."""
    qrels, run = collection(how)
    qrels, run = read_qrels(qrels), read_run(run)
    return qrels, run, evaluate(qrels, run, METRICS, HOW[how]).runs[0]


@pytest.mark.explore
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_it_adds_up_to_the_value_of_evaluate(metric, thorough):
    """Of two ways to leave documents out each metric has one; both in ``make explore``."""
    left_out = ["judged", "shallow"]
    for how in ("trec9", *(left_out if thorough else left_out[METRICS.index(metric) % 2 :][:1])):
        assert_explained(metric, how)


def assert_explained(metric, how):
    qrels, run, scores = evaluated(how)
    values = scores.per_query(str(metric))
    for query in ("a", "none relevant", "missing"):
        outcome = explain(qrels, run, query, metric, HOW[how], depth=None)
        assert outcome.value == values.get(query), (query, outcome)
        assert outcome.mean == pytest.approx(scores.means[str(metric)])
        assert_adds_up(outcome)


def assert_adds_up(result):
    """Rows to the running number, the running number to the value."""
    rows = result.rows
    assert [row.rank for row in rows] == sorted(row.rank for row in rows)
    if result.summed is not None:
        total = math.fsum(row.contribution for row in rows)
        assert total == pytest.approx(result.summed.value, rel=1e-12, abs=1e-15)
        assert math.fsum(result.summed.terms) == pytest.approx(result.summed.value, abs=1e-15)
        for row in rows:
            if row.weight is not None:
                assert row.contribution == row.gain * row.weight
        if not result.why:
            assert result.value == pytest.approx(result.summed.value / result.norm.value, rel=1e-12)
        if result.norm.terms:
            ideal = math.fsum(row.contribution for row in result.ideal)
            assert ideal == pytest.approx(result.norm.value, rel=1e-12)
    elif rows and not result.why:
        assert rows[-1].running == pytest.approx(result.value, rel=1e-12)
        moved = math.fsum(row.contribution for row in rows)
        assert (result.start or 0) + moved == pytest.approx(result.value, rel=1e-12, abs=1e-12)


def test_the_parts_are_reported_for_most_metrics():
    rankings = [metric for metric in METRICS if metric.view == RANKING]
    metrics_with_steps = {metric.name for metric in rankings if metric.decompose(block([[1]]))}
    assert metrics_with_steps >= {"nDCG", "DCG", "CG", "AP", "RR", "P", "R", "Success", "RBP", "ERR", "Bpref"}


def test_the_order_is_that_of_the_convention():
    qrels = {"q": {"a": 1, "b": 0}}
    run = {"q": {"b": 1.0, "u": 1.0, "a": 1.0, "top": 2.0}}
    ties = [False, True, True, True]
    for convention_name, order, tied in (
        ("trec", ["top", "u", "b", "a"], ties),
        ("by id", ["top", "a", "b", "u"], ties),
        ("as filed", ["top", "b", "u", "a"], ties),
        ("judged", ["b", "a"], [False, False]),
    ):
        result = explain(qrels, run, "q", "AP", HOW[convention_name])
        assert [row.doc_id for row in result.rows] == order
        assert [row.tied for row in result.rows] == tied
        assert result.excluded == 4 - len(order)


def test_a_metric_of_judged_documents_only():
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"u": 3.0, "b": 2.0, "a": 1.0}}
    result = explain(qrels, run, "q", "AP(judged_only=True)")
    assert [(row.rank, row.doc_id) for row in result.rows] == [(1, "b"), (2, "a")]
    assert result.value == 1 / 2
    assert result.excluded == 1


def test_unjudged_documents_have_the_weight_of_their_rank():
    result = explain({"q": {"a": 1}}, {"q": {"u": 2.0, "a": 1.0}}, "q", "DCG@5")
    hole, hit = result.rows
    assert (hole.grade, hole.gain, hole.weight, hole.contribution) == (None, 0, 1, 0)
    assert hit.weight == pytest.approx(1 / math.log2(3))


def test_the_ideal_tells_where_the_run_has_each():
    qrels = {"q": {"a": 1, "b": 3, "c": 2, "d": 3, "e": 0, "f": -1}}
    result = explain(qrels, {"q": {"c": 3.0, "d": 2.0, "x": 1.0}}, "q", "nDCG@2")
    assert [(row.doc_id, row.found) for row in result.ideal] == [("d", 2), ("b", None), ("c", 1), ("a", None)]
    assert [row.weight for row in result.ideal] == [1, pytest.approx(1 / math.log2(3)), 0, 0]
    assert result.relevant == 4


def test_the_ideal_of_a_gain_map():
    qrels = {"q": {"a": 0, "b": 1, "c": 2}}
    metric = "nDCG(gain={0:0.5,1:9,2:1})"
    result = explain(qrels, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "q", metric)
    assert [(row.doc_id, row.gain) for row in result.ideal] == [("b", 9), ("c", 1), ("a", 0.5)]


def test_what_is_left_out_is_counted():
    qrels = {"q": {f"d{i}": 1 for i in range(0, 100, 10)}}
    run = {"q": {f"d{i}": -i for i in range(100)}}
    result = explain(qrels, run, "q", "AP", depth=5)
    assert [row.rank for row in result.rows] == [1, 11, 21, 31, 41]
    assert [row.skipped for row in result.rows] == [0, 9, 9, 9, 9]
    assert result.left_out == 59
    assert (len(result.ideal), result.ideal_left_out) == (5, 5)
    full = explain(qrels, run, "q", "AP", depth=None)
    assert (len(full.rows), full.left_out, full.ideal_left_out) == (100, 0, 0)
    assert result.value == full.value


def test_what_matters_is_shown_first():
    """Relevant, other judged and unjudged documents in the cutoff, then judged ones after it."""
    qrels = {"q": {"d2": 1, "d3": 0, "d8": 1, "d9": 0}}
    run = {"q": {f"d{i}": -i for i in range(1, 10)}}
    shown_at = {1: [2], 2: [2, 3], 3: [1, 2, 3], 5: [1, 2, 3, 4, 5], 6: [1, 2, 3, 4, 5, 8]}
    for depth, ranks in shown_at.items():
        rows = explain(qrels, run, "q", "P@5", depth=depth).rows
        assert [row.rank for row in rows] == ranks
    assert [row.rank for row in explain(qrels, run, "q", "P@5").rows] == [1, 2, 3, 4, 5, 8, 9]


def others(result):
    return {(alternative.convention, alternative.metric): alternative.value for alternative in result.others}


def test_trec_evals_own_value_beside_another_gain_or_denominator():
    qrels, run = {"q": {"a": 3, "b": 2, "x": 3}}, {"q": {"b": 2.0, "a": 1.0}}
    result = explain(qrels, run, "q", "nDCG(gain='exp')@2")
    linear = (2 + 3 / math.log2(3)) / (3 + 3 / math.log2(3))
    assert others(result) == {("trec", "nDCG@2"): pytest.approx(linear)}
    result = explain(qrels, run, "q", "AP(denominator='found')@2")
    assert result.value == 1
    assert others(result) == {("trec", "AP@2"): pytest.approx(2 / 3)}


def test_trec_eval_9_differs_where_scores_are_nearly_equal():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 0.50000001, "b": 0.5}}
    result = explain(qrels, run, "q", "RR")
    assert result.value == 1
    assert others(result) == {("trec9", "RR"): 1 / 2}


def test_where_all_agree_there_are_no_others():
    assert explain({"q": {"a": 1}}, {"q": {"a": 1.0}}, "q", "nDCG@10").others == ()


def test_a_query_that_returned_nothing():
    result = explain({"q": {"a": 1}}, {"q": {}}, "q", "SetP")
    assert (result.value, result.why, result.rows) == (0, "nothing retrieved", ())
    assert [(row.doc_id, row.found) for row in result.ideal] == [("a", None)]


def test_a_query_whose_rows_stand_apart(tmp_path):
    path = tmp_path / "apart.run"
    path.write_text("q Q0 a 1 1 t\nr Q0 a 1 1 t\nq Q0 b 1 2 t\n")
    result = explain({"q": {"a": 1}}, path, "q", "RR")
    assert [row.doc_id for row in result.rows] == ["b", "a"]
    assert result.value == 1 / 2


@pytest.mark.parametrize("depth", [1, 20, None])
def test_a_query_without_any_judgment_is_unknown(depth):
    with raises("unknown-query", UsageError):
        explain({"q": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, "r", "AP", depth=depth)


def test_the_nearest_queries_are_named():
    qrels = {f"q{i}": {"a": 1} for i in range(100, 140)}
    with raises("unknown-query", UsageError):
        explain(qrels, {"q100": {"a": 1.0}}, "Q133", "AP")


def test_a_plain_dictionary_for_json():
    result = explain({"q": {"a": 1}}, {"q": {"a": 1.0}}, "q", "AP").to_dict()
    assert result["schema_version"] == 1
    assert result["convention"]["hash"] == TREC.hash
    assert result["rows"][0]["doc_id"] == "a"
