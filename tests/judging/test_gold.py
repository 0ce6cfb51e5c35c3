"""Gold labels under blind ratings: planted errors are found, and are no ambiguous pairs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from rankgate.core.errors import InputError, UsageError
from rankgate.data import Qrels
from rankgate.data.qrels import Ratings
from rankgate.judging.gold_check import AMBIGUOUS, CONFIRMED, OPEN, WRONG, check_gold, draw_gold
from support.command import assert_refused
from support.wording import raises

QUERIES, DOCUMENTS = 40, 10


def pairs():
    return [(f"q{i:02}", f"d{j}") for i in range(QUERIES) for j in range(DOCUMENTS)]


def labelled(grades, name="gold"):
    rows = [(q, d, float(g)) for (q, d), g in zip(pairs(), grades.ravel(), strict=True)]
    return Qrels(pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row"), name)


def rated(by_rater):
    rows = [
        (q, d, rater, float(g))
        for rater, grades in by_rater.items()
        for (q, d), g in zip(pairs(), grades.ravel(), strict=True)
    ]
    names = ["query_id", "doc_id", "rater", "grade"]
    return Ratings(pl.DataFrame(rows, schema=names, orient="row"))


@pytest.fixture
def truth():
    return np.random.default_rng(5).integers(0, 4, (QUERIES, DOCUMENTS))


def statuses(result):
    return {(row["query_id"], row["doc_id"]): row["status"] for row in result.labels.iter_rows(named=True)}


def test_a_wrong_label_is_no_ambiguous_one(truth):
    gold = truth.copy()
    gold[:, 0] = (gold[:, 0] + 2) % 4  # a wrong label in each query
    hard = truth.copy()
    hard[:, 1] = (hard[:, 1] + 1) % 4  # two raters, of four, see another grade
    raters = {"ann": truth, "bob": truth, "eve": hard, "sam": hard}
    result = check_gold(labelled(gold), rated(raters))
    expected = dict.fromkeys(pairs(), CONFIRMED)
    expected |= {(f"q{i:02}", "d0"): WRONG for i in range(QUERIES)}
    expected |= {(f"q{i:02}", "d1"): AMBIGUOUS for i in range(QUERIES)}
    assert statuses(result) == expected
    wrong = result.labels.filter(status=WRONG)
    assert wrong["grade"].to_list() == truth[:, 0].astype(float).tolist()
    assert result.shares.select("status", "pairs").rows() == [
        (WRONG, QUERIES),
        (AMBIGUOUS, QUERIES),
        (CONFIRMED, QUERIES * 8),
    ]
    assert result.shares["share"].to_list() == pytest.approx([0.1, 0.1, 0.8])


def test_the_interval_is_that_of_means_of_queries(truth):
    wrong = np.random.default_rng(6).random(truth.shape) < 0.2
    gold = np.where(wrong, (truth + 1) % 4, truth)
    row = check_gold(labelled(gold), rated({"ann": truth, "bob": truth})).shares.row(0, named=True)
    means = wrong.mean(axis=1)
    ends = t.interval(0.95, QUERIES - 1, means.mean(), means.std(ddof=1) / np.sqrt(QUERIES))
    assert row["share"] == pytest.approx(wrong.mean())
    assert (row["low"], row["high"]) == pytest.approx(ends, rel=1e-9)


def test_the_error_of_raters_and_what_it_does_by_chance_are_recovered():
    """Raters err in 15 % of the pairs, on a scale of four; all labels are right."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 4, (QUERIES, DOCUMENTS))

    def blind():
        errs = rng.random(truth.shape) < 0.15
        return np.where(errs, (truth + rng.integers(1, 4, truth.shape)) % 4, truth)

    results = [check_gold(labelled(truth), rated({name: blind() for name in "abc"})) for _ in range(20)]
    assert np.mean([result.error for result in results]) == pytest.approx(0.15, abs=0.01)
    looked_wrong = [result.labels.filter(status=WRONG).height for result in results]
    # three of three at 75 %: 3 (e/3)³ of 400 pairs
    assert np.mean([result.by_chance for result in results]) == pytest.approx(400 * 3 * 0.05**3, rel=0.25)
    assert np.mean(looked_wrong) == pytest.approx(400 * 3 * 0.05**3, abs=0.5)


