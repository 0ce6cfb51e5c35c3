"""Drift of raters: the first half of their ratings against the second."""

from __future__ import annotations

import statistics
from statistics import NormalDist

import polars as pl
import pytest

from rankgate.data.qrels import Ratings
from rankgate.judging.agreement.agreement_tables import SCHEMA, drift


def rated(count, late):
    """Two who agree and one who adds ``late`` in the second half; the order is that of time."""
    rows = []
    for i in range(count):
        true = i % 3
        extra = late if i * 2 >= count else 0
        grades = {"ann": true, "bob": true + (i % 5 == 0), "cid": true + extra}
        rows += [("q", f"d{i}", rater, float(grade)) for rater, grade in grades.items()]
    schema = ["query_id", "doc_id", "rater", "grade"]
    return Ratings(pl.DataFrame(rows, schema=schema, orient="row"))


def test_who_drifts_is_found():
    by_rater = {row["rater"]: row for row in drift(rated(60, 1)).to_dicts()}
    assert by_rater["cid"]["drifts"]
    assert by_rater["cid"]["first_agreement"] > by_rater["cid"]["last_agreement"]
    assert by_rater["ann"]["change"] < 0 < by_rater["cid"]["change"]  # the others moved away from ann


def test_nobody_drifts_who_stays_the_same():
    assert not any(drift(rated(60, 0))["drifts"])


def test_the_interval_is_that_of_welch():
    count = 40
    row = drift(rated(count, 1)).filter(pl.col("rater") == "cid").row(0, named=True)
    bias = [(i % 3 + (i * 2 >= count)) - (i % 3 + i % 3 + (i % 5 == 0)) / 2 for i in range(count)]
    first, last = bias[: count // 2], bias[count // 2 :]
    assert row["first_bias"] == pytest.approx(statistics.fmean(first))
    assert row["last_bias"] == pytest.approx(statistics.fmean(last))
    z = NormalDist().inv_cdf(1 - 0.05 / 3 / 2)
    error = sum(statistics.variance(half) / len(half) for half in (first, last)) ** 0.5
    assert row["high"] - row["change"] == pytest.approx(z * error)


def test_few_ratings_say_nothing():
    result = drift(rated(12, 3))
    assert result.is_empty()
    assert dict(result.schema) == SCHEMA
