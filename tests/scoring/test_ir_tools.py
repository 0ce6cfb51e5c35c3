"""Single choices of the tools of information retrieval, each with the value written out."""

from math import log2

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.measurement.evaluation.evaluate import evaluate
from support.wording import raises

ONE = {"1": {"a": 1, "b": 0}}
B_RELEVANT = {"1": {"a": 0, "b": 1}}
NEAR = {"1": {"b": 0.5, "a": 0.50000001}}  # equal as 32-bit floats
NEAR_B = {"1": {"a": 0.5, "b": 0.50000001}}
TIED = {"1": {"a": 1.0, "b": 1.0}}
TIED_B = {"1": {"b": 1.0, "a": 1.0}}
THREE = {"1": {"a": 1, "b": 0}, "2": {"c": 0}, "3": {"d": 1}}
RAN = {"1": {"b": 2.0, "a": 1.0}, "2": {"c": 1.0}}  # the third is missing
ANSWERED = pl.DataFrame(
    {"query_id": ["1", "1"], "doc_id": ["a", "b"], "grade": [1, 0], "subtopic": ["x", "x"]}
)
_3 = log2(3)

CHOICES = [
    # a query that nobody rated: pytrec_eval-terrier 0.5.11 returns no value for it, and files of TREC,
    # which trec_eval, gdeval and trectools read, cannot name it; ir_measures 0.4.3 counts 0 for it
    *(
        (tool, "RR", {"1": {"b": 1}, "2": {}}, {"1": ["b"], "2": ["b"]}, 1)
        for tool in ("trec", "trec9", "pytrec_eval", "gdeval", "trectools", "esci-code")
    ),
    ("ir_measures", "RR", {"1": {"b": 1}, "2": {}}, {"1": ["b"], "2": ["b"]}, 1 / 2),
    # which scores are equal, and what comes first then
    ("ir_measures", "RR", ONE, NEAR, 1 / 2),
    ("ir_measures", "RR@10", B_RELEVANT, NEAR_B, 1),
    ("ir_measures", "RBP(rel=1,p=0.5)", ONE, NEAR, 1 / 2),
    ("ir_measures", "RBP(rel=1,p=0.5)", ONE, TIED_B, 1 / 4),
    ("ir_measures", "Compat(p=0.5)", B_RELEVANT, NEAR_B, 1),
    ("ir_measures", "Judged@1", {"1": {"b": 1}}, NEAR_B, 1),
    ("ir_measures", "Judged@1", {"1": {"b": -1}}, NEAR_B, 1),
    ("ir_measures", "Accuracy", ONE, TIED_B, 0),
    ("ir_measures", "Accuracy", ONE, NEAR, 1),
    ("ir_measures", "SDCG(max_rel=1)@1", ONE, TIED_B, 0),
    *(
        ("ir_measures", name, ONE, run, 1)
        for name in (
            *("NERR8(max_rel=1)@1", "NERR9(max_rel=1)@1", "NERR10(max_rel=1)"),
            *("NERR11(max_rel=1)", "BPM(max_rel=1)@1"),
        )
        for run in (TIED, NEAR)
    ),
    *(
        ("ir_measures", name, ANSWERED, run, value)
        for name, second in (
            *((f"{metric_name}@1", 0) for metric_name in ("P_IA", "ERR_IA", "nERR_IA", "StRecall")),
            *(("alpha_DCG@1", 0), ("alpha_nDCG@1", 0), ("AP_IA", 1 / 2)),
            *(("NRBP", 3 / 8), ("nNRBP", 1 / 2)),
        )
        for run, value in ((TIED_B, 1 if name != "NRBP" else 3 / 4), (NEAR_B, second))
    ),
    ("ir_measures", "nDCG(dcg='exp-log2')@3", ONE, NEAR, 1),
    ("ir_measures", "nDCG@3", ONE, NEAR, 1 / _3),
    ("ir_measures", "ERR@3", ONE, NEAR, 1 / 16),
    ("ir_measures", "ERR@3", ONE, TIED, round(1 / 16 / 2, 5)),
    ("gdeval", "ndcg@3", ONE, TIED, round(1 / _3, 5)),
    ("gdeval", "ndcg@3", ONE, NEAR, 1),
    ("cwl", "RR", ONE, TIED_B, 1 / 2),
    ("ranx", "mrr", ONE, NEAR, 1),
    ("ranx", "mrr", ONE, TIED_B, 1 / 2),
    ("trectools", "get_map()", ONE, TIED, 1 / 2),
    ("trectools", "get_ndcg(depth=3)", ONE, TIED, 1),
    ("trectools", "get_rbp(p=0.5)", ONE, TIED, 0.5 * (1 + 0.5) / 2),
    ("trectools", "get_rbp(p=0.5, average_ties=False)", ONE, TIED, 0.5),
    ("ntcir", "ERR", ONE, {"1": ["b", "a"]}, 1 / 8 / 2),
    ("beir", "MRR@3", ONE, TIED_B, 1 / 2),
    ("beir", "MRR@3", ONE, NEAR, 1),
    ("beir", "MAP@3", ONE, NEAR, 1 / 2),
    ("beir", "Accuracy@1", ONE, TIED, 1),
    ("beir", "Accuracy@1", ONE, NEAR, 1),
    ("beir", "R_cap@1", ONE, TIED, 1),
    ("beir", "R_cap@1", ONE, NEAR, 1),
    ("beir", "Recall@1", ONE, TIED, 0),
    # a document with the id of its query counts as not retrieved
    ("beir", "MRR@1", ONE, {"1": {"1": 2.0, "a": 1.0}}, 1),
    # five decimals of each query
    ("ir_measures", "nDCG(dcg='exp-log2')@3", ONE, RAN, 0.63093),
    # which queries count: the second has nothing relevant, the third is missing
    ("ir_measures", "RR", THREE, RAN, (1 / 2 + 0 + 0) / 3),
    ("ir_measures", "nDCG(dcg='exp-log2')@3", THREE, RAN, 0.63093 / 3),
    ("ir_measures", "Accuracy", THREE, RAN, 0),
    ("ir_measures", "Accuracy", THREE, {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}, 1),
    ("ir_measures", "NumQ", THREE, RAN, 2),
    ("ir_measures", "NumRel", THREE, RAN, 1),
    ("gdeval", "ndcg@3", THREE, RAN, 0.63093),
    ("gdeval", "err@3", THREE, RAN, 1 / 16 / 2),
    ("trectools", "get_map()", THREE, {**RAN, "9": {"d": 1.0}}, (1 / 2) / 3),
    ("ntcir", "AP", THREE, RAN, (1 / 2) / 2),
    ("beir", "MRR@3", THREE, RAN, (1 / 2) / 3),
    ("beir", "Accuracy@3", THREE, RAN, 1 / 3),
    *[("beir", name, THREE, RAN, (1 / 2) / 2) for name in ("MAP@3", "P@2")],
    *[("beir", name, THREE, RAN, 1 / 2) for name in ("Recall@3", "R_cap@3")],
    ("beir", "NDCG@3", THREE, RAN, (1 / _3) / 2),
    # what a grade is worth
    ("ranx", "ndcg@3", {"1": {"a": 2, "b": 1}}, {"1": {"b": 2.0}}, 1 / (2 + 1 / _3)),
    ("ranx", "ndcg@3-l2", {"1": {"a": 2, "b": 1}}, {"1": {"b": 2.0}}, 0),
    ("ranx", "ndcg_burges@3-l2", {"1": {"a": 2, "b": 1}}, {"1": {"b": 2.0, "a": 1.0}}, 1 / _3),
    ("ranx", "hits@3", {"1": {"a": 2, "b": 1}}, {"1": {"b": 2.0, "a": 1.0}}, 2),
    ("trectools", "get_map()", {"1": {"a": 0.5}}, {"1": {"a": 1.0}}, 1),
    ("ntcir", "RBP", {"1": {"a": 2}}, {"1": {"a": 1.0}}, 0.05 * 3 / 7),
    ("ir_measures", "SetF(beta=2.)", {"1": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}}, 3 / 2 / 2),
]