def test_a_majority_of_half_decides_nothing_and_one_rating_is_open(truth):
    wrong_grades = (truth + 1) % 4
    result = check_gold(labelled(truth), rated({"ann": truth, "bob": wrong_grades}), majority=0.5)
    assert set(result.labels["status"]) == {AMBIGUOUS}
    single_result = check_gold(labelled(truth), rated({"ann": wrong_grades}))
    assert set(single_result.labels["status"]) == {OPEN}
    assert single_result.error is None
    assert len(single_result.cautions) == 1


def test_raters_who_copy_the_gold_are_named(truth):
    assert check_gold(labelled(truth), rated({"ann": truth, "bob": truth})).cautions
    almost = truth.copy()
    almost[0, 0] = (almost[0, 0] + 1) % 4
    assert not check_gold(labelled(truth), rated({"ann": truth, "bob": almost})).cautions


def test_the_last_rating_of_a_rater_counts_and_skipped_ones_do_not(truth):
    first = rated({"ann": (truth + 1) % 4, "bob": truth})
    empty = first.table.with_columns(pl.lit(None, pl.Float64).alias("grade"), rater=pl.lit("eve"))
    table = pl.concat([first.table, rated({"ann": truth}).table, empty])
    result = check_gold(labelled(truth), Ratings(table))
    assert set(result.labels["status"]) == {CONFIRMED}
    assert set(result.labels["ratings"]) == {2}


def test_systems_with_corrected_labels(truth):
    gold = truth.copy()
    gold[:, 0], gold[:, 1] = 0, 3
    right = truth.copy()
    right[:, 0], right[:, 1] = 3, 0
    run = {f"q{i:02}": {f"d{j}": float(DOCUMENTS - j) for j in range(DOCUMENTS)} for i in range(QUERIES)}
    result = check_gold(labelled(gold), rated({"ann": right, "bob": right}), [run], ["P(rel=3)@1"])
    row = result.systems.row(0, named=True)
    assert (row["gold"], row["corrected"], row["delta"]) == (0, 1, 1)


def test_what_cannot_be_checked_is_one_error(truth):
    strange = Ratings(pl.DataFrame({"query_id": ["x"], "doc_id": ["y"], "rater": ["ann"], "grade": [1.0]}))
    with raises("no-common-pairs", InputError):
        check_gold(labelled(truth), strange)
    unjudged_qrels = Qrels(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "grade": [-1.0]}))
    with raises("nothing-judged", UsageError):
        draw_gold(unjudged_qrels)


def test_pairs_are_drawn_with_the_same_chance(truth):
    counts = dict.fromkeys(pairs(), 0)
    for seed in range(200):
        sample = draw_gold(labelled(truth), 100, seed=seed)
        assert sample.columns == ["query_id", "doc_id"]
        assert len(set(sample.rows())) == 100
        for row in sample.rows():
            counts[row] += 1
    spread = np.array(list(counts.values()))
    assert spread.mean() == 50
    assert abs(spread - 50).max() < 5 * np.sqrt(200 * 0.25 * 0.75)
    assert len(draw_gold(labelled(truth), 10_000)) == QUERIES * DOCUMENTS


def test_from_a_draw_to_a_verdict_at_the_command_line(tmp_path, run):
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 d {i % 2}\n" for i in range(20)))
    pool = tmp_path / "blind.csv"
    assert run("gold", "draw", tmp_path / "qrels.txt", "--pairs", "8", "-o", pool).code == 0
    sample = pl.read_csv(pool)
    assert sample.columns == ["query_id", "doc_id"]
    rows = [
        {"query_id": query, "doc_id": "d", "rater": rater, "grade": 1}
        for query in sample["query_id"]
        for rater in ("ann", "bob")
    ]
    ratings = tmp_path / "blind.jsonl"
    ratings.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = run("gold", "check", tmp_path / "qrels.txt", ratings, "--format", "json")
    assert result.code == 0
    shares = {row["status"]: row["pairs"] for row in json.loads(result.out)["shares"]}
    odd = sum(int(query[1:]) % 2 for query in sample["query_id"])
    assert shares == {WRONG: 8 - odd, AMBIGUOUS: 0, CONFIRMED: odd}
    assert_refused(run("gold", "check", tmp_path / "qrels.txt", tmp_path / "none"), "no-such-file")
