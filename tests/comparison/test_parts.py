"""Parts of scores: valid combinations, and the error for an unavailable part."""

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import Collection, Items, UsageError, read_scores
from rankgate.data.score_parts import EVERY_PART, PARTS, Need, Supply
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.saved.saved_baselines import save
from support.wording import raises

USERS = [f"u{i}" for i in range(24)]
ITEMS = [f"i{j}" for j in range(12)]
QRELS = {user: {ITEMS[(3 * i) % 12]: 1, ITEMS[(5 * i + 1) % 12]: 1} for i, user in enumerate(USERS)}


def _run(shift, users=USERS):
    return {user: {ITEMS[(i * shift + j) % 12]: 5.0 - j for j in range(5)} for i, user in enumerate(users)}


OLD, NEW = _run(1), _run(3)
TRAINING = pl.DataFrame(
    {
        "user_id": [user for i, user in enumerate(USERS) for _ in range(1 + i % 3)],
        "item_id": [ITEMS[(i * k + k) % 12] for i in range(24) for k in range(1 + i % 3)],
    }
).unique(maintain_order=True)
WEIGHTS = pl.DataFrame(
    {"query_id": USERS, "weight": [1.0 + i % 4 for i in range(24)], "query_inclusion": 0.5}
)
POLICY = """
[[rules]]
kind = "floor"
metric = "Novelty@3"
at_least = 0.1
"""


def _collection(**fields):
    return Collection(QRELS, training=TRAINING, **fields)


def test_values_of_lists_are_weighted_as_those_of_rankings():
    """A weighted mean by hand: Σwy / Σw of the verb's values by user without a sample."""
    plain = rankgate.compare(_collection(), OLD, NEW, ["nDCG@3", "Novelty@3"]).only
    weights = dict(WEIGHTS.select("query_id", "weight").iter_rows())
    sampled = rankgate.compare(_collection(sample=WEIGHTS), OLD, NEW, ["nDCG@3", "Novelty@3"]).only
    for metric in ("nDCG@3", "Novelty@3"):
        rows = plain.queries.filter(metric=metric)
        w = np.array([weights[user] for user in rows["query_id"]])
        expected = (w * rows["delta"].to_numpy()).sum() / w.sum()
        sampled_delta = sampled.metrics.filter(metric=metric)["delta"][0]
        assert sampled_delta == pytest.approx(expected, abs=1e-12)
        assert sampled_delta != pytest.approx(rows["delta"].mean(), abs=1e-6), "weights move the mean"
    evaluation = rankgate.evaluate(_collection(sample=WEIGHTS), {"new": NEW}, ["Novelty@3"])
    novelty_rows = plain.queries.filter(metric="Novelty@3")
    w = np.array([weights[user] for user in novelty_rows["query_id"]])
    expected = (w * novelty_rows["candidate"].to_numpy()).sum() / w.sum()
    assert evaluation["new", "Novelty@3"] == pytest.approx(expected, abs=1e-12)
    verdict = rankgate.gate(_collection(sample=WEIGHTS), OLD, NEW, parse_policy(POLICY, "policy"))
    assert verdict.comparison.metrics.filter(metric="Novelty@3")["candidate"][0] == pytest.approx(
        expected, abs=1e-12
    )


def test_a_number_about_all_lists_has_no_weights():
    collection = _collection(sample="random", items=Items(catalogue=ITEMS))
    with raises("missing-part"):
        rankgate.compare(collection, OLD, NEW, ["nDCG@3", "Coverage@3"])
    with raises("unsupported-metric"):
        rankgate.evaluate(collection, OLD, ["Coverage@3"])


def test_bounds_are_of_the_queries_drawn_from():
    """The weighted mean of each query's bounds, which the same verb gives without a sample."""
    collection = Collection(QRELS, sample=WEIGHTS)
    sampled = rankgate.evaluate(collection, {"new": NEW}, ["P@3"], bounds=True)
    plain = rankgate.evaluate(QRELS, {"new": NEW}, ["P@3"], bounds=True).values
    w = WEIGHTS["weight"].to_numpy()
    by_user = WEIGHTS.select("query_id").join(plain, on="query_id", maintain_order="left")
    for name in ("value", "low", "high"):
        expected = (w * by_user[name].to_numpy()).sum() / w.sum()
        assert sampled.bounds[name][0] == pytest.approx(expected, abs=1e-12)


