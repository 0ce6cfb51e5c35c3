"""Metrics of lists are one number in every command: the same users, catalogue and warnings."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.data.collection import Collection, Items
from rankgate.decisions.gating.policy import parse_policy
from rankgate.interface.cli import rankgate as program
from support.wording import raises

USERS, JUDGED, ITEMS = 30, 18, 25
METRICS = ["P@5", "Coverage@5", "Gini@5", "ILD@5", "Novelty@5"]
RULE = '[[rules]]\nid = "r"\nkind = "noninferiority"\nmetric = "Coverage@5"\nmargin = 0.4'
POLICY = f"[gate]\nmetrics = {json.dumps(METRICS)}\n{RULE}"


def drawn(seed: int, skew: float) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    weight = np.arange(1, ITEMS + 1) ** -skew
    return {
        f"u{user:02}": {
            f"i{item:02}": 9.0 - rank
            for rank, item in enumerate(rng.choice(ITEMS, 7, replace=False, p=weight / weight.sum()))
        }
        for user in range(USERS)
    }


OLD, NEW = drawn(1, 1.0), drawn(2, 0.3)
QRELS = {user: {next(iter(OLD[user])): 1, "i24": 0} for user in list(OLD)[:JUDGED]}


@pytest.fixture(scope="module")
def collection():
    import polars as pl

    rng = np.random.default_rng(5)
    interactions = [(f"u{user:02}", f"i{item:02}") for user in range(USERS) for item in rng.choice(ITEMS, 4)]
    table = [(f"i{item:02}", float(item % 3)) for item in range(ITEMS)]
    items = pl.DataFrame(table, schema=["item_id", "kind"], orient="row")
    training = pl.DataFrame(interactions, schema=["user_id", "item_id"], orient="row").unique()
    return Collection(QRELS, training=training, items=Items(items, features=["kind"]))


def numbers(collection):
    """The means of both systems from four verbs."""
    runs = {"old": OLD, "new": NEW}
    evaluated = rankgate.evaluate(collection, runs, METRICS).means
    compared = rankgate.compare(collection, OLD, {"new": NEW}, METRICS).metrics
    card = rankgate.scorecard(collection, runs, METRICS, resamples=5).figures
    verdict = rankgate.gate(collection, OLD, NEW, parse_policy(POLICY, "p.toml"))
    card_values = dict(card.select("metric", "value").rows())
    assert len(card_values) == len(METRICS)
    of_card = {(s, m): v for s, m, v in card.select("system", "metric", "value").rows()}
    for name, table in (("compare", compared), ("gate", verdict.comparison.metrics)):
        rows = {row["metric"]: row for row in table.iter_rows(named=True)}
        yield name, [[rows[m]["baseline"], rows[m]["candidate"]] for m in METRICS]
    yield "eval", [evaluated[m].to_list() for m in METRICS]
    yield "scorecard", [[of_card["old", m], of_card["new", m]] for m in METRICS]


@pytest.mark.parametrize(
    ("protocol", "catalogue"),
    [
        ({}, None),
        ({"judged_users_only": True}, None),
        ({"drop_seen": True}, None),
        ({}, [f"i{i:02}" for i in range(3, 40)]),
    ],
)
def test_four_verbs_give_one_number(collection, protocol, catalogue):
    items = replace(collection.items, catalogue=catalogue)
    values_by_verb = dict(numbers(replace(collection, items=items, **protocol)))
    expected = np.array(values_by_verb.pop("eval"))
    assert np.isfinite(expected).all()
    for name, values in values_by_verb.items():
        np.testing.assert_allclose(np.array(values, float), expected, rtol=1e-12, err_msg=name)


def test_every_served_user_counts_and_is_reported(collection):
    all_users, judged = (
        rankgate.compare(replace(collection, judged_users_only=judged_only), OLD, NEW, METRICS).only
        for judged_only in (False, True)
    )
    counts = [dict(comparison.metrics.select("metric", "n").rows()) for comparison in (all_users, judged)]
    assert [count["Novelty@5"] for count in counts] == [USERS, JUDGED]
    assert [count["Coverage@5"] for count in counts] == [USERS, JUDGED]
    assert [count["P@5"] for count in counts] == [JUDGED, JUDGED]
    assert [any(str(USERS - JUDGED) in w for w in e.warnings) for e in (all_users, judged)] == [True, False]


def test_a_guessed_catalogue_is_reported_everywhere(collection):
    training = Collection(QRELS, training=collection.training)
    metric_names = ["P@5", "Gini@5"]
    policy = parse_policy('[gate]\nmetrics = ["P@5", "Gini@5"]\n' + RULE, "p.toml")
    policy_warnings = rankgate.gate(training, OLD, NEW, policy).comparison.warnings
    results = [
        [notice.text for notice in rankgate.evaluate(training, OLD, metric_names).notices],
        rankgate.compare(training, OLD, NEW, metric_names).only.warnings,
        rankgate.scorecard(training, OLD, metric_names, resamples=5).warnings,
        policy_warnings,
    ]
    for texts in results:
        assert any("those of training and judgments" in text for text in texts)
    sized = replace(training, items=Items(catalogue=[f"i{item:02}" for item in range(1, 25)]))
    stated = rankgate.compare(sized, OLD, NEW, metric_names).only.warnings
    assert not any("those of training" in text for text in stated)
    assert any("such as i00" in text for text in stated)
    with raises("unknown-item"):
        rankgate.compare(replace(training, items=Items(catalogue=40)), OLD, NEW, metric_names)


def test_disliked_items_that_count_are_reported_everywhere():
    options = {"convention": "recommenders"}
    rule = '[[rules]]\nid = "r"\nkind = "noninferiority"\nmetric = "P@5"\nmargin = 0.4'
    policy = parse_policy(f'[gate]\nconvention = "recommenders"\n{rule}', "p.toml")
    results = [
        [notice.text for notice in rankgate.evaluate(QRELS, OLD, ["P@5"], **options).notices],
        rankgate.compare(QRELS, OLD, NEW, ["P@5"], **options).only.warnings,
        rankgate.scorecard(QRELS, OLD, ["P@5"], resamples=5, **options).warnings,
        rankgate.gate(QRELS, OLD, NEW, policy).comparison.warnings,
    ]
    for texts in results:
        assert any("judgments of grade 0 count as relevant" in text for text in texts)


def test_a_saved_baseline_holds_the_lists_of_all_served_users(tmp_path, monkeypatch, collection):
    monkeypatch.chdir(tmp_path)
    for name, run in (("old", OLD), ("new", NEW)):
        lines = [f"{u} Q0 {i} 1 {s} {name}\n" for u, scores in run.items() for i, s in scores.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    lines = [f"{u} 0 {i} {g}\n" for u, grades in QRELS.items() for i, g in grades.items()]
    (tmp_path / "q.qrels").write_text("".join(lines))
    collection.training.write_csv("train.csv")
    collection.items.table.write_csv("items.csv")
    (tmp_path / "rankgate.toml").write_text(
        POLICY + '\n[lists]\ntrain = "train.csv"\nitems = "items.csv"\nfeatures = ["kind"]\n'
    )
    result = CliRunner().invoke(program, ["baseline", "save", "main", "q.qrels", "old.run"])
    assert result.exit_code == 0, result.output
    expected = rankgate.gate("q.qrels", "old.run", "new.run").comparison.metrics
    actual = rankgate.gate("q.qrels", "main", "new.run").comparison.metrics
    assert actual.equals(expected)
    file = tmp_path / "rankgate/baselines/main.json"
    old = json.loads(file.read_text())
    assert len(old["served"]) == USERS - JUDGED
    del old["served"]
    file.write_text(json.dumps(old))
    with raises("baseline-lacks"):
        rankgate.gate("q.qrels", "main", "new.run")
    assert rankgate.gate(Collection("q.qrels", judged_users_only=True), "main", "new.run").rules


def test_metrics_of_whole_lists_are_refused_where_lists_are_cut():
    with raises("missing-cutoff"):
        rankgate.compare(QRELS, OLD, NEW, ["Coverage"])


def test_earlier_lists_are_named_or_of_every_system(tmp_path):
    for name, run in (("old", OLD), ("new", NEW)):
        lines = [f"{u} Q0 {i} 1 {s} {name}\n" for u, scores in run.items() for i, s in scores.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "q.qrels").write_text(
        "".join(f"{u} 0 {i} {g}\n" for u, grades in QRELS.items() for i, g in grades.items())
    )
    files = [str(tmp_path / name) for name in ("q.qrels", "old.run", "new.run")]
    metric = ["-m", "TemporalDiversity@5", "--format", "json"]

    def means(*words: str) -> list[float]:
        result = CliRunner().invoke(program, ["eval", *files, *metric, *words])
        assert result.exit_code == 0, result.output
        return [run_result["mean"]["TemporalDiversity@5"] for run_result in json.loads(result.stdout)["runs"]]

    diversity = means("--earlier", f"old={files[1]}", "--earlier", f"new={files[2]}")
    assert diversity == [0.0, 0.0]
    assert means("--earlier", files[1])[0] == 0
    assert means("--earlier", files[1])[1] > 0.3
    wrong = ["--earlier", files[1], "--earlier", files[2]]
    with raises("invalid-syntax"):
        CliRunner().invoke(program, ["eval", *files, *metric, *wrong], catch_exceptions=False)
