"""Repeat and new items are scored apart: each by the judgments and the lists of its own pairs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.recommenders.by_history import by_history

USERS, ITEMS = 25, 20


def test_values_are_those_of_each_part() -> None:
    rng = np.random.default_rng(4)
    had = {f"u{u}": {f"i{i}" for i in rng.choice(ITEMS, 6, replace=False)} for u in range(USERS)}
    wanted = {user: {f"i{i}" for i in rng.choice(ITEMS, 5, replace=False)} for user in had}
    lists = {user: [f"i{i}" for i in rng.permutation(ITEMS)[:12]] for user in had}
    log = pl.DataFrame([(u, i) for u in had for i in had[u]], schema=["user", "item"], orient="row")
    found = by_history(wanted, {"one": lists}, log, ["P@3", "RR"])
    for part, inside in (("repeat", True), ("new", False)):
        hits, first = [], []
        for user, before in had.items():
            relevant = {item for item in wanted[user] if (item in before) == inside}
            if not relevant:
                continue
            own = [item for item in lists[user] if (item in before) == inside]
            hits.append(len(relevant & set(own[:3])) / 3)
            first.append(next((1 / at for at, i in enumerate(own, 1) if i in relevant), 0))
        means = found[part].means
        assert means["P@3"][0] == pytest.approx(np.mean(hits))
        assert means["RR"][0] == pytest.approx(np.mean(first))
        assert found[part].runs[0].counts.queries == len(hits)


def test_a_system_that_never_repeats_is_worth_nothing_there() -> None:
    log = pl.DataFrame({"user": ["u"], "item": ["a"]})
    found = by_history({"u": {"a", "b"}}, {"u": ["b", "c"]}, log, ["RR"])
    assert found["repeat"].means["RR"][0] == 0
    assert found["new"].means["RR"][0] == 1


def test_a_part_without_judgments_is_left_out() -> None:
    log = pl.DataFrame({"user": ["v"], "item": ["a"]})
    assert list(by_history({"u": {"a"}}, {"u": ["a"]}, log, ["RR"])) == ["new"]
