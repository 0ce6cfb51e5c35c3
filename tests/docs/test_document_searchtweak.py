"""SearchTweak's page of metrics: its exports, names, null values, transformers and checklist."""

from __future__ import annotations

import json
from math import log2

import polars as pl
import pytest

import rankgate
from rankgate.data.qrels import Ratings
from rankgate.judging.resolution.rated_evaluation import from_ratings
from support.wording import raises


@pytest.fixture
def export(tmp_path):
    """The answer of the API for the graded lists of keywords; null is ungraded."""

    def write(lists, *, null_rows=True):
        rows = [
            {"grade": grade, "keyword": keyword, "position": position, "doc": f"{keyword}-{position}"}
            for keyword, grades in lists.items()
            for position, grade in enumerate(grades, 1)
            if null_rows or grade is not None
        ]
        path = tmp_path / "judgements.json"
        path.write_text(json.dumps(rows))
        return path

    return write


def means(path, *metrics):
    return rankgate.evaluate(path, path, metrics, "searchtweak").runs[0].means


@pytest.mark.parametrize("null_rows", [True, False])
@pytest.mark.parametrize(
    ("metric", "lists", "expected"),
    [
        ("P@10", {"q": [1, None, 0, None]}, 1 / 2),  # the denominator is the graded positions
        ("AP@10", {"q": [1, 0, 1, 0, 1]}, (1 + 2 / 3 + 3 / 5) / 3),
        ("AP@10", {"q": [None, 1]}, 1 / 2),  # inside AP an ungraded position is irrelevant
        ("AP@10", {"q": [0, 0]}, 0),
        ("RR@10", {"q": [None, 0, 1]}, 1 / 3),
        ("CG@10", {"q": [3, None, 2]}, 5),
        ("DCG@10", {"q": [3, None, 2]}, 3 + 2 / log2(4)),
        ("nDCG@10", {"q": [1, 1, 1]}, 1),  # the ideal list is the same gains sorted
        ("nDCG@10", {"q": [0, 3]}, 1 / log2(3)),
        ("nDCG@10", {"q": [0, 0]}, 0),
        ("CG(d)@10", {"q": [10, 4]}, 14),
        ("DCG(d)@10", {"q": [4, 10]}, 4 + 10 / log2(3)),
        ("nDCG(d)@10", {"q": [1, 10]}, (1 + 10 / log2(3)) / (10 + 1 / log2(3))),
        ("MP@10", {"q": [1, 0], "r": [1]}, 3 / 4),
        ("MAP@10", {"q": [1, 0, 1], "r": [0, 1]}, (5 / 6 + 1 / 2) / 2),
        ("MRR@10", {"q": [0, 1], "r": [1]}, 3 / 4),
    ],
)
def test_the_formulas_on_its_own_export(export, metric, lists, expected, null_rows):
    assert means(export(lists, null_rows=null_rows), metric)[metric] == pytest.approx(expected)


def test_a_keyword_without_a_grade_leaves_the_mean(export):
    path = export({"q": [1, 0], "nothing": [None, None]})
    assert means(path, "MP@10", "MAP@10", "MRR@10") == {"MP@10": 0.5, "MAP@10": 1.0, "MRR@10": 1.0}


@pytest.mark.parametrize("positions", [(1, 1), (1, 10**30), (1, 10**9), (0, 1)])
def test_positions_that_are_no_ranks_make_no_list(tmp_path, positions):
    pairs = zip(positions, "ab", strict=True)
    rows = [{"grade": 1, "keyword": "q", "position": position, "doc": doc} for position, doc in pairs]
    (tmp_path / "two.json").write_text(json.dumps(rows))
    with raises("no-rankings"):
        rankgate.evaluate(tmp_path / "two.json", tmp_path / "two.json", ["P@10"], "searchtweak")


def rated(*lists):
    rows = [
        ("q", f"d{position}", f"rater {number}", grade)
        for position, grades in enumerate(lists)
        for number, grade in enumerate(grades)
    ]
    schema = {"query_id": pl.String, "doc_id": pl.String, "rater": pl.String, "grade": pl.Float64}
    return Ratings(pl.DataFrame(rows, schema=schema, orient="row"))


@pytest.mark.parametrize(
    ("scale", "grades", "metric", "expected"),
    [
        ("binary", [0, 1], "CG@10", [0, 3]),
        ("binary", [0, 1], "CG(d)@10", [1, 10]),
        ("graded", [0, 1, 2, 3], "P@10", [0, 1, 1, 1]),
        ("graded", [0, 1, 2, 3], "CG(d)@10", [1, 4, 7, 10]),
        ("detail", range(1, 11), "P@10", [0, *[1] * 9]),
        ("detail", range(1, 11), "CG@10", [0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
    ],
)
def test_each_grade_is_transformed_to_the_scale_of_the_metric(scale, grades, metric, expected):
    for grade, gain in zip(grades, expected, strict=True):
        (part,) = from_ratings(rated([float(grade)]), {"q": ["d0"]}, [metric], scale=scale).parts
        assert part.evaluation.runs[0].means[metric] == gain


def test_the_checklist_is_part_of_the_output():
    ratings = rated([1.0, 0.0], [1.0, 1.0, 0.0], [0.0])
    runs = {"old": {"q": ["d0", "d1", "d2"]}, "new": {"q": ["d1", "other", "d2", "another"]}}
    text = " ".join(str(from_ratings(ratings, runs, ["MAP@10"], scale="binary")).split())
    assert "the same 1 judged query in all runs" in text
    assert "66.7%, 50.0% of the first 10 have a grade: a small change can come from the others" in text
    assert "3 pairs, 1 tie without a grade (33.3%)" in text


def test_another_set_of_keywords_is_said():
    ratings = rated([1.0])
    second = ratings.table.with_columns(query_id=pl.lit("r"))
    runs = {"old": {"q": ["d0"], "r": ["d0"]}, "new": {"q": ["d0"]}}
    result = from_ratings(Ratings(pl.concat([ratings.table, second])), runs, ["P@10"], scale="binary")
    text = str(result)
    assert "2 judged queries; new lacks 1" in text
    assert "have a grade" not in text
    assert "2 pairs, 0 ties without a grade (0.0%)" in text
    assert str(type(result).from_dict(result.to_dict(per_query=True))) == text
