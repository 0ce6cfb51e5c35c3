"""Distance and correlation of raters, and the model system × query × judge, through ``agree``."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from rankgate import agree, evaluate
from rankgate.judging.agreement import agreement_tables
from rankgate.judging.agreement.agree import RaterAgreement
from rankgate.judging.agreement.rater_resampling import resample_raters
from rankgate.measurement.stats.rater_agreement import (
    kendall_values,
    mean_absolute,
    pearson_values,
    spearman_values,
)
from rankgate.measurement.stats.variance_components import EFFECTS, crossed

RNG = np.random.default_rng(12)
GRADES = np.array([0.0, 1.0, 3.0, 10.0])


def _rated(queries=30, docs=6, raters=("ann", "bob", "eve")):
    rows = []
    for i in range(queries):
        for j in range(docs):
            truth = int(RNG.integers(0, 4))
            rows += [
                {
                    "query_id": f"q{i:02}",
                    "doc_id": f"d{j}",
                    "rater": rater,
                    "grade": float(np.clip(truth + RNG.integers(-1, 2), 0, 3)),
                }
                for rater in raters
            ]
    return pl.DataFrame(rows)


RATED = _rated()
RUNS = [{f"q{i:02}": {f"d{j}": float(RNG.normal()) for j in range(6)} for i in range(30)} for _ in range(2)]


def test_tables_of_grades_have_the_figures_of_the_grades_themselves():
    places = np.random.default_rng(1).integers(0, 4, (5, 2, 40))
    tables = np.zeros((5, 4, 4))
    for table, (first, second) in zip(tables, places, strict=True):
        np.add.at(table, (first, second), 1)
    coefficients = [
        measure(tables, GRADES)
        for measure in (mean_absolute, pearson_values, spearman_values, kendall_values)
    ]
    for i, (first, second) in enumerate(GRADES[places]):
        truth = (
            np.abs(first - second).mean(),
            stats.pearsonr(first, second).statistic,
            stats.spearmanr(first, second).statistic,
            stats.kendalltau(first, second).statistic,
        )
        assert [figures[i] for figures in coefficients] == pytest.approx(truth)


def test_a_rater_of_one_grade_has_no_correlation():
    table = np.zeros((1, 4, 4))
    table[0, 2] = 1
    for measure in (pearson_values, spearman_values, kendall_values):
        assert np.isnan(measure(table, GRADES)).all()
    assert mean_absolute(table, GRADES) == pytest.approx([(3 + 2 + 0 + 7) / 4])


def test_pairs_of_raters_and_queries_have_them():
    result = agree(RATED).found
    row = result.pairs.row(0, named=True)
    first_grades, second_grades = (
        RATED.filter(pl.col("rater") == row[role]).sort("query_id", "doc_id")["grade"].to_numpy()
        for role in ("first", "second")
    )
    assert row["mae"] == pytest.approx(np.abs(first_grades - second_grades).mean())
    assert row["spearman"] == pytest.approx(stats.spearmanr(first_grades, second_grades).statistic)
    assert row["kendall"] == pytest.approx(stats.kendalltau(first_grades, second_grades).statistic)
    assert row["kendall_low"] < row["kendall"] < row["kendall_high"]
    assert row["spearman_low"] < row["spearman"] < row["spearman_high"]
    first = RATED.filter(pl.col("query_id") == result.queries["query_id"][0])
    table = first.pivot(on="rater", index="doc_id", values="grade").drop("doc_id").to_numpy()
    gaps = [np.abs(table[:, i] - table[:, j]).mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert result.queries["mae"][0] == pytest.approx(np.mean(gaps))


def test_judges_are_a_crossed_effect_of_a_comparison():
    (component,) = resample_raters(RATED, *RUNS, ["nDCG@5"], draws=2).components
    values = np.empty((30, 2, 3))
    for k, rater in enumerate(("ann", "bob", "eve")):
        rater_grades = RATED.filter(pl.col("rater") == rater)
        for s, run in enumerate(RUNS):
            column = evaluate(rater_grades.drop("rater"), run, ["nDCG@5"]).runs[0].per_query("nDCG@5")
            values[:, s, k] = [column[f"q{i:02}"] for i in range(30)]
    truth = crossed(values)
    assert (component.queries, component.judges) == (30, ("ann", "bob", "eve"))
    assert (component.delta, component.low, component.high, component.p_value) == pytest.approx(
        (truth.delta[1], truth.low[1], truth.high[1], truth.p_value[1])
    )
    assert list(component.shares) == list(EFFECTS)
    assert sum(component.shares.values()) == pytest.approx(1)


def test_judges_with_little_in_common_are_left_out():
    sparse_grades = RATED.filter((pl.col("rater") != "eve") | (pl.col("query_id") < "q03"))
    (component,) = resample_raters(sparse_grades, *RUNS, ["nDCG@5"], draws=2).components
    assert (component.judges, component.left_out, component.queries) == (("ann", "bob"), ("eve",), 30)
    disjoint_grades = RATED.filter((pl.col("rater") == "ann") | (pl.col("query_id") < "q01"))
    assert resample_raters(disjoint_grades, *RUNS, ["nDCG@5"], draws=2).components == ()


def test_the_command_shows_them_and_json_keeps_them(tmp_path, run):
    RATED.write_csv(tmp_path / "ratings.csv")
    for name, ranking in zip(("a", "b"), RUNS, strict=True):
        (tmp_path / f"{name}.run").write_text(
            "".join(f"{q} Q0 {d} 0 {v} {name}\n" for q, docs in ranking.items() for d, v in docs.items())
        )
    arguments = ["agree", *(str(tmp_path / name) for name in ("ratings.csv", "a.run", "b.run"))]
    arguments += ["--draws", "2"]
    text = run(*arguments).out
    assert "system × query × judge" in text
    assert "Kendall's tau" in text
    values = json.loads(run(*arguments, "--format", "json").out)
    assert RaterAgreement.from_dict(values).to_dict() == values
    older = json.loads(json.dumps(values))
    del older["effect"]["components"]
    for row in older["pairs"]:
        del row["mae"], row["kendall"]
    assert RaterAgreement.from_dict(older).effect.components == ()


def test_raters_in_small_chunks_have_the_same_figures(monkeypatch):
    incomplete = RATED.sample(fraction=0.7, seed=3)
    expected_pairs = agree(incomplete).found.pairs
    monkeypatch.setattr(agreement_tables, "_CELLS", 1)
    assert_frame_equal(agree(incomplete).found.pairs, expected_pairs)
    ann, bob = (incomplete.filter(rater=name).drop("rater") for name in ("ann", "bob"))
    common_pairs = ann.join(bob, on=["query_id", "doc_id"], suffix="_bob")
    row = expected_pairs.filter(first="ann", second="bob").row(0, named=True)
    assert row["overlap"] == len(common_pairs)
    assert row["agreement"] == pytest.approx((common_pairs["grade"] == common_pairs["grade_bob"]).mean())
