"""Intent-aware metrics, against ndeval's example and its stored outputs."""

from __future__ import annotations

import csv
import gzip
from dataclasses import replace
from itertools import permutations
from math import log2

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_qrels, read_run
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.facet_input import block, gains, ideal_gains
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS, alpha_dcg, alpha_ndcg
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.metrics import parse
from support.wording import raises

# d2 {1}, d1 {1, 2}, d5 {}, d3 {3}, d4 {2, 3}
ANSWERS = {"d1": {0, 1}, "d2": {0}, "d3": {2}, "d4": {1, 2}, "d5": set()}
RANKING = [ANSWERS[d] for d in ("d2", "d1", "d5", "d3", "d4")]
TOLD = block([RANKING], [[ANSWERS[d] for d in ("d1", "d2", "d3", "d4")]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha_nDCG@5", 0.810123204),
        ("alpha_DCG(norm='none')@5", 2.763923996),
        ("alpha_DCG@5", 0.606731314),
        ("ERR_IA(norm='none')@5", 0.3666667),
        ("ERR_IA@5", 0.532526475),
        ("nERR_IA@5", 0.723287671),
        ("NRBP", 0.484375),
        ("nNRBP", 0.659574468),
        ("MAP_IA", 0.591666667),
        ("P_IA@5", 0.4),
        ("StRecall@5", 1.0),
        ("strec@1", 1 / 3),
    ],
)
def test_ndeval_s_numbers(name, value):
    metric = parse(name, FACET_METRICS)
    assert metric.kernel(TOLD, **metric.bound())[0] == pytest.approx(value, abs=1e-7)


def test_values_are_written_out():
    assert alpha_dcg(TOLD, cutoff=2, norm="none")[0] == pytest.approx(1 + (0.5 + 1) / log2(3))
    repeated = alpha_dcg(TOLD, cutoff=2, alpha=0.2, norm="none")[0]
    assert repeated == pytest.approx(1 + (0.8 + 1) / log2(3))
    # the best two: d1 with two subtopics, then d4 with one of them again and a new one
    ideal = 2 + (0.5 + 1) / log2(3)
    assert alpha_ndcg(TOLD, cutoff=2)[0] == pytest.approx((1 + 1.5 / log2(3)) / ideal)


def test_a_batch_has_the_values_of_its_queries():
    pool = [ANSWERS[d] for d in ("d1", "d2", "d3", "d4")]
    values = alpha_ndcg(block([RANKING, RANKING[::-1]], [pool, pool]), cutoff=3)
    assert values[0] == alpha_ndcg(TOLD, cutoff=3)[0]
    assert values[1] != values[0]


def test_a_query_without_relevant_documents_is_undefined():
    empty_block = block([[set(), set()]], [[]])
    for metric in FACET_METRICS:
        bound = (metric @ 5).bound() if metric.at else metric.bound()
        assert np.isnan(metric.kernel(empty_block, **bound)).all(), metric.name


documents = st.lists(st.sets(st.integers(0, 2), min_size=1), min_size=1, max_size=4)


@given(documents)
def test_the_greedy_ideal_starts_with_the_best_and_gains_fall(pool):
    judged_block = block([[]], [pool])
    result = ideal_gains(judged_block.pool, 0.5, 10, judged_block.worth)[0]
    assert result[0] == max(map(len, pool))
    assert (np.diff(result) <= 1e-12).all()


@given(documents)
def test_the_first_of_any_order_adds_what_it_answers(pool):
    for order in permutations(pool):
        judged_block = block([order], [pool])
        added = gains(judged_block.covers, 0.5, judged_block.worth)[0]
        assert added[0] == len(order[0])


COLUMNS = {
    **{
        f"{peer_name}@{k}": f"{rankgate_name}@{k}"
        for k in (5, 10, 20)
        for peer_name, rankgate_name in (
            ("ERR-IA", "ERR_IA"),
            ("nERR-IA", "nERR_IA"),
            ("alpha-DCG", "alpha_DCG"),
            ("alpha-nDCG", "alpha_nDCG"),
            ("P-IA", "P_IA"),
            ("strec", "StRecall"),
        )
    },
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP_IA",
}


