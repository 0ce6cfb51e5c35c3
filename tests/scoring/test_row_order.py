"""Scores in memory have no file order: every convention ranks them by score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import rankgate
from rankgate.core.present.write_results import render_result as render

if TYPE_CHECKING:
    from pathlib import Path

BY_FILE_ORDER = ("lenskit", "ntcir", "recmetrics", "rexmex")
METRIC = "P@10"
USERS, ITEMS = 60, 80


def world() -> tuple[np.ndarray, np.ndarray]:
    """Scores that are correlated with the labels, without ties within a user."""
    rng = np.random.default_rng(5)
    labels = (rng.random((USERS, ITEMS)) < 0.1).astype(float)
    return labels, labels + rng.normal(0, 0.5, (USERS, ITEMS))


def expected() -> float:
    """The same by NumPy alone."""
    labels, scores = world()
    top_items = np.argsort(-scores, axis=1)[:, :10]
    return float(np.take_along_axis(labels, top_items, 1).mean())


def forms() -> dict[str, object]:
    _, scores = world()
    users, items = (index_grid.ravel() for index_grid in np.indices(scores.shape))
    rows = {"user": users.astype(str), "item": items.astype(str), "score": scores.ravel()}
    frame = pl.DataFrame(rows)
    ranked = np.argsort(-scores, axis=1)
    return {
        "matrix": scores,
        "sparse": sparse.csr_matrix(scores),
        "frame": frame,
        "shuffled": frame.sample(fraction=1, shuffle=True, seed=1),
        "frame of ranks": frame.select("user", "item").with_columns(
            rank=pl.Series(1 + np.argsort(ranked, axis=1).ravel())
        ),
        "pandas": frame.to_pandas(),
        "dictionary": {
            str(user): {str(item): score for item, score in enumerate(row)}
            for user, row in enumerate(scores.tolist())
        },
        "lists": {str(user): [str(i) for i in row] for user, row in enumerate(ranked.tolist())},
        "padded": rankgate.Lists(ranked),
        "padded with scores": rankgate.Lists(np.broadcast_to(np.arange(ITEMS), scores.shape), values=scores),
    }


@pytest.mark.parametrize("convention", BY_FILE_ORDER)
@pytest.mark.parametrize("form", list(forms()))
def test_scores_in_memory_rank_by_score(convention: str, form: str) -> None:
    labels, _ = world()
    result = rankgate.evaluate(labels, forms()[form], [METRIC], convention=convention)
    assert result.means[METRIC][0] == pytest.approx(expected(), abs=1e-4)


@pytest.mark.parametrize("form", ["matrix", "shuffled", "dictionary", "padded with scores"])
def test_list_metrics_see_the_same_lists(form: str) -> None:
    labels, _ = world()
    names = ["Coverage@3", "Gini@3", "Entropy@3"]
    values = [
        [
            rankgate.evaluate(labels, forms()[form_name], names, convention="lenskit").means[name][0]
            for name in names
        ]
        for form_name in (form, "lists")
    ]
    assert values[0] == pytest.approx(values[1])


def test_a_file_ranks_by_its_rows(tmp_path: Path) -> None:
    run = tmp_path / "model.run"
    run.write_text("u Q0 bad 1 0.1 m\nu Q0 good 2 0.9 m\n")
    value = rankgate.evaluate({"u": {"good"}}, run, ["RR"], convention="lenskit").means["RR"][0]
    assert value == 0.5


def test_equal_scores_stand_in_the_order_of_rows() -> None:
    frame = pl.DataFrame({"user": ["u"] * 3, "item": ["a", "c", "b"], "score": [1.0, 2.0, 2.0]})
    for item, expected_rr in (("c", 1), ("b", 1 / 2), ("a", 1 / 3)):
        result = rankgate.evaluate({"u": {item}}, frame, ["RR"], convention="lenskit")
        assert result.means["RR"][0] == pytest.approx(expected_rr)


def test_explain_shows_the_same_ranking() -> None:
    frame = pl.DataFrame({"user": ["u"] * 2, "item": ["bad", "good"], "score": [0.1, 0.9]})
    result = rankgate.explain({"u": {"good": 1}}, frame, "u", "RR", convention="lenskit")
    assert result.value == 1.0


def test_rows_against_the_scores_are_counted(tmp_path: Path) -> None:
    run = tmp_path / "model.run"
    run.write_text("u Q0 bad 1 0.1 m\nu Q0 good 2 0.9 m\nv Q0 x 1 2 m\nv Q0 y 2 1 m\n")
    qrels = {"u": {"good"}, "v": {"x"}}
    by_rows = rankgate.evaluate(qrels, run, ["RR"], convention="lenskit")
    by_score = rankgate.evaluate(qrels, run, ["RR"], convention="trec")
    assert by_rows.to_dict()["runs"][0]["counts"]["against_scores"] == 1
    assert "against_scores" not in by_score.to_dict()["runs"][0]["counts"]


def test_the_text_says_so(tmp_path: Path) -> None:
    run = tmp_path / "model.run"
    run.write_text("u Q0 bad 1 0.1 m\nu Q0 good 2 0.9 m\n")
    result = rankgate.evaluate({"u": {"good"}}, run, ["RR"], convention="rexmex")
    assert "1 of 1 query is ranked by the order of its rows" in render(result, "text")
