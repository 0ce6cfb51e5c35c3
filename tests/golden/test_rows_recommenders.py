"""What libraries for recommender systems, and rankeval, compute for small inputs, row by row."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from rankgate.measurement.scoring import CONVENTIONS
from support.golden import Call, assert_rows, batches, evaluated, parsed, rows_of

NAMES = ("recommenders", "recbole", "recmetrics", "rexmex", "elliot", "recpack", "rankeval")

ELSEWHERE = (
    *("2.10-0007", "2.10-0010"),  # recbole: entropy and Gini of what is shown, no judgments
    *("2.10-0019", "2.10-0020"),  # recmetrics: coverage of a catalogue, personalization
)
"""Rows that are no metric of rankings against judgments; ``test_rows_lists`` checks them."""

ANSWERED = {
    "2.4-0030": 0.0,  # the one relevant item is not in the ranking: the tool raises ValueError
    "2.4-0031": 1 / 2,  # the second of two is not: (1/1 + 0) / 2
}
"""Rows on which the tool crashes, and what we answer."""


ROWS = rows_of(NAMES)
INSIDE = [row for row in ROWS if row["id"] not in ELSEWHERE]


def numbers(text, sign):
    """``1:a=3,b=2;2:`` as ``{"1": [("a", 3.0), ("b", 2.0)], "2": []}``."""
    tables = parsed(text, sign)
    return {query: [(name, float(value)) for name, value in tables[query]] for query in tables}


def run_of(text):
    """A run as a dictionary, or as a frame where a document is in it twice."""
    rankings = numbers(text, "@")
    plain = {query: dict(pairs) for query, pairs in rankings.items()}
    if all(len(plain[query]) == len(pairs) for query, pairs in rankings.items()):
        return plain
    rows = [(query, *pair) for query, pairs in rankings.items() for pair in pairs]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def by_threshold(how, metric):
    """recommenders: the threshold is how many items count."""
    if result := re.search(r", relevancy_method='by_threshold', threshold=(\d+)", metric):
        return replace(how, depth=int(result[1])), metric.replace(result[0], "")
    return how, metric


def with_threshold(how, metric):
    """elliot: gains and relevance begin at a threshold of 2."""
    if metric.endswith(" [relevance_threshold=2]"):
        gains = ((1, 0), (2, 1), (3, 3))
        how = replace(how, parameters={"*": {"rel": 2}, "nDCG": {"gain": gains}})
    return how, metric.partition(" [relevance")[0]


def with_no_relevant_results(how, metric):
    """rankeval: another value where nothing relevant is found."""
    if metric == "MAP(no_relevant_results=0.0)":
        return replace(how, special={"AP": {"without_relevant": 0.0}}), "MAP()"
    return how, metric


OPTIONS = {"recommenders": by_threshold, "elliot": with_threshold, "rankeval": with_no_relevant_results}


def plain(how, metric):
    return how, metric


def call(row):
    name = row["convention"]
    convention, word = OPTIONS.get(name, plain)(CONVENTIONS[name], row["metric"])
    judgments = {query: dict(pairs) for query, pairs in numbers(row["qrels"], "=").items()}
    return Call(judgments, run_of(row["run"]), word, convention)


@pytest.mark.parametrize("batch", batches(INSIDE))
def test_the_convention_gives_what_the_tool_gives(batch):
    assert_rows(batch, evaluated({row["id"]: call(row) for row in batch}), ANSWERED)


def test_the_tool_fails_where_we_answer():
    values = {row["id"]: row["value"] for row in ROWS}
    assert all(values[row_id].startswith("error") for row_id in ANSWERED)


def test_no_row_is_missing():
    assert Counter(row["convention"] for row in ROWS) == {
        "recommenders": 365,
        "recbole": 193,
        "recmetrics": 153,
        "rexmex": 118,
        "recpack": 12,
        "rankeval": 11,
        "elliot": 6,
    }
    row_ids = {row["id"] for row in ROWS}
    assert row_ids >= {*ELSEWHERE, *ANSWERED}
