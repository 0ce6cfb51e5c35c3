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

from rankgate.evaluation.evaluate import evaluate

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
ELSEWHERE = ("2.11-0106",)  # coverage of a catalogue, in test_rows_lists
OUTSIDE = ("2.3-0136",)  # a misprint taken at its word: DCG over itself
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
HERE = [row for row in ROWS if row["id"] not in (*OUTSIDE, *ELSEWHERE)]


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
    assert len(ROWS) - len(HERE) == len(OUTSIDE) + len(ELSEWHERE)
