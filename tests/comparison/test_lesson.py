"""The lesson: a change with +0.000 reciprocal rank that nDCG@4 detects."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankgate
from support.wording import assert_warned

PLACE = Path(__file__).parents[2] / "examples" / "engine-migration"
DATA = (PLACE / "qrels.txt", PLACE / "old.run", PLACE / "new.run")


def test_the_published_table_comes_out():
    result = rankgate.compare(*DATA, ["nDCG@4", "RR"])
    rows = result.metrics.select("baseline", "candidate", "delta").rows()
    assert rows[0] == pytest.approx((0.878, 0.974, 0.096), abs=5e-4)
    assert rows[1] == (1, 1, 0)


def test_the_one_query_that_lost_is_named():
    result = rankgate.compare(*DATA, ["nDCG@4"]).queries
    assert result.filter(result["delta"] < 0)["query_id"].to_list() == ["invoice"]
    assert result["baseline"][0] == 1
    assert result["candidate"][0] == pytest.approx(0.987, abs=5e-4)


def test_the_blindness_is_named():
    result = rankgate.blindspots(*DATA, ["RR", "nDCG@4"], page=4)
    assert result.seen.select("metric", "moved", "blind").rows() == [("RR", 0, 1.0), ("nDCG@4", 4, 0)]
    assert result.suggested == ("nDCG@4",)
    assert_warned(rankgate.compare(*DATA, ["RR"]))


def test_four_queries_are_no_proof():
    assert rankgate.gate(*DATA).verdict == "inconclusive"
