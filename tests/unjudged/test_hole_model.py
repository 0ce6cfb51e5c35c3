"""What unjudged documents may be: the model of relevance, its draws, and the departure from it."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.decisions.unjudged.calibration import calibration
from rankgate.decisions.unjudged.hole_model import DEPARTURES, fit_relevance, model_holes
from rankgate.measurement.evaluation.scored_system import Scorer

TRUE = np.array([-0.5, -0.6, 1.0, 0.4, 0.5])


def documents(queries, each, rng, spread=0.8):
    """Features, queries and relevance by known coefficients and query effects."""
    query = np.repeat(np.arange(queries), each)
    rank = np.log(rng.integers(1, 21, query.size))
    kind = rng.integers(3, size=query.size)
    in_both, contrast = (kind == 2).astype(float), np.where(kind == 2, 0, kind - 0.5)
    higher = np.where(kind == 2, rng.normal(0, 0.7, query.size), 0.0)
    features = np.stack([np.ones_like(rank), rank, in_both, contrast, higher], axis=1)
    effect = rng.normal(0, spread, queries)
    odds = features @ TRUE + effect[query]
    return features, query, rng.random(query.size) < 1 / (1 + np.exp(-odds)), effect


def test_the_coefficients_that_data_were_drawn_by_are_found():
    features, query, relevant, effect = documents(400, 20, np.random.default_rng(1))
    model = fit_relevance(features, query, relevant)
    error = np.sqrt(np.diag(model.root @ model.root.T))
    assert (np.abs(model.coefficients - TRUE) < 4 * error + 0.05).all()
    assert model.spread == pytest.approx(0.8, abs=0.12)
    assert np.corrcoef(model.effects, effect)[0, 1] > 0.75


def test_drawn_parameters_hold_the_true_ones_as_often_as_they_say():
    coverage = []
    for seed in range(40):
        features, query, relevant, effect = documents(30, 12, np.random.default_rng([2, seed]))
        model = fit_relevance(features, query, relevant)
        log_odds = model.draw_log_odds(features, query, 400, np.random.default_rng(seed))
        low, high = np.quantile(log_odds, [0.05, 0.95], axis=1)
        true = features @ TRUE + effect[query]
        coverage.append(((low <= true) & (true <= high)).mean())
    assert np.mean(coverage) == pytest.approx(0.88, abs=0.06)  # the spread's own error is left out


def test_a_query_without_judgments_has_an_effect_of_its_own():
    features, query, relevant, _ = documents(50, 10, np.random.default_rng(3))
    model = fit_relevance(features, query, relevant)
    query_ids = np.array([50, 50, 51])
    log_odds = model.draw_log_odds(features[:3] * 0, query_ids, 4000, np.random.default_rng(4))
    assert log_odds.std(axis=1) == pytest.approx(model.spread, rel=0.05)
    assert (log_odds[0] == log_odds[1]).all()
    assert abs(np.corrcoef(log_odds[0], log_odds[2])[0, 1]) < 0.06


@pytest.mark.parametrize("answer", [True, False])
def test_where_all_or_none_is_relevant_a_model_is_fitted_still(answer):
    features, query, _, _ = documents(5, 8, np.random.default_rng(5))
    model = fit_relevance(features, query, np.full(40, answer))
    odds = model.log_odds(features, query)
    assert np.isfinite(odds).all()
    assert ((odds > 0) == answer).mean() > 0.8


def partly_judged(seed, queries=40, share=0.5):
    """Two systems; grades are coins by rank; a share of what they show is not judged."""
    rng = np.random.default_rng(seed)
    names = [f"d{j}" for j in range(12)]
    qrels, runs = {}, ({}, {})
    for i in range(queries):
        grade = rng.choice([0, 0, 1, 2], size=12)
        qrels[f"q{i}"] = {d: int(g) for d, g in zip(names, grade, strict=True)}
        for favour, run in zip((0.2, 0.6), runs, strict=True):
            score = rng.normal(0, 1, 12) + favour * grade
            run[f"q{i}"] = {d: float(s) for d, s in zip(names, score, strict=True)}
    available_qrels = {
        q: {d: g for d, g in grades.items() if rng.random() > share or d == "d0"}
        for q, grades in qrels.items()
    }
    return qrels, available_qrels, *runs


def holes_of(left, one, two):
    scorer = Scorer.from_metrics(left, ["nDCG@10"])
    return model_holes(scorer.scored(one), scorer.scored(two))


def test_a_departure_widens_the_draws_and_is_distinguished():
    holes = holes_of(*partly_judged(6)[1:])
    plain, none = holes.draw_grades(600, 0, "random")
    pooled, all_departed = holes.draw_grades(600, 0, "pooled")
    mixed_grades, half = holes.draw_grades(600, 0)
    assert (none.sum(), all_departed.sum(), half.sum()) == (0, 600, 300)
    one_sided = holes.table["rank_baseline"].is_null().to_numpy()
    odds = [
        np.log(share / (1 - share))
        for grades in (plain, pooled, mixed_grades[:, half])
        for share in [(grades[one_sided] > 0).mean()]
    ]
    assert odds[1] - odds[0] == pytest.approx(DEPARTURES["pooled"][0], abs=0.2)
    assert odds[2] == pytest.approx(odds[1], abs=0.1)
    means = [(grades[one_sided] > 0).mean(axis=0) for grades in (plain, mixed_grades)]
    assert means[1].std() > 1.1 * means[0].std()
    assert set(np.unique(mixed_grades)) <= set(holes.grades)


def test_chances_are_those_of_many_draws():
    holes = holes_of(*partly_judged(7)[1:])
    np.testing.assert_allclose(holes.chances.sum(axis=1), 1)
    drawn_grades, _ = holes.draw_grades(4000, 1, "random")
    share = np.stack([(drawn_grades == grade).mean(axis=1) for grade in holes.grades], axis=1)
    assert np.abs(share - holes.chances).max() < 0.08


def test_intervals_of_draws_hold_the_truth():
    covered = []
    for seed in range(12):
        full_qrels, available_qrels, baseline, candidate = partly_judged([8, seed])
        row = rankgate.holes(available_qrels, baseline, candidate, ["nDCG@10"], draws=200).metrics.row(
            0, named=True
        )
        truth = rankgate.compare(full_qrels, baseline, candidate, ["nDCG@10"]).metrics["delta"][0]
        covered.append(row["low"] <= truth <= row["high"])
        assert row["worst"] <= row["low"] <= row["expected"] <= row["high"] <= row["best"]
        assert row["flip"] == pytest.approx((row["flip_random"] + row["flip_pooled"]) / 2)
    assert np.mean(covered) >= 0.8  # make validity tests 95 %


def test_a_known_selection_takes_all_draws():
    _, available_qrels, baseline, candidate = partly_judged(5)
    row, half = (
        rankgate.holes(
            rankgate.Collection(available_qrels, selection=selection), baseline, candidate, ["nDCG@10"]
        ).metrics.row(0, named=True)
        for selection in ("pooled", "unknown")
    )
    assert row["flip_random"] is None
    assert row["flip_pooled"] == row["flip"]
    assert row["expected"] != half["expected"]


def test_holes_know_the_direction_of_a_metric():
    """RBPResid falls with every document that is judged: less is better, so all judged is best."""
    _, available_qrels, baseline, candidate = partly_judged(9)
    row = rankgate.holes(available_qrels, baseline, candidate, ["RBPResid@10"], "ir_measures").metrics.row(
        0, named=True
    )
    assert row["worst"] >= row["high"] >= row["low"] >= row["best"]


def test_where_queries_do_not_differ_guesses_are_as_good_as_the_share_of_all():
    """Grades are coins of 0.4 for every query: no prediction is better than p(1 − p)."""
    rng = np.random.default_rng(4)
    names = [f"d{j}" for j in range(8)]
    qrels = {f"q{i}": {d: int(rng.random() < 0.4) for d in names} for i in range(150)}
    old = {q: {d: 8.0 - j for j, d in enumerate(names)} for q in qrels}
    new = {q: {d: float(j) for j, d in enumerate(names)} for q in qrels}
    model_error, best_error = calibration(qrels, old, new, "P@8", experiments=0).brier["relevance"]
    assert model_error < best_error + 0.005


def test_without_a_judged_document_every_grade_is_zero():
    holes = holes_of({"q": {"x": 1}}, {"q": {"a": 2.0}}, {"q": {"b": 2.0}})
    assert isinstance(holes.table, pl.DataFrame)
    assert not holes.draw_grades(5, 0)[0].any()


@pytest.mark.parametrize("kind", ["holes", "calibration"])
def test_results_make_the_round_trip_in_every_form(kind):
    full_qrels, available_qrels, baseline, candidate = partly_judged(3)
    if kind == "holes":
        result = rankgate.holes(available_qrels, baseline, candidate, ["nDCG@10"])
    else:
        result = calibration(full_qrels, baseline, candidate, experiments=2)
    restored = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.to_dict() == result.to_dict()
    assert result.to_dict()["kind"] == kind
    for form in FORMS:
        assert render_result(restored, form) == render_result(result, form)
