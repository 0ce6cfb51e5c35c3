"""Systems with several seeds on a scorecard: means, spread, intervals over users and seeds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankgate
from rankgate.core.present.write_results import render_result
from rankgate.data import read_run
from rankgate.measurement.stats.resampled_values import ResampledValues
from rankgate.recommenders.scorecard import Scorecard, scorecard
from rankgate.recommenders.scorecard_figures import with_seeds
from support.command import assert_refused
from support.wording import assert_warned

USERS, ITEMS = 80, 15
QRELS = {f"u{u:02d}": {f"i{u % 7}": 1, f"i{u % 8 + 7}": 1} for u in range(USERS)}
METRICS = ["nDCG@5", "Coverage@1", "Gini@3", "ILD@3"]
ITEMS_TABLE = {"item": [f"i{i}" for i in range(ITEMS)], "x": [float(i % 4) for i in range(ITEMS)]}


def run_of(seed, noise):
    """Relevant items are higher, with noise and a taste for some items that the seed draws."""
    rng = np.random.default_rng(seed)
    taste = 0.5 * rng.standard_normal(ITEMS)
    return {
        user: {
            f"i{i}": float((f"i{i}" in relevant) + taste[i] + noise * rng.standard_normal())
            for i in range(ITEMS)
        }
        for user, relevant in QRELS.items()
    }


KNN = [run_of(seed, 0.9) for seed in range(3)]
BPR = [run_of(seed, 0.5) for seed in range(10, 14)]
USERS_TABLE = {"user": list(QRELS), "part": ["new" if u % 3 else "old" for u in range(USERS)]}
COLLECTION = rankgate.Collection(QRELS, items=rankgate.Items(ITEMS_TABLE, features=["x"]), users=USERS_TABLE)


def card(knn=KNN, bpr=BPR, **settings):
    systems = {"knn": read_run(knn[0], seeds=knn[1:]), "bpr": read_run(bpr[0], seeds=bpr[1:])}
    return scorecard(COLLECTION, systems, METRICS, **settings)


@pytest.fixture(scope="module")
def result():
    return card()


def test_values_are_means_over_seeds_with_their_spread(result):
    assert result.systems == ("knn", "bpr")
    for name, runs in (("knn", KNN), ("bpr", BPR)):
        singles = [scorecard(COLLECTION, {"one": run}, METRICS) for run in runs]
        for metric in METRICS:
            values = np.array([single["one", metric] for single in singles])
            assert result[name, metric] == pytest.approx(values.mean())
            row = result.seeds.filter(system=name, metric=metric).row(0, named=True)
            assert (row["seeds"], row["sd"]) == (len(runs), pytest.approx(values.std(ddof=1)))
            assert (row["lowest"], row["highest"]) == (
                pytest.approx(values.min()),
                pytest.approx(values.max()),
            )


def test_differences_are_those_of_compare(result):
    knn, bpr = (read_run(first, seeds=others) for first, *others in (KNN, BPR))
    expected = rankgate.compare(QRELS, knn, bpr, ["nDCG@5"]).metrics.row(0, named=True)
    row = result.differences.row(0, named=True)
    for name in ("delta", "low", "high", "p_raw"):
        assert row[name] == pytest.approx(expected[name])


def test_equal_seeds_are_one_run():
    alone = scorecard(COLLECTION, {"knn": KNN[0], "bpr": BPR[0]}, METRICS, slices=["x", "part"])
    equal = card([KNN[0]] * 3, [BPR[0]] * 3, slices=["x", "part"])
    columns = {"figures": ["value", "low", "high"], "differences": ["low", "high", "p_raw"]}
    columns |= {"slices": ["value", "delta_low", "delta_high"], "gaps": ["gap", "low", "high"]}
    for name in columns:
        table, expected = getattr(equal, name), getattr(alone, name)
        for column in columns[name]:
            assert table[column].to_list() == pytest.approx(expected[column].to_list(), nan_ok=True), column


def test_numbers_of_all_lists_are_less_sure_with_seeds(result):
    alone = scorecard(COLLECTION, {"knn": KNN[0], "bpr": BPR[0]}, METRICS)
    wide, narrow = (
        table.filter(system="bpr", metric="Gini@3").select("low", "high").row(0)
        for table in (result.differences, alone.differences)
    )
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_the_test_of_resampled_numbers_keeps_its_level():
    """Two equal systems of three and five seeds: p < 0.05 at most 5% of the time."""
    rng, trials, rejected, over_users = np.random.default_rng(3), 500, 0, 0
    for _ in range(trials):
        numbers = [rng.standard_normal(count) for count in (3, 5)]
        delta = numbers[1].mean() - numbers[0].mean() + rng.standard_normal()
        resampled = ResampledValues(rng.standard_normal(400), np.array([0.0, 1.0]))
        rejected += with_seeds(resampled, numbers, 0.95).chance(delta) < 0.05
        over_users += resampled.chance(delta) < 0.05
    limit = 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / trials)
    assert rejected / trials < limit < over_users / trials


def test_stored_shown_and_warned(result):
    assert Scorecard.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert "Between seeds" in render_result(result, "text")
    few = scorecard(COLLECTION, {"knn": KNN[0], "bpr": read_run(BPR[0], seeds=BPR[1:2])}, METRICS[:2])
    assert_warned(few)
    assert few.differences["p_raw"].to_list() == [None, None]


def test_the_command_tells_seeds_by_their_names(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{u} 0 {i} 1\n" for u, items in QRELS.items() for i in items)
    )
    runs = {"popular": run_of(99, 5.0)} | {f"bpr-s{i}": bpr for i, bpr in enumerate(BPR)}
    for name, rankings in runs.items():
        lines = [f"{u} Q0 {i} 0 {score} x\n" for u, items in rankings.items() for i, score in items.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    files = [f"{name}.run" for name in runs]
    result = run("scorecard", "qrels.txt", *files, "--seeds", "-s", "-m", "nDCG@5", "--format", "json")
    values = json.loads(result.out)
    assert values["systems"] == ["popular", "bpr"]
    assert [row["seeds"] for row in values["seeds"]] == [4]
    assert_refused(run("scorecard", "qrels.txt", *files, "--seeds", ".seed"), "unknown-choice")
