"""Metrics of lists look at every served user, and one catalogue is after all commands."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import pytest

import rankgate
from rankgate.data.collection import Collection, Items
from support.wording import assert_warned

K = 3
USERS, JUDGED, ITEMS = 40, 25, 30
METRICS = [f"{name}@{K}" for name in ("Coverage", "ItemsShown", "Gini", "Entropy", "Novelty")]


def lists() -> dict[str, list[str]]:
    rng = np.random.default_rng(11)
    weight = 1 / np.arange(1, ITEMS + 1)
    rows = (rng.choice(ITEMS, K, replace=False, p=weight / weight.sum()) for _ in range(USERS))
    return {f"u{user:02}": [f"i{item:02}" for item in items] for user, items in enumerate(rows)}


LISTS = lists()
RELEVANT = {user: {LISTS[user][-1]} for user in list(LISTS)[:JUDGED]}
TRAIN = [(f"u{user:02}", f"i{item:02}") for user in range(USERS) for item in range(1 + user % 9)]


def log() -> Any:
    import polars as pl

    return pl.DataFrame(TRAIN, schema=["user", "item"], orient="row")


def expected(users: list[str], catalogue: int) -> dict[str, float]:
    """The five numbers from their definitions, without rankgate."""
    shown_items = [item for user in users for item in LISTS[user]]
    counts = np.sort([shown_items.count(item) for item in set(shown_items)])
    all_counts = np.concatenate([np.zeros(catalogue - len(counts)), counts])
    share = counts / counts.sum()
    had = {item: len({u for u, i in TRAIN if i == item}) for _, item in TRAIN}
    people = len({user for user, _ in TRAIN})
    novelty = [
        np.mean([-log2(had[item] / people) for item in LISTS[user] if item in had] or [np.nan])
        for user in users
    ]
    gini = (2 * np.arange(1, catalogue + 1) - catalogue - 1) @ all_counts / (catalogue * all_counts.sum())
    return {
        "Coverage": len(counts) / catalogue,
        "ItemsShown": len(counts),
        "Gini": float(gini),
        "Entropy": float(-(share * np.log2(share)).sum()),
        "Novelty": float(np.nanmean(novelty)),
    }


def means(result: Any) -> dict[str, float]:
    return {name.partition("@")[0]: result.means[name][0] for name in METRICS}


def card(collection: Collection) -> dict[str, float]:
    result = rankgate.scorecard(collection, {"run1": LISTS}, METRICS, resamples=5)
    rows = result.figures.select("metric", "value").rows()
    return {name.partition("@")[0]: value for name, value in rows}


@pytest.mark.parametrize("only", [False, True])
@pytest.mark.parametrize("catalogue", [ITEMS, 50])
def test_users_and_catalogue_are_what_was_asked_for(*, only: bool, catalogue: int) -> None:
    users = list(LISTS)[:JUDGED] if only else list(LISTS)
    items = Items(catalogue=[f"i{item:02}" for item in range(catalogue)])
    expected_values = expected(users, catalogue)
    collection = Collection(RELEVANT, items=items, training=log(), judged_users_only=only)
    assert expected_values != expected(list(LISTS)[: JUDGED if not only else USERS], catalogue)
    assert means(rankgate.evaluate(collection, LISTS, METRICS)) == pytest.approx(expected_values)
    assert card(collection) == pytest.approx(expected_values)


def test_a_matrix_serves_users_without_judgments() -> None:
    ranked = np.array([[int(item[1:]) for item in row] for row in LISTS.values()])
    judged = {user: {int(item[1:]) for item in RELEVANT[f"u{user:02}"]} for user in range(JUDGED)}
    metrics = [name for name in METRICS if "Novelty" not in name]
    result = rankgate.evaluate(
        Collection(judged, items=Items(catalogue=ITEMS)), rankgate.Lists(ranked), metrics
    )
    true_values = expected(list(LISTS), ITEMS)
    values = {name.partition("@")[0]: result.means[name][0] for name in metrics}
    assert values == pytest.approx({name: true_values[name] for name in values})
    assert result.runs[0].counts.served_unjudged == USERS - JUDGED


def test_batches_add_up_to_the_same() -> None:
    accumulator = rankgate.Accumulator(
        METRICS[:4], collection=Collection(items=Items(catalogue=[f"i{item:02}" for item in range(ITEMS)]))
    )
    for users in (list(LISTS)[:10], list(LISTS)[10:]):
        judged = {user: RELEVANT[user] for user in users if user in RELEVANT}
        accumulator.update(judged, {user: LISTS[user] for user in users})
    expected_values = expected(list(LISTS), ITEMS)
    assert accumulator.result() == pytest.approx(
        {f"{n}@{K}": expected_values[n] for n in list(expected_values)[:4]}
    )


@pytest.mark.parametrize("metric", ["Serendipity@3", "PopREO@3", "IPSHits@3", "EEL@3"])
def test_metrics_of_relevance_look_at_judged_users(metric: str) -> None:
    judged = {user: LISTS[user] for user in RELEVANT}
    collection = Collection(
        RELEVANT,
        items=Items(catalogue=[f"i{item:02}" for item in range(ITEMS)]),
        training=log(),
        reference={user: ["i00"] for user in LISTS},
    )
    values = [rankgate.evaluate(collection, run, [metric]).means[metric][0] for run in (LISTS, judged)]
    assert values[0] == pytest.approx(values[1])


def test_a_guessed_catalogue_is_reported() -> None:
    result = rankgate.evaluate(RELEVANT, LISTS, ["Coverage@3"])
    facts = result.runs[0].counts.catalogue
    judged_ids = {item for items in RELEVANT.values() for item in items}
    places = [item for row in LISTS.values() for item in row]
    invented = sum(item not in judged_ids for item in places)
    assert (facts["items"], facts["stated"], facts["outside"]) == (len(judged_ids), False, 0)
    assert (facts["places"], facts["invented"], facts["repeated"]) == (len(places), invented, 0)
    assert set(facts["examples"]) <= {*places} - judged_ids
    text = " ".join(str(result).split())
    assert f"catalogue of {len(judged_ids)} items, those of training and judgments" in text
    assert f"{invented} of {len(places)} places ({invented / len(places):.1%}) show" in text
    assert f"count {USERS - JUDGED} served users without judgments" in text


def test_items_outside_a_stated_catalogue_are_reported() -> None:
    item_ids = sorted({item for row in LISTS.values() for item in row})
    result = rankgate.evaluate(
        Collection(RELEVANT, items=Items(catalogue=item_ids[2:])), LISTS, ["Coverage@3"]
    )
    facts = result.runs[0].counts.catalogue
    judged_ids = {item for items in RELEVANT.values() for item in items}
    outside = len(judged_ids - {*item_ids[2:]})
    assert (facts["items"], facts["stated"], facts["outside"]) == (len(item_ids) - 2, True, outside)
    assert facts["examples"] == item_ids[:2]
    assert f"{outside} judged items are outside the stated catalogue" in " ".join(str(result).split())
    outcome = rankgate.scorecard(
        Collection(RELEVANT, items=Items(catalogue=item_ids[2:])), LISTS, ["Coverage@3"]
    )
    assert_warned(outcome)


def test_commands_agree_on_items_outside_of_the_catalogue():
    """Coverage of i02 ... by lists that also show i00 and i01, which count for nothing."""
    stated = [f"i{item:02}" for item in range(2, ITEMS)]
    shown_items = {item for row in LISTS.values() for item in row}
    coverage = len(shown_items & {*stated}) / len(stated)
    name = "Coverage@3"
    values = [
        command(Collection(RELEVANT, items=Items(catalogue=stated)), LISTS, [name])
        for command in (rankgate.evaluate, rankgate.scorecard)
    ]
    batches = rankgate.Accumulator([name], collection=Collection(items=Items(catalogue=stated)))
    batches.update(RELEVANT, LISTS)
    assert {*shown_items} - {*stated} == {"i00", "i01"}
    assert values[0].means[name][0] == coverage
    assert values[1].figures["value"][0] == coverage
    assert batches.result() == {name: coverage}


def test_every_similarity_takes_a_repeated_item_for_similar_to_itself():
    from rankgate.measurement.metrics.lists.diversity import intra_list_diversity
    from rankgate.measurement.metrics.lists.list_input import Listed

    item_lists = Listed(np.array([[0, 0, 1]]), 2, features=np.eye(2), similarities=np.eye(2))
    for similarity in ("cosine", "jaccard", "given"):
        assert intra_list_diversity(item_lists, similarity=similarity) == pytest.approx([2 / 3])


def test_a_stated_catalogue_needs_no_word() -> None:
    items = [f"i{item:02}" for item in range(ITEMS)]
    text = str(rankgate.evaluate(Collection(RELEVANT, items=Items(catalogue=items)), LISTS, ["Coverage@3"]))
    assert "catalogue" not in text
    assert "catalogue" not in str(rankgate.evaluate(RELEVANT, LISTS, ["P@3"]))
