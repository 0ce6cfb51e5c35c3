"""What ten products and five documents compute for small inputs, number by number."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from support.golden import Call, assert_rows, batches, evaluated, parsed, rows_of

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


ROWS = rows_of(ROWS_OF)
HERE = [row for row in ROWS if row["id"] not in (*OUTSIDE, *ELSEWHERE)]


def judgments(row):
    tables = parsed(row["qrels"], "=")
    return {
        query: {name: float(grade) for name, grade in pairs if grade != "null"}
        for query, pairs in tables.items()
    }


def ranking(row):
    """The run, as a frame where a document is in it twice."""
    tables = parsed(row["run"], "@")
    run = {query: {name: float(score) for name, score in tables[query]} for query in tables}
    if all(len(run[query]) == len(tables[query]) for query in tables):
        return run
    rows = [(query, name, float(score)) for query in tables for name, score in tables[query]]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def call(row):
    qrels, run = judgments(row), ranking(row)
    if row["metric"].startswith("IDCG"):
        run = qrels
    name = SPELLED.get(row["metric"], row["metric"].removesuffix(" [corrected]"))
    return Call(qrels, run, name, row["convention"])


@pytest.mark.parametrize("batch", batches(HERE))
def test_the_convention_gives_what_the_tool_gives(batch):
    assert_rows(batch, evaluated({row["id"]: call(row) for row in batch}))


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == ROWS_OF
    assert len(ROWS) - len(HERE) == len(OUTSIDE) + len(ELSEWHERE)