@pytest.mark.parametrize("year", ["2009", "2010"])
@pytest.mark.parametrize("order", ["rank", "traditional"])
def test_ndeval_s_stored_outputs(year, order, shared):
    folder = shared / "web-diversity-2009-2010" / year
    (run,) = (folder / "runs").iterdir()
    qrels = f"trec-subtopics:{folder / f'{year}.diversity.qrels.gz'}"
    ranked = read_run(str(run))
    if order == "rank":
        with gzip.open(run, "rt") as lines:
            rows = [line.split() for line in lines]
        frame = pl.DataFrame(
            [(r[0], r[2], -float(r[3])) for r in rows], schema=["query_id", "doc_id", "score"], orient="row"
        )
        ranked = read_run(frame)
    (stored,) = (folder / "expected").glob(f"*.ndeval.{order}.csv")
    result = evaluate(qrels, ranked, list(COLUMNS.values())).runs[0]
    with stored.open() as lines:
        rows = {row["topic"]: row for row in csv.DictReader(lines)}
    assert set(COLUMNS) == rows["amean"].keys() - {"runid", "topic"}  # no column is left out
    values = {name: result.per_query(name) for name in COLUMNS.values()}
    compared = 0
    for peer_name, rankgate_name in COLUMNS.items():
        for query, row in rows.items():
            want = float(row[peer_name])
            if query not in {"amean", *values[rankgate_name]}:  # two topics have no judgments at all
                assert (year, want) == ("2010", 0)
                continue
            actual = result.means[rankgate_name] if query == "amean" else values[rankgate_name][query]
            assert actual == pytest.approx(want, abs=2e-6), (query, peer_name)
            compared += 1
    assert compared == len(COLUMNS) * {"2009": 51, "2010": 49}[year]


def test_judgments_by_subtopic_serve_both_kinds(tmp_path):
    qrels = tmp_path / "diversity.qrels"
    qrels.write_text("q 1 a 1\nq 2 a 0\nq 2 b 1\np 1 c 1\n")
    run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    result = evaluate(str(qrels), run, ["StRecall@1", "P@1", "alpha_nDCG@3"]).runs[0]
    assert result.per_query("StRecall@1") == {"p": 0.0, "q": 0.5}
    assert result.per_query("P@1") == {"p": 0.0, "q": 1.0}
    assert result.means["StRecall@1"] == 0.25
    left_out = replace(CONVENTIONS["trec"], missing="leave_out")
    assert evaluate(str(qrels), run, ["StRecall@1"], left_out).runs[0].means["StRecall@1"] == 0.5
    with raises("wrong-type", InputError):
        evaluate(str(qrels), run, ["P@1"])
    with raises("invalid-parameter", UsageError):
        evaluate(str(qrels), run, ["alpha_nDCG(alpha=2)@5"])


