"""What ten products and five documents compute for small inputs, number by number.

The table is not part of the repository: it is sought beside it, and the tests are skipped
where it is missing.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from rankgate.scoring import CONVENTIONS
from rankgate.services import evaluate

TABLE = Path(__file__).resolve().parents[3] / "shared" / "golden" / "conventions.csv"

pytestmark = pytest.mark.skipif(not TABLE.is_file(), reason="the table is not beside us")

ROWS_OF = {
    "quepid": 96,
    "searchtweak": 470,
    "elasticsearch": 96,
    "opensearch": 42,
    "rre": 50,
    "pyvespa": 24,
    "haystack": 12,
    "mlflow": 12,
    "phoenix": 12,
    "rankquest": 24,
    "guide": 111,
    "esci": 30,
    "esci-code": 1,
    "note": 94,
    "leaf": 97,
}
OUTSIDE = (
    "2.11-0106",  # coverage of a catalogue: no judgments, and not a mean over queries
    "2.3-0136",  # a misprint taken at its word: DCG over itself
)
SPELLED = {
    "DCG@3 [log2]": "DCG(base=2)@3",
    "DCG@3 [natural log]": "DCG@3",
    "IDCG(dcg='exp-log2')@3": "DCG@3",  # of the ideal ranking
}


def table():
    if not TABLE.is_file():
        return []
    with TABLE.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["convention"] in ROWS_OF]
    return [row for row in rows if row["reproducible"] == "yes"]


ROWS = table()
HERE = [row for row in ROWS if row["id"] not in OUTSIDE]


def parsed(text, sign):
    """``1:a=3,b=2;2:`` as ``{"1": [("a", "3"), ("b", "2")], "2": []}``."""
    tables = {}
    for ranking in text.split(";"):
        query, _, items = ranking.partition(":")
        pairs = [item.rpartition(sign) for item in items.split(",") if item]
        tables[query] = [(name, number) for name, _, number in pairs if number != "null"]
    return tables


def judgments(row):
    tables = parsed(row["qrels"], "=")
    return {query: {name: float(grade) for name, grade in tables[query]} for query in tables}


def ranking(row):
    """The run, as a frame where a document stands in it twice."""
    tables = parsed(row["run"], "@")
    run = {query: {name: float(score) for name, score in tables[query]} for query in tables}
    if all(len(run[query]) == len(tables[query]) for query in tables):
        return run
    rows = [(query, name, float(score)) for query in tables for name, score in tables[query]]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


@pytest.mark.parametrize("row", HERE, ids=[row["id"] for row in HERE])
def test_the_convention_gives_what_the_tool_gives(row):
    qrels, run = judgments(row), ranking(row)
    if row["metric"].startswith("IDCG"):
        run = qrels
    name = SPELLED.get(row["metric"], row["metric"].removesuffix(" [corrected]"))
    (got,) = evaluate(qrels, run, name, row["convention"]).runs[0].means.values()
    want = math.nan if row["value"] == "null" else float(row["value"])
    assert got == pytest.approx(want, rel=0, abs=float(row["tolerance"] or 0), nan_ok=True)


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == ROWS_OF
    assert len(ROWS) - len(HERE) == len(OUTSIDE)


TWO = {"1": {"a": 1}, "2": {"b": 0}}
FOUND = {"1": {"a": 1}, "2": {"b": 1}}
UNGRADED = {"1": {"a": 1}, "2": {"c": 1}}


@pytest.mark.parametrize(
    ("name", "metric", "run", "mean", "second"),
    [
        ("quepid", "ap@10", FOUND, math.nan, None),  # 0 / 0 spoils the mean
        ("searchtweak", "AP@10", FOUND, 1 / 2, 0.0),  # graded, nothing relevant
        ("searchtweak", "AP@10", UNGRADED, 1.0, None),  # nothing graded: out of the mean
        ("searchtweak", "RR@10", {"1": {"a": 1}}, 1.0, None),  # not there: as little
        ("rre", "P@10", UNGRADED, 1 / 2, 0.0),
        ("rre", "P@10", FOUND, 1.0, 1.0),  # a judgment counts, whatever it says
        ("note", "R@2", FOUND, 1.0, None),
        ("note", "AP@2", FOUND, (1 + 1 / 2) / 2 / 2, 0.0),
        ("mlflow", "recall_at_k(10)", {"1": {"a": 1}, "2": {}}, 1.0, 1.0),  # nothing for nothing
        ("mlflow", "precision_at_k(10)", {"1": {"a": 1}, "2": {}}, 1 / 2, 0.0),
    ],
)
def test_what_an_empty_query_does_to_the_mean(name, metric, run, mean, second):
    scores = evaluate(TWO, run, metric, name).runs[0]
    assert scores.means[metric] == pytest.approx(mean, nan_ok=True)
    assert scores.per_query(metric).get("2") == second


def test_the_best_document_of_rre_may_come_late_and_values_have_two_decimals():
    qrels = {"1": {"a": 1, "b": 3, "c": 3}}
    run = {"1": {"a": 9, "x": 8, "y": 7, "z": 6, "v": 5, "b": 4, "c": 3}}
    means = evaluate(qrels, run, ["RR@10", "P@10", "NDCG@10"], "rre").runs[0].means
    cut = 1 + 2.49 + 2.33  # 7 / log2(7) and 7 / log2(8)
    ideal = 7 + 4.41 + 0.5
    assert means == pytest.approx(
        {"RR@10": 0.17, "P@10": 0.43, "NDCG@10": math.floor(100 * cut / ideal) / 100}
    )


def test_a_rating_between_0_and_1_is_relevant_where_the_tool_says_above_0():
    qrels, run = {"1": {"a": 0.2}}, {"1": {"a": 1}}
    found = {name: evaluate(qrels, run, "P@1", name).runs[0].means["P@1"] for name in ROWS_OF}
    assert [name for name in ROWS_OF if found[name] == 0] == [
        *("searchtweak", "elasticsearch", "rankquest", "esci-code")
    ]


def test_all_of_them_are_known():
    assert set(ROWS_OF) <= set(CONVENTIONS)
    for name in ROWS_OF:
        assert CONVENTIONS[name].name == name
        assert CONVENTIONS[name].source
