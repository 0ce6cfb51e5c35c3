"""Systems that were trained with several seeds: means, spread, refusals, and the option --seeds."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankgate
from rankgate.core.present.write_results import render_result
from rankgate.data import read_run
from rankgate.data.spark_tables import run_on_spark
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.stats.seed_variance import SeedVariance, seed_factor
from support.command import assert_refused
from support.wording import assert_warned, raises

USERS, ITEMS = 60, 12
QRELS = {f"u{u:02d}": {f"i{u % 7}": 1, f"i{u % 5 + 7}": 1} for u in range(USERS)}


def run_of(seed, noise):
    """The scores of a model: relevant items are higher, with noise that the seed draws."""
    rng = np.random.default_rng(seed)
    noise *= np.exp(0.5 * rng.standard_normal())
    return {
        user: {f"i{i}": float((f"i{i}" in relevant) + noise * rng.standard_normal()) for i in range(ITEMS)}
        for user, relevant in QRELS.items()
    }


KNN = [run_of(seed, 1.0) for seed in range(3)]
BPR = [run_of(seed, 0.6) for seed in range(10, 14)]


def values_of(runs, metric="nDCG@5"):
    """``(n, R)`` values of users by seeds, in the order of users."""
    tables = [evaluate(QRELS, run, [metric]).values.sort("query_id") for run in runs]
    return np.stack([table["value"].to_numpy() for table in tables], axis=1)


def compared(*metrics, **settings):
    knn, bpr = (read_run(first, seeds=others) for first, *others in (KNN, BPR))
    return compare(QRELS, {"knn": knn, "bpr": bpr}, metrics or ["nDCG@5"], **settings)


def test_values_are_means_over_seeds_and_the_interval_is_over_users_and_seeds():
    knn, bpr = values_of(KNN), values_of(BPR)
    row = compared().metrics.row(0, named=True)
    assert (row["baseline"], row["candidate"]) == (pytest.approx(knn.mean()), pytest.approx(bpr.mean()))
    delta = bpr.mean(axis=1) - knn.mean(axis=1)
    assert row["sd"] == pytest.approx(delta.std(ddof=1))
    error = delta.std(ddof=1) / np.sqrt(USERS)
    seeds = [SeedVariance.from_values(values) for values in (knn, bpr)]
    total = np.sqrt(error**2 + sum(system.variance for system in seeds))
    degrees = seed_factor(error**2, USERS - 1, seeds, 0.95)[1]
    assert total > 1.2 * error
    half_width = stats.t.ppf(0.975, degrees) * total
    assert (row["low"], row["high"]) == pytest.approx((delta.mean() - half_width, delta.mean() + half_width))
    assert row["p_raw"] == pytest.approx(2 * stats.t.sf(delta.mean() / total, degrees))
    assert row["wins"] + row["ties"] + row["losses"] == USERS
    assert (row["mde"], row["needed"]) == (None, None)


def test_the_table_of_seeds_has_the_spread():
    table = compared().only.seeds
    knn, bpr = (values_of(runs).mean(axis=0) for runs in (KNN, BPR))
    assert table.select("system", "seeds").rows() == [("knn", 3), ("bpr", 4)]
    assert table["sd"].to_list() == pytest.approx([knn.std(ddof=1), bpr.std(ddof=1)])
    assert table["lowest"].to_list() == pytest.approx([knn.min(), bpr.min()])
    assert table["highest"].to_list() == pytest.approx([knn.max(), bpr.max()])
    assert 0 < table["share"].sum() < 1


def test_equal_seeds_change_nothing():
    same = [read_run(KNN[0], seeds=[KNN[0]] * 2), read_run(BPR[0], seeds=[BPR[0]] * 2)]
    columns = ["baseline", "candidate", "delta", "low", "high", "p_raw", "p_value"]
    with_seeds = compare(QRELS, *same, ["nDCG@5", "RR"]).metrics.select(columns)
    alone = compare(QRELS, KNN[0], BPR[0], ["nDCG@5", "RR"]).metrics.select(columns)
    for row, expected in zip(with_seeds.iter_rows(), alone.iter_rows(), strict=True):
        assert row == pytest.approx(expected)


def test_a_slice_has_its_own_spread():
    parts = {user: "even" if int(user[1:]) % 2 == 0 else "odd" for user in QRELS}
    tags = pl.DataFrame({"query_id": list(parts), "part": list(parts.values())})
    knn, bpr = (read_run(first, seeds=others) for first, *others in (KNN, BPR))
    result = compare(rankgate.Collection(QRELS, tags=tags), knn, bpr, ["nDCG@5"], slices=["part"]).only
    even = {user: items for user, items in QRELS.items() if parts[user] == "even"}
    expected = compare(even, knn, bpr, ["nDCG@5"]).metrics.row(0, named=True)
    row = result.slices.filter(value="even").row(0, named=True)
    assert [row[name] for name in ("delta", "low", "high")] == pytest.approx(
        [expected[name] for name in ("delta", "low", "high")]
    )
    assert result.interactions.is_empty()


def test_two_seeds_have_no_interval_and_one_run_is_warned_about():
    result = compare(QRELS, {"knn": KNN[0], "bpr": read_run(BPR[0], seeds=BPR[1:2])}, ["nDCG@5"])
    row = result.metrics.row(0, named=True)
    assert (row["low"], row["high"], row["p_value"]) == (None, None, None)
    assert row["delta"] == pytest.approx(values_of(BPR[:2]).mean() - values_of(KNN[:1]).mean())
    assert_warned(result)


def test_stored_and_shown_as_mean_and_spread():
    result = compared("nDCG@5", "RR")
    assert Comparisons.from_dict(json.loads(json.dumps(result.to_dict()))).only.seeds.equals(
        result.only.seeds
    )
    assert "between seeds" in render_result(result, "text")
    knn, bpr = (read_run(first, seeds=others) for first, *others in (KNN, BPR))
    three = compare(QRELS, {"chance": run_of(99, 9.0), "knn": knn, "bpr": bpr}, ["nDCG@5"])
    means = values_of(BPR).mean(axis=0)
    latex = render_result(three, "latex")
    assert f"{means.mean():.4f}±{means.std(ddof=1):.4f}" in latex
    assert three.many is None
    assert "other pairs are not tested" in latex
    assert "Values are means over seeds" in render_result(three, "text")


def test_several_data_sets_have_the_spread_of_each():
    knn, bpr = (read_run(first, seeds=others) for first, *others in (KNN, BPR))
    half = {user: items for user, items in QRELS.items() if int(user[1:]) % 2}
    data_sets = {"all": QRELS, "half": half}
    comparisons = {
        name: compare(qrels, {"knn": knn, "bpr": bpr}, ["nDCG@5"]) for name, qrels in data_sets.items()
    }
    result = rankgate.DataSetComparison.from_comparisons(comparisons)
    sd = [row["sd"] for comparison in comparisons.values() for row in comparison.only.seeds.to_dicts()]
    assert result.values["sd"].to_list() == pytest.approx(sd)
    assert f"±{sd[0]:.4f}" in render_result(result, "latex")
    one_run = {
        name: compare(qrels, {"knn": KNN[0], "bpr": BPR[0]}, ["nDCG@5"]) for name, qrels in data_sets.items()
    }
    assert "±" not in render_result(rankgate.DataSetComparison.from_comparisons(one_run), "text")


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "randomization"},
        {"interval": "bca"},
        {"margin": 0.01},
        {"wanted": 0.01},
        {"relative": True},
    ],
)
def test_methods_that_do_not_count_seeds_are_refused(settings):
    with raises("conflicting-options"):
        compared(test=Test(**settings))


def test_clusters_are_refused():
    tags = pl.DataFrame({"query_id": list(QRELS), "cluster": [str(u // 2) for u in range(USERS)]})
    knn, bpr = (read_run(first, seeds=others) for first, *others in (KNN, BPR))
    with raises("conflicting-options"):
        compare(rankgate.Collection(QRELS, tags=tags), knn, bpr, ["nDCG@5"])


def test_lists_of_all_users_together_are_refused():
    with raises("missing-part"):
        compared("nDCG@5", "Coverage@5")


def test_seeds_of_other_queries_are_refused():
    lacking = {user: items for user, items in KNN[1].items() if user != "u07"}
    for convention in ("trec", "pytrec_eval"):  # which counts only queries of the run
        with raises("values-differ"):
            compare(QRELS, read_run(KNN[0], seeds=[lacking]), BPR[0], ["nDCG@5"], convention)


def test_verbs_that_do_not_tell_seeds_apart_refuse_them():
    with raises("unused-option"):
        evaluate(QRELS, {"knn": read_run(KNN[0], seeds=KNN[1:])}, ["RR"])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{user} 0 {item} 1\n" for user, items in QRELS.items() for item in items)
    )
    runs = {"popular": run_of(99, 9.0)}
    runs |= {f"knn.seed{i}": run for i, run in enumerate(KNN)} | {
        f"bpr.seed{i}": run for i, run in enumerate(BPR)
    }
    for name, run in runs.items():
        lines = [
            f"{user} Q0 {item} 0 {score} x\n" for user, items in run.items() for item, score in items.items()
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return [f"{name}.run" for name in runs]


def test_the_command_tells_seeds_by_their_names(run, files):
    result = run("compare", "qrels.txt", *files, "--seeds", ".seed", "-m", "nDCG@5", "--format", "json")
    first, second = json.loads(result.out)["comparisons"]
    assert [first["baseline"]["name"], first["candidate"]["name"]] == ["popular", "knn"]
    assert [row["seeds"] for row in second["seeds"]] == [4]
    assert second["metrics"][0]["candidate"] == pytest.approx(values_of(BPR).mean())


def test_a_mark_that_no_name_has_is_refused(run, files):
    assert_refused(run("compare", "qrels.txt", *files, "--seeds", ".fold"), "unknown-choice")
    assert_refused(run("compare", "--scores", "a.csv", "--seeds", ".fold"), "conflicting-options")


def test_seeds_are_not_put_together_on_spark():
    system = read_run(KNN[0], seeds=KNN[1:])
    for values in ([QRELS, system], [QRELS, BPR[0], [system]], [QRELS, {"knn": system}]):
        with raises("on-spark"):
            run_on_spark("compare", *values)