@pytest.mark.parametrize(("name", "metric", "qrels", "run", "value"), CHOICES)
def test_a_choice_of_a_tool(name, metric, qrels, run, value):
    (score,) = evaluate(qrels, run, [metric], name).runs[0].means.values()
    assert score == pytest.approx(value, abs=1e-12)


LONG = {"1": {f"n{i:04}": 2000.0 - i for i in range(1, 1001)} | {"a": 1.0}}


@pytest.mark.parametrize("name", ["ir_measures", "cwl"])
def test_the_weights_of_cwl_add_up_to_1_over_a_thousand_ranks(name):
    rbp = "RBP(rel=1,p=0.999)"
    (last,) = evaluate(ONE, LONG, [rbp], name).runs[0].means.values()
    (first,) = evaluate({"1": {"n0001": 1}}, LONG, [rbp], name).runs[0].means.values()
    assert last == 0
    assert first == pytest.approx(0.001 / (1 - 0.999**1000), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "metric"), [("gdeval", "ndcg@3"), ("gdeval", "err@3"), ("ir_measures", "ERR@3")]
)
def test_gdeval_refuses_a_grade_above_4(name, metric):
    with raises("grade-outside-scale", InputError):
        evaluate({"1": {"a": 5}}, {"1": {"a": 2.0}}, [metric], name)


@pytest.mark.parametrize(
    ("run", "code"), [(RAN, "missing-query"), ({**RAN, "3": {"d": 1.0}, "9": {"d": 1.0}}, "unknown-query")]
)
def test_ranx_refuses_missing_and_unknown_queries(run, code):
    with raises(code, InputError):
        evaluate(THREE, run, ["map"], "ranx")
