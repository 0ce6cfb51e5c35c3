"""A convention that treats every judged item as relevant counts disliked items, and must warn."""

from __future__ import annotations

import numpy as np
import pytest

import rankgate
from rankgate.core.present.write_results import render_result as render

DISLIKED = {"u": {"good": 1, "bad": 0}, "v": {"bad": 0, "good": 1}}
RUN = {"u": {"bad": 2.0, "good": 1.0}, "v": {"good": 2.0, "bad": 1.0}}


def zeros(qrels: object, run: object, metrics: list[str], convention: str, *words: str) -> int:
    result = rankgate.evaluate(qrels, run, metrics, rankgate.convention(convention, words))
    return result.runs[0].counts.zeros_relevant


@pytest.mark.parametrize("metric", ["P@1", "R@1", "AP@2", "nDCG@2"])
def test_judgments_of_grade_0_that_count_are_counted(metric: str) -> None:
    assert zeros(DISLIKED, RUN, [metric], "recommenders") == 2
    assert zeros(DISLIKED, RUN, [metric], "trec") == 0


def test_a_dense_matrix_of_0_and_1_is_counted() -> None:
    labels = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert zeros(labels, labels + 0.5, ["P@2"], "recommenders") == 4


def test_what_the_user_asks_for_is_not_reported() -> None:
    assert zeros(DISLIKED, RUN, ["P(rel=0)@1"], "trec") == 0
    assert zeros(DISLIKED, RUN, ["P@1"], "recommenders", "P.rel=1") == 0
    assert zeros({"u": {"good": 1}}, RUN, ["P@1"], "recommenders") == 0


def test_the_remedy_gives_the_value_without_disliked_items() -> None:
    settings = ("P.rel=1", "R.rel=1", "AP.rel=1", "nDCG.gain=binary")
    metrics = ["P@1", "R@1", "AP@2", "nDCG@2"]
    mended = rankgate.evaluate(DISLIKED, RUN, metrics, rankgate.convention("recommenders", settings))
    liked = {user: {item for item, grade in row.items() if grade} for user, row in DISLIKED.items()}
    removed = rankgate.evaluate(liked, RUN, metrics, convention="recommenders")
    assert mended.means.row(0)[1:] == pytest.approx(removed.means.row(0)[1:])


def test_the_text_says_so() -> None:
    result = render(rankgate.evaluate(DISLIKED, RUN, ["P@1"], convention="recommenders"), "text")
    assert "2 judgments of grade 0 count as relevant" in " ".join(result.split())
