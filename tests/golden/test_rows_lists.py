"""Rows of the table about lists as a whole, about two runs, or about judgments of subtopics.

Families list these rows as ``ELSEWHERE``; here each row is computed from itself.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankgate.data import read_run
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.facet_input import block
from rankgate.measurement.metrics.facet_metrics import alpha_ndcg
from rankgate.measurement.metrics.lists import Listed
from rankgate.measurement.metrics.lists.coverage_evenness import coverage, entropy, gini, personalization
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.first_items import top_items
from rankgate.measurement.stats.paired_tests import student_test
from support.golden import rows

EACH = replace(CONVENTIONS["trec"], duplicates="each")  # RecBole's example shows an item twice


def run_of(row):
    """The run of a row: a frame, as an item may be in a list twice."""
    entries = []
    for ranking in row["run"].split(";"):
        query, _, items = ranking.partition(":")
        pairs = (item.rpartition("@") for item in items.split(","))
        entries += [(query, doc, float(score)) for doc, _, score in pairs]
    return pl.DataFrame(entries, schema=["query_id", "doc_id", "score"], orient="row")


def lists(row, catalogue=0):
    run = run_of(row)
    items, codes, _ = top_items(read_run(run), EACH, 10, run["query_id"].unique().sort())
    return Listed(codes.astype(np.int64), max(len(items), catalogue))


def p_of_identical_runs(row):
    """30 queries with the content of the row, the same run twice."""
    ((query_id, grades),) = {"1": {"a": 1, "b": 0}}.items()
    assert row["qrels"] == f"{query_id}:" + ",".join(f"{d}={g}" for d, g in grades.items())
    qrels = {str(i): grades for i in range(30)}
    single_run = run_of(row)
    run = pl.concat([single_run.with_columns(pl.lit(query).alias("query_id")) for query in qrels])
    values = evaluate(qrels, run, [parse("RR")]).runs[0].values["RR"]
    return student_test(values - values).p_value[0]


def of_subtopics(row, alpha):
    """a covers the first subtopic, b the second, as the row notes."""
    assert row["note"] == "subtopics: a covers 1, b covers 2"
    covers = {"a": {0}, "b": {1}}
    docs = run_of(row).sort("score", descending=True)["doc_id"]
    result = block([[covers[doc] for doc in docs]], [[*covers.values()]])
    return alpha_ndcg(result, cutoff=2, alpha=alpha)[0]


COMPUTED = {
    "2.10-0001": lambda row: of_subtopics(row, 0.5),
    "2.10-0002": lambda row: of_subtopics(row, 0.2),
    "2.10-0007": lambda row: entropy(lists(row, 4).sums(), base=math.e, per="item"),
    "2.10-0008": lambda row: entropy(lists(row, 4).sums(), base=math.e),
    "2.10-0009": lambda row: entropy(lists(row, 4).sums()),
    "2.10-0010": lambda row: gini(lists(row, 4).sums()),
    "2.10-0013": p_of_identical_runs,
    "2.10-0019": lambda row: round(100 * coverage(lists(row, 11).sums()), 2),
    "2.10-0020": lambda row: personalization(lists(row).sums()),
    "2.11-0106": lambda row: coverage(lists(row, 4).first(2).sums()),
}
"""How each row is computed; RecBole divides entropy by the number of items shown."""

OTHERWISE = {
    "2.10-0013": (1.0, "nothing differs at all: p is 1, and not undefined"),
    "2.10-0020": (math.nan, "one list has no pair: undefined, and not infinite"),
}
"""Rows where the tool errs, and what we give."""


ROWS = [row for row in rows() if row["id"] in COMPUTED]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_is_what_the_tool_gives(row):
    computed = COMPUTED[row["id"]](row)
    want = OTHERWISE[row["id"]][0] if row["id"] in OTHERWISE else float(row["value"])
    assert computed == pytest.approx(want, rel=0, abs=1e-9, nan_ok=True)


def test_what_we_give_otherwise_is_otherwise():
    tool_values = {row["id"]: float(row["value"]) for row in ROWS}
    for row_id, (rankgate_value, _) in OTHERWISE.items():
        assert not np.array_equal(tool_values[row_id], rankgate_value, equal_nan=True)


def test_no_row_is_missing():
    assert {row["id"] for row in ROWS} == COMPUTED.keys()