def test_a_model_corrects_values_of_lists_which_judgments_do_not_change():
    """Novelty is known of all users, so the estimate is its mean over all of them."""
    model = {user: dict.fromkeys(ITEMS, 0.0) | grades for user, grades in QRELS.items()}
    for i, user in enumerate(USERS):  # a model that errs now and then
        model[user][ITEMS[i % 12]] = 1.0 - model[user][ITEMS[i % 12]]
    judged = {user: {item: QRELS[user].get(item, 0.0) for item in ITEMS} for user in USERS[::1][:22]}
    collection = Collection(
        judged, training=TRAINING, sample="random", predicted=rankgate.Predicted(model, saw="none")
    )
    result = rankgate.compare(collection, OLD, NEW, ["nDCG@3", "Novelty@3"]).only
    all_users = rankgate.compare(_collection(), OLD, NEW, ["Novelty@3"]).only
    estimated_delta = result.metrics.filter(metric="Novelty@3")["delta"][0]
    assert estimated_delta == pytest.approx(all_users.metrics["delta"][0], abs=1e-9)


def test_a_baseline_without_seen_items_is_compared_with_a_candidate_without_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _written(tmp_path)
    collection = Collection("qrels.txt", training=TRAINING, drop_seen=True)
    (tmp_path / "rankgate.toml").write_text(POLICY.replace("Novelty@3", "nDCG@3"))
    save("dropped", collection, "old.run")
    save("whole", "qrels.txt", "old.run")
    saved = rankgate.gate(collection, "dropped", "new.run", log=False)
    runs = rankgate.gate(collection, "old.run", "new.run", log=False)
    assert saved.comparison.metrics.equals(runs.comparison.metrics)
    with raises("baseline-lacks"):
        rankgate.gate(collection, "whole", "new.run", log=False)
    with raises("baseline-lacks"):
        rankgate.gate("qrels.txt", "dropped", "new.run", log=False)


def _written(folder):
    rows = [f"{user} 0 {item} {grade}" for user, grades in QRELS.items() for item, grade in grades.items()]
    (folder / "qrels.txt").write_text("\n".join(rows) + "\n")
    for name, run in (("old", OLD), ("new", NEW)):
        rows = [
            f"{user} Q0 {item} {rank} {score} {name}"
            for user, items in run.items()
            for rank, (item, score) in enumerate(items.items(), 1)
        ]
        (folder / f"{name}.run").write_text("\n".join(rows) + "\n")


def test_scores_give_their_parts():
    scores = rankgate.evaluate(QRELS, {"old": OLD, "new": NEW}, ["nDCG@3"])
    assert set(scores.parts) == EVERY_PART
    lists = scores.lists(2)
    assert lists.columns[:4] == ["system", "query_id", "rank", "doc_id"]
    assert len(lists) == 2 * 24 * 2
    first = lists.filter(system="new", query_id="u5", rank=1)
    assert first["doc_id"][0] == next(iter(NEW["u5"]))
    assert set(scores.queries["state"]) == {"ok"}
    saved = rankgate.Scores.from_dict(scores.to_dict(per_query=True))
    assert saved.parts == ("values", "group_sums")
    with raises("missing-part"):
        saved.lists()


def test_scores_of_another_tool_are_the_same_value(tmp_path):
    scores = rankgate.evaluate(QRELS, {"old": OLD, "new": NEW}, ["P@3"])
    values = {
        name: {user: {"P@3": value} for user, value in scores.runs[index].per_query("P@3").items()}
        for index, name in enumerate(("old", "new"))
    }
    reported = read_scores(values)
    assert isinstance(reported, rankgate.Scores)
    assert reported.means.sort("run").equals(scores.means.sort("run"))
    assert reported["new"] == scores["new"]
    assert reported.values.sort("run", "query_id").equals(scores.values.sort("run", "query_id"))
    assert "P@3" in str(reported)
    assert reported.parts == ("values", "group_sums", "intervals")
    assert json.loads(json.dumps(reported.to_dict()))["kind"] == "evaluation"
    reported.report(tmp_path / "page.html")
    assert rankgate.compare(reported).metrics["delta"][0] == pytest.approx(
        rankgate.compare(scores).metrics["delta"][0], abs=1e-12
    )
    with raises("missing-part"):
        reported.lists()


@pytest.mark.parametrize("part", PARTS)
def test_each_part_has_one_error(part):
    supply = Supply(frozenset(EVERY_PART - {part}), "the source is small", "take another source")
    with pytest.raises(UsageError, match=r"a chart: .* are needed, and the source is small; take"):
        supply.require("a chart", [Need(part)])
    other_parts = EVERY_PART - {part}
    supply.require("a chart", map(Need, other_parts))
    assert supply.lack(Need(part)).reason.endswith("and the source is small")
