"""Parts of users and items: each figure is the one of those users or items alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankgate
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import render_result
from rankgate.data.collection import Collection, Items
from rankgate.measurement.evaluation.evaluate import evaluate
from support.wording import assert_warned, raises

USERS, ITEMS = 40, 30
RNG = np.random.default_rng(5)


def drawn(power):
    pull = (1 + np.arange(ITEMS)) ** -power
    return {
        f"u{u:02}": {
            f"i{i:02}": 9.0 - r
            for r, i in enumerate(RNG.choice(ITEMS, 6, replace=False, p=pull / pull.sum()))
        }
        for u in range(USERS)
    }


RUNS = {"one": drawn(0.9), "two": drawn(0.3)}
QRELS = {f"u{u:02}": {f"i{i:02}": 1 for i in RNG.choice(ITEMS, 3, replace=False)} for u in range(USERS)}
TRAIN = pl.DataFrame(
    [(f"u{u:02}", f"i{i:02}") for u in range(4, USERS) for i in range(1 + u % 5)],
    schema=["user", "item"],
    orient="row",
)
PEOPLE = pl.DataFrame(
    {
        "user": [f"u{u:02}" for u in range(USERS - 1)],
        "age": ["young" if u % 3 else "old" for u in range(USERS - 1)],
    }
)
THINGS = pl.DataFrame(
    {"item": [f"i{i:02}" for i in range(ITEMS)], "kind": [("a", "b", "a|b")[i % 3] for i in range(ITEMS)]}
)
METRICS = ["R@5", "nDCG@5", "Coverage@5", "Gini@5", "Novelty@5", "ILD@5"]


@pytest.fixture(scope="module")
def card():
    return rankgate.scorecard(
        Collection(QRELS, training=TRAIN, users=PEOPLE, items=Items(THINGS, category="kind")),
        RUNS,
        METRICS,
        slices=["activity", "age", "popularity", "kind"],
        resamples=100,
    )


def figure(card, slice_, part, system, metric):
    rows = card.slices.filter(
        (pl.col("slice") == slice_)
        & (pl.col("part") == part)
        & (pl.col("system") == system)
        & (pl.col("metric") == metric)
    )
    assert len(rows) == 1
    return rows.row(0, named=True)


def test_users_are_new_light_or_heavy_by_training(card):
    sizes = dict(card.slices.filter(slice="activity").select("part", "size").iter_rows())
    had = np.array([0 if u < 4 else 1 + u % 5 for u in range(USERS)])
    median = np.median(had[had > 0])
    assert sizes == {"new": 4, "light": ((had > 0) & (had <= median)).sum(), "heavy": (had > median).sum()}


def test_a_part_of_the_users_has_the_figures_of_a_card_of_them_alone(card):
    old = [user for user, age in PEOPLE.iter_rows() if age == "old"]
    qrels = {user: QRELS[user] for user in old}
    old_card = rankgate.scorecard(
        Collection(qrels, training=TRAIN, judged_users_only=True, items=Items(THINGS, category="kind")),
        RUNS,
        METRICS,
        resamples=100,
    )
    for row in old_card.figures.iter_rows(named=True):
        result = figure(card, "age", "old", row["system"], row["metric"])
        for name in ("value", "low", "high", "users"):
            assert result[name] == pytest.approx(row[name]), (row, name)
    for row in old_card.differences.iter_rows(named=True):
        result = figure(card, "age", "old", "two", row["metric"])
        assert (result["delta"], result["p_raw"]) == (
            pytest.approx(row["delta"]),
            pytest.approx(row["p_raw"]),
        )
    assert figure(card, "age", "(none)", "one", "R@5")["size"] == 1
    assert_warned(card)


def test_accuracy_among_items_is_by_what_is_relevant_there(card):
    kinds = dict(THINGS.iter_rows())
    recalls = []
    for user, relevant in QRELS.items():
        kind_items = {item for item in relevant if "b" in kinds[item].split("|")}
        top = sorted(RUNS["one"][user], key=RUNS["one"][user].get, reverse=True)[:5]
        if kind_items:
            recalls.append(len(kind_items & set(top)) / len(kind_items))
    result = figure(card, "kind", "b", "one", "R@5")
    assert result["value"] == pytest.approx(np.mean(recalls))
    assert result["users"] == len(recalls)
    assert result["size"] == 20  # those of both kinds belong to both


def test_lists_among_items_are_as_if_they_showed_nothing_else(card):
    kinds = dict(THINGS.iter_rows())
    kind_items = {item for item, kind in kinds.items() if "b" in kind}
    shown_items = {
        item
        for row in RUNS["two"].values()
        for item in sorted(row, key=row.get, reverse=True)[:5]
        if item in kind_items
    }
    assert figure(card, "kind", "b", "two", "Coverage@5")["value"] == len(shown_items) / len(kind_items)


def test_head_and_tail_are_of_training(card):
    sizes = dict(card.slices.filter(slice="popularity").select("part", "size").iter_rows())
    assert sizes == {"head": 6, "tail": 24}


def test_gaps_are_welchs_and_corrected_over_the_slice(card):
    assert set(card.gaps["slice"]) == {"activity", "age"}  # items have none
    values = evaluate(QRELS, RUNS["one"], ["R@5"]).runs[0].per_query("R@5")
    old = {user for user, age in PEOPLE.iter_rows() if age == "old"}
    old_values = [value for user, value in values.items() if user in old]
    other_values = [value for user, value in values.items() if user not in old]
    result = stats.ttest_ind(old_values, other_values, equal_var=False)
    row = card.gaps.filter(slice="age", part="old", system="one", metric="R@5").row(0, named=True)
    low, high = result.confidence_interval(0.95)
    assert row["gap"] == pytest.approx(np.mean(old_values) - np.mean(other_values))
    assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))
    assert row["p_raw"] == pytest.approx(result.pvalue)
    ages = card.gaps.filter(pl.col("slice") == "age").drop_nulls("p_raw")
    assert ages["p_value"].to_numpy() == pytest.approx(
        stats.false_discovery_control(ages["p_raw"].to_numpy())
    )


def test_what_is_no_slice_is_reported():
    users = PEOPLE.rename({"age": "kind"})
    items = THINGS.with_columns(pl.col("item").alias("name"))
    for code, slices, tables in (
        ("missing-input", "activity", {}),
        ("unknown-slice", "shape", {"items": Items(THINGS)}),
        ("ambiguous-input", "kind", {"items": Items(THINGS), "users": users}),
        ("out-of-range", "name", {"items": Items(items)}),
    ):
        with raises(code, UsageError):
            rankgate.scorecard(Collection(QRELS, **tables), RUNS, ["R@5"], slices=[slices])


def test_every_form_shows_every_part(card):
    for form in ("text", "markdown", "latex", "csv", "html", "json"):
        text = render_result(card, form)
        for slice_name in ("new", "heavy", "old", "head", "tail", "(none)"):
            assert slice_name in text, (form, slice_name)
    assert max(map(len, str(card).splitlines())) <= 80
    assert "<table>" in card._repr_html_()
    assert "▲" not in render_result(card, "latex")


def test_counts_beside_values_are_those_of_the_values():
    ranked = {f"u{user}": {"a": 1.0} for user in range(7)}
    people = pl.DataFrame({"user": list(ranked), "gender": ["F"] * 4 + ["M"] * 3})
    judged = {"u0": {"a": 1}, "u4": {"a": 1}, "u5": {"b": 1}}  # one of F, two of M
    result = rankgate.scorecard(Collection(judged, users=people), ranked, ["RR"], slices=["gender"])
    assert dict(result.slices.select("part", "users").rows()) == {"F": 1, "M": 2}
    assert "F (1)" in str(result)
    assert "M (2)" in str(result)
    assert "| F | 1 |" in " ".join(render_result(result, "markdown").split())


def test_a_slice_by_tags_is_the_slice_by_a_column_of_users():
    tags = PEOPLE.rename({"user": "query_id"})
    by_tags, by_users = (
        rankgate.scorecard(Collection(QRELS, **{name: table}), RUNS, ["R@5"], slices=["age"])
        for name, table in (("tags", tags), ("users", PEOPLE))
    )
    assert by_tags.slices.equals(by_users.slices)
    assert by_tags.slices["part"].n_unique() == 3
    with raises("conflicting-options", UsageError):
        rankgate.scorecard(Collection(QRELS, tags=tags, users=PEOPLE), RUNS, ["R@5"], slices=["age"])


def test_fairness_is_the_worst_part_the_gap_and_the_mean_of_the_worst_quarter(card):
    """From the values of single users, part by part."""
    scores = evaluate(QRELS, RUNS, ["nDCG@5"])
    ages = dict(PEOPLE.iter_rows())
    for run in scores.runs:
        values = run.per_query("nDCG@5")
        parts = {}
        for user, value in values.items():
            parts.setdefault(ages.get(user, "(none)"), []).append(value)
        means = {part: np.mean(part_values) for part, part_values in parts.items()}
        by_user = sorted(means[part] for part, part_values in parts.items() for _ in part_values)
        (row,) = card.fairness.filter(slice="age", system=run.run, metric="nDCG@5").to_dicts()
        assert row["part"] == min(means, key=means.get)
        assert row["worst"] == pytest.approx(min(means.values()))
        assert row["gap"] == pytest.approx(max(means.values()) - min(means.values()))
        assert row["cvar"] == pytest.approx(np.mean(by_user[: USERS // 4]))
    assert {row["metric"] for row in card.fairness.to_dicts()} == {"R@5", "nDCG@5", "Novelty@5", "ILD@5"}
    assert "Fairness: the part served worst" in render_result(card, "text")


def test_the_worst_part_has_the_greatest_value_where_lower_is_better():
    from rankgate.recommenders.scorecard_figures import group_fairness

    rows = {"slice": "s", "of": "users", "part": ["a", "b", "c"], "system": "x", "metric": "Popularity@5"}
    rows |= {"value": [1.0, 3.0, None], "users": [2, 2, 0], "higher_is_better": False}
    result = group_fairness(pl.DataFrame(rows), ["Popularity@5"])
    assert result.row(0) == ("s", "x", "Popularity@5", "b", 3.0, 2.0, 3.0)
