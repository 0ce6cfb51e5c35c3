"""Repeat and new items are scored separately: each by the judgments and lists of its own pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.data.collection import Collection
from support.wording import raises

USERS, ITEMS = 25, 20


def by_history(qrels: Any, runs: Any, log: pl.DataFrame, metrics: list[str]) -> pl.DataFrame:
    card = rankgate.scorecard(Collection(qrels, training=log), runs, metrics, slices=["history"], resamples=1)
    assert set(card.slices["of"]) <= {"pairs"}
    assert ("· new (" in str(card)) == (card.slices["part"] == "new").any()
    return card.slices


def figures(slices: pl.DataFrame) -> dict[tuple[str, str], tuple[float, int, int]]:
    rows = slices.select("part", "metric", "value", "users", "size").rows()
    return {(slice_name, metric): numbers for slice_name, metric, *numbers in rows}


def test_values_are_those_of_each_part() -> None:
    rng = np.random.default_rng(4)
    had = {f"u{u}": {f"i{i}" for i in rng.choice(ITEMS, 6, replace=False)} for u in range(USERS)}
    relevant_items = {user: {f"i{i}" for i in rng.choice(ITEMS, 5, replace=False)} for user in had}
    lists = {user: [f"i{i}" for i in rng.permutation(ITEMS)[:12]] for user in had}
    log = pl.DataFrame([(u, i) for u in had for i in had[u]], schema=["user", "item"], orient="row")
    results = figures(by_history(relevant_items, {"one": lists}, log, ["P@3", "RR", "Coverage@3"]))
    assert {metric for _, metric in results} == {"P@3", "RR"}  # lists are not made of pairs
    for slice_name, is_repeat in (("repeat", True), ("new", False)):
        hits, first, pairs = [], [], 0
        for user, earlier_items in had.items():
            relevant = {item for item in relevant_items[user] if (item in earlier_items) == is_repeat}
            pairs += len(relevant)
            if not relevant:
                continue
            slice_items = [item for item in lists[user] if (item in earlier_items) == is_repeat]
            hits.append(len(relevant & set(slice_items[:3])) / 3)
            first.append(next((1 / rank for rank, i in enumerate(slice_items, 1) if i in relevant), 0))
        assert results[slice_name, "P@3"] == [pytest.approx(np.mean(hits)), len(hits), pairs]
        assert results[slice_name, "RR"][0] == pytest.approx(np.mean(first))


def test_a_system_that_never_repeats_is_worth_nothing_there() -> None:
    log = pl.DataFrame({"user": ["u"], "item": ["a"]})
    results = figures(by_history({"u": {"a", "b"}}, {"u": ["b", "c"]}, log, ["RR"]))
    assert results["repeat", "RR"][0] == 0
    assert results["new", "RR"][0] == 1


def test_a_part_without_judgments_is_left_out() -> None:
    log = pl.DataFrame({"user": ["v"], "item": ["a"]})
    results = by_history({"u": {"a"}}, {"u": ["a"]}, log, ["RR"])
    assert results["part"].to_list() == ["new"]


def test_metrics_of_lists_have_no_parts_of_pairs() -> None:
    log = pl.DataFrame({"user": ["u"], "item": ["a"]})
    assert by_history({"u": {"a"}}, {"u": ["a"]}, log, ["Coverage@1"]).is_empty()


def test_it_needs_training() -> None:
    with raises("missing-input"):
        rankgate.scorecard({"u": {"a"}}, {"u": ["a"]}, ["RR"], slices=["history"])
