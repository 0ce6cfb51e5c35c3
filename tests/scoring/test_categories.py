"""Intent-aware metrics with categories of items: each category of relevant items is a subtopic."""

from __future__ import annotations

from math import log2

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data.collection import Collection, Items
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.recommenders.scorecard import scorecard

ITEMS = pl.DataFrame(
    {"item_id": ["a", "b", "c", "d", "e"], "genre": ["jazz|folk", "jazz", " rock ", "", None]}
)
QRELS = {"u": {"a": 1, "b": 1, "c": 1, "d": 0}, "v": {"d": 1}}
RUN = {"u": {"b": 3.0, "e": 2.0, "a": 1.0}, "v": {"d": 1.0}}
BESIDE = Items(ITEMS, category="genre")
METRICS = ["StRecall@3", "alpha_DCG(norm='none')@3", "ERR_IA(norm='none')@3", "P@3"]


def expected():
    """b covers jazz, a jazz and folk; rock is not shown. v likes an uncategorised item."""
    return {
        "StRecall@3": 2 / 3,
        "alpha_DCG(norm='none')@3": 1 + (0.5 + 1) / log2(4),
        "ERR_IA(norm='none')@3": (0.5 + (0.25 + 0.5) / 3) / 3,
    }


def test_the_scorecard_takes_categories_for_subtopics():
    result = scorecard(Collection(QRELS, items=BESIDE), {"mine": RUN}, METRICS, "trec", resamples=2)
    figures = dict(zip(result.figures["metric"], result.figures["value"], strict=True))
    for name, value in expected().items():
        assert figures[name] == pytest.approx(value / 2), name  # 0 for v
    assert figures["P@3"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert set(result.figures["about"]) == {"accuracy"}


def test_evaluate_does_so_too():
    result = evaluate(Collection(QRELS, items=BESIDE), RUN, METRICS).runs[0]
    for name, value in expected().items():
        assert result.per_query(name) == pytest.approx({"u": value, "v": 0.0}), name


def test_judgments_by_subtopic_go_before_categories():
    frame = pl.DataFrame(
        {"query_id": ["u", "u"], "subtopic": ["1", "2"], "doc_id": ["b", "c"], "grade": [1, 1]}
    )
    result = evaluate(Collection(frame, items=BESIDE), RUN, ["StRecall@3"]).runs[0]
    assert result.per_query("StRecall@3")["u"] == 1 / 2


def test_without_categories_there_are_no_subtopics():
    with pytest.raises(InputError) as error:
        evaluate(QRELS, RUN, ["StRecall@3"])
    assert error.value.code == "no-subtopics"