def test_judgments_without_subtopics_are_refused(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q 0 a 1\nq 0 b 0\n")
    for qrels in (read_qrels({"q": {"a": 1, "b": 0}}), path):
        with raises("no-subtopics", InputError):
            evaluate(qrels, {"q": {"b": 3.0, "a": 2.0}}, ["StRecall@1"])


@pytest.mark.parametrize("metric", FACET_METRICS, ids=lambda m: m.name)
def test_every_declaration_is_filled_in(metric):
    for field in ("title", "formula", "source", "sees", "blind_to"):
        assert getattr(metric, field), field
    truncated = metric @ 5 if metric.at else metric
    assert parse(str(truncated), FACET_METRICS) == truncated


# grades of three intents; at rel=2 only the first and the third have an answer
GRADED = block([[{0: 1}, {0: 2, 1: 1}, {}, {2: 3}]], [[{0: 2, 1: 1}, {2: 3}, {0: 1}, {0: 2}]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("StRecall(rel=2)@2", 1 / 2),
        ("StRecall@2", 2 / 3),
        ("P_IA(rel=2)@4", (1 / 4 + 1 / 4) / 2),
        ("AP_IA(rel=2)", ((1 / 2) / 2 + 1 / 4) / 2),
        ("ERR_IA(rel=2,norm='none')@4", (1 / 2 * 1 / 2 + 1 / 2 * 1 / 4) / 2),
        ("NRBP(rel=2,beta=0.5)", (1 - 0.25) / 2 * (1 / 2 + 1 / 8)),
        ("alpha_DCG(rel=2,norm='none')@4", 1 / log2(3) + 1 / log2(5)),
        ("IA(of='RR')", (1 + 1 / 2 + 1 / 4) / 3),
        ("IA(of='RR(rel=2)',rel=2)", (1 / 2 + 1 / 4) / 2),
        ("IA(of='CG@4')", (3 + 1 + 3) / 3),
        ("Dsharp(of='CG@2',gamma=0)", (1 + 3) / 3),
        (
            "Dsharp(of='nDCG@4',gamma=0.25)",
            0.25 + 0.75 * (1 + 3 / log2(3) + 3 / log2(5)) / (3 + 3 / log2(3) + 2 / log2(4) + 1 / log2(5)),
        ),
    ],
)
def test_grades_of_intents_count(name, value):
    metric = parse(name, FACET_METRICS)
    assert metric.kernel(GRADED, **metric.bound())[0] == pytest.approx(value)


@pytest.mark.parametrize(("general", "own"), [("IA(of='P@3')", "P_IA@3"), ("IA(of='AP@3')", "AP_IA@3")])
def test_the_general_form_has_the_values_of_the_metrics_that_are_one(general, own):
    values = [parse(name, FACET_METRICS) for name in (general, own)]
    for judged in (TOLD, GRADED):
        first, second = (metric.kernel(judged, **metric.bound()) for metric in values)
        assert first == pytest.approx(second)


@pytest.mark.parametrize("of", ["Bpref", "Judged@5", "alpha_nDCG@5", "P"])
def test_a_metric_that_intents_do_not_allow_is_refused(of):
    metric = parse(f"IA(of='{of}')", FACET_METRICS)
    with pytest.raises(UsageError):
        metric.kernel(GRADED, **metric.bound())


# intents 0 and 1 of q weigh 1 : 3; of another query, whose weights are not used, 1 alone
WEIGHED = pl.DataFrame(
    [("q", "a", 1, "0", 0.2), ("q", "b", 1, "1", 0.6), ("q", "c", 0, "2", 0.2), ("p", "a", 2, "0", 9)],
    schema=["query_id", "doc_id", "grade", "subtopic", "subtopic_weight"],
    orient="row",
)
BOTH = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}, "p": {"a": 1.0}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("IA(of='RR')", 1 / 4 * 1 + 3 / 4 * 1 / 3),
        ("P_IA@2", 1 / 4 * 1 / 2),
        ("AP_IA", 1 / 4 * 1 + 3 / 4 * 1 / 3),
        ("ERR_IA(norm='none')@3", 0.5 * (1 / 4 + 3 / 4 * 1 / 3)),
        ("alpha_DCG(norm='none')@3", 2 * (1 / 4 + 3 / 4 / log2(4))),
        ("alpha_nDCG@3", (1 / 4 + 3 / 4 / 2) / (3 / 4 + 1 / 4 / log2(3))),
        ("NRBP(p=0.8)", (1 - 0.4) * (1 / 4 + 3 / 4 * 0.64)),
        ("Dsharp(of='CG@1',gamma=0.5)", 0.5 * 1 / 2 + 0.5 * 1 / 4),
        ("StRecall@1", 1 / 2),
    ],
)
def test_intents_weigh_what_the_judgments_say(name, value):
    query_values = evaluate(WEIGHED, BOTH, [name]).runs[0].per_query(name)
    assert query_values["q"] == pytest.approx(value)
    even = WEIGHED.with_columns(pl.lit(0.3).alias("subtopic_weight"))
    plain = evaluate(WEIGHED.drop("subtopic_weight"), BOTH, [name]).runs[0].per_query(name)
    assert evaluate(even, BOTH, [name]).runs[0].per_query(name) == pytest.approx(plain)
    assert plain["p"] == pytest.approx(query_values["p"])


def test_intents_that_weigh_nothing_have_no_value():
    weightless = replace(TOLD, weights=np.zeros((1, 3)))
    for metric in FACET_METRICS:
        bound = (metric @ 5).bound() if metric.at else metric.bound()
        value = metric.kernel(weightless, **bound)[0]
        counts_intents = metric.name in {"StRecall", "Dsharp"}  # they count intents
        assert np.isnan(value) != counts_intents, metric.name


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"subtopic_weight": -1.0}, "not-a-number"),
        ({"subtopic_weight": None}, "not-a-number"),
        ({"doc_id": "z", "subtopic_weight": 0.5}, "contradicting-weights"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(change, code):
    row = dict(WEIGHED.row(1, named=True)) | change
    rows = WEIGHED.head(2).extend(pl.DataFrame([row | {"doc_id": "z"}], schema=WEIGHED.schema))
    with raises(code, InputError):
        evaluate(rows, BOTH, ["IA(of='RR')"])


def test_weights_without_subtopics_are_refused():
    with raises("no-subtopics", InputError):
        evaluate(WEIGHED.unique("doc_id").drop("subtopic"), BOTH, ["P@1"])


def test_weights_are_read_from_a_file(tmp_path):
    path = tmp_path / "judgments.csv"
    WEIGHED.rename({"subtopic_weight": "intent_probability"}).write_csv(path)
    query_values = evaluate(path, BOTH, ["IA(of='RR')"]).runs[0].per_query("IA(of='RR')")
    assert query_values["q"] == pytest.approx(1 / 2)
