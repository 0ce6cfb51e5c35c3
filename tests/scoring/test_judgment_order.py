"""Judgments are laid out by query, the best grade first, equal grades in the order of the file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.data.qrels import Qrels
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex


@pytest.mark.parametrize(("levels", "rows"), [(1, 2_000), (4, 2_000), (70_000, 70_000)])
@pytest.mark.parametrize("queries", ["apart", "rising", "falling"])
def test_the_best_grade_comes_first_and_equal_ones_keep_their_order(levels, rows, queries):
    """Few levels are sorted in one number with the query and the row, many are not."""
    rng = np.random.default_rng(levels)
    names = [f"q{number}" for number in rng.integers(0, 90, rows)]
    if queries != "apart":
        names.sort(reverse=queries == "falling")
    grades = rng.integers(-1, levels, rows) / 4
    documents = [f"d{row}" for row in range(rows)]
    table = pl.DataFrame({"query_id": names, "doc_id": documents, "grade": grades})
    index = JudgmentIndex.from_judgments(Qrels(table))
    order = sorted(range(rows), key=lambda row: (names[row], -grades[row], row))
    assert index.doc_ids.to_list() == [documents[row] for row in order]
    assert index.grades.tolist() == [grades[row] for row in order]
    assert index.strings(np.array([5, 0])) == [documents[order[5]], documents[order[0]]]


def test_a_level_that_the_first_rows_lack_is_found():
    grades = np.zeros(100_000)
    grades[-1] = 2
    documents = [f"d{row}" for row in range(len(grades))]
    table = pl.DataFrame({"query_id": ["q"] * len(grades), "doc_id": documents, "grade": grades})
    assert JudgmentIndex.from_judgments(Qrels(table)).doc_ids[0] == documents[-1]
