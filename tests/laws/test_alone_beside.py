"""A figure of a system is the same alone and beside others, by every metric and in every verb."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.data.collection import Collection, Items
from rankgate.decisions.comparison import compare, many_systems
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.stats.query_power import queries_for
from support.wording import raises

USERS, JUDGED, ITEMS, K = 24, 14, 30, 5
RNG = np.random.default_rng(17)
CATALOGUE = [f"i{item:02}" for item in range(ITEMS)]

RELATIVE = {"dominated", "differences"}
"""What compares systems by definition: marks, p-values, and who is dominated."""


def lists(users: range, invented: float) -> dict[str, list[str]]:
    """Lists of a system; a share of their ids is made up."""
    rows = {}
    for user in users:
        items = [CATALOGUE[item] for item in RNG.choice(ITEMS, 8, replace=False)]
        is_invented = RNG.random(8) < invented
        rows[f"u{user:02}"] = [
            f"x{RNG.integers(10**6)}" if flag else item for item, flag in zip(items, is_invented, strict=True)
        ]
    return rows


OWN, OTHER, MADE_UP = lists(range(20), 0), lists(range(20), 0.02), lists(range(USERS), 0.4)
SYSTEMS = {"own": OWN, "other": OTHER, "made_up": MADE_UP}
QRELS = {
    f"u{user:02}": {item: int(RNG.integers(0, 3)) for item in RNG.choice(CATALOGUE, 6, replace=False)}
    for user in range(JUDGED)
}
TRAINING = pl.DataFrame(
    [(f"u{u:02}", CATALOGUE[i]) for u in range(USERS) for i in RNG.choice(ITEMS - 8, 5, replace=False)],
    schema=["user", "item"],
    orient="row",
)
TABLE = pl.DataFrame(
    [(item, float(n % 7), "ab"[n % 2], "x|y" if n % 3 else "z") for n, item in enumerate(CATALOGUE)],
    schema=["item", "size", "group", "kind"],
    orient="row",
)
STATED = Items(TABLE, features=["size"], group="group", category="kind")


def systems(*names: str) -> list[rankgate.Run]:
    """Runs with an earlier and a repeated ranking each."""
    reads = {
        name: {user: row[::-1][:6] for user, row in SYSTEMS[name].items()} for name in names
    }  # the same items, partly
    return [
        rankgate.read_run(SYSTEMS[name], name, earlier=reads[name], repeats=[reads[name]]) for name in names
    ]


def collection(*, stated: bool) -> Collection:
    reference = dict.fromkeys(MADE_UP, CATALOGUE[:K])
    return Collection(QRELS, training=TRAINING, reference=reference, items=STATED if stated else Items())


def list_names(*, stated: bool) -> list[str]:
    """Every metric of lists that has its inputs."""
    missing = {"similarities"} | (set() if stated else {"features", "categories", "groups"})
    return [f"{metric.name}@{K}" for metric in LIST_METRICS if missing.isdisjoint(metric.inputs_needed)]


def ranking_names() -> list[str]:
    """Every metric of rankings that can be cut or needs no cutoff."""
    names = []
    for metric in by_name.values():
        required = {name: K if metric.parameters[name].kind == "int" else 0.5 for name in metric.missing}
        if metric.view not in {"sequence", "preferences"}:
            names.append(str(metric(**required)))
    return names


@cache
def evaluated(*names: str, stated: bool) -> dict[tuple[str, str], float | None]:
    metrics = [*ranking_names(), *list_names(stated=stated)]
    result = rankgate.evaluate(collection(stated=stated), systems(*names), metrics)
    columns = result.means.columns[1:]
    assert len(columns) == len(metrics)
    return {
        (row[0], m): value for row in result.means.rows() for m, value in zip(columns, row[1:], strict=True)
    }


@cache
def carded(*names: str, stated: bool) -> dict[tuple[str, str], tuple[float | None, ...]]:
    facets = [f"{metric.name}@{K}" for metric in FACET_METRICS if metric.name == "alpha_nDCG"]
    metrics = ["nDCG@5", "P@5", "AP", "RR", *(facets if stated else []), *list_names(stated=stated)]
    card = rankgate.scorecard(collection(stated=stated), systems(*names), metrics, resamples=20)
    rows = card.figures.drop("about", "higher_is_better").rows()
    assert {row[1] for row in rows} == {*metrics}
    return {row[:2]: row[2:] for row in rows}


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("verb", [evaluated, carded])
def test_a_figure_alone_is_the_figure_beside_others(verb, stated):
    """Values and users of each metric, where a neighbour makes up 40 % of its ids."""
    beside = verb("own", "other", "made_up", stated=stated)
    for name in SYSTEMS:
        for key, value in verb(name, stated=stated).items():
            assert _value(beside[key]) == pytest.approx(_value(value), rel=1e-12, nan_ok=True), key


def _value(figure: float | tuple[float | None, ...] | None) -> list[float]:
    """The value, and of a row of a card the number of users; intervals share their resamples."""
    parts = (figure[0], figure[3]) if isinstance(figure, tuple) else (figure,)
    return [float("nan") if part is None else part for part in parts]


@pytest.mark.parametrize("stated", [True, False])
def test_intervals_alone_are_those_beside_systems_that_serve_the_same_users(stated):
    beside = carded("own", "other", stated=stated)
    for key, figure in carded("own", stated=stated).items():
        assert figure == beside[key], key


@pytest.mark.parametrize("stated", [True, False])
def test_a_pair_is_the_same_beside_a_third_system(stated, monkeypatch):
    monkeypatch.setattr(compare, "TOTAL_RESAMPLES", 50)
    monkeypatch.setattr(many_systems, "DRAWS", 50)
    monkeypatch.setitem(queries_for.__kwdefaults__, "draws", 50)
    names = ["nDCG@5", "P@5", "RR@5", *list_names(stated=stated)]
    columns = ["metric", "n", "baseline", "candidate", "delta", "low", "high"]
    alone, beside = (
        rankgate.compare(collection(stated=stated), first, [*others], names, test=rankgate.Test(resamples=20))
        for first, *others in (systems("own", "other"), systems("own", "other", "made_up"))
    )
    pair = next(result for result in beside.comparisons if result.candidate.name == "other")
    one, other = (result.metrics.select(columns).rows() for result in (alone.only, pair))
    assert {row[0] for row in one} == {*names}
    assert one == other


def test_what_is_relative_is_named():
    card = rankgate.scorecard(
        collection(stated=True), systems(*SYSTEMS), ["nDCG@5", "Coverage@5"], resamples=5
    )
    alone = rankgate.scorecard(collection(stated=True), systems("own"), ["nDCG@5", "Coverage@5"], resamples=5)
    assert {name for name in RELATIVE if len(getattr(alone, name)) == 0} == RELATIVE
    assert len(card.differences) == 4


def test_made_up_items_count_for_nothing_and_are_named():
    """Coverage and the shares of invented, repeated and seen items, from their definitions."""
    names = ["Coverage@5", "InventedShare@5", "RepeatedShare@5", "SeenShare@5"]
    result = rankgate.evaluate(collection(stated=True), systems("made_up"), names)
    cut = {user: row[:K] for user, row in MADE_UP.items()}
    invented = [[item.startswith("x") for item in row] for row in cut.values()]
    history = dict(TRAINING.group_by("user").agg("item").rows())
    seen = [
        np.mean([item in history[user] for item in row if item[0] == "i"] or [np.nan])
        for user, row in cut.items()
    ]
    shown = {item for row in cut.values() for item in row} & {*CATALOGUE}
    expected = [len(shown) / ITEMS, np.mean(invented), 0, np.nanmean(seen)]
    assert result.means.row(0)[1:] == pytest.approx(expected)
    facts = result.runs[0].counts.catalogue
    assert (facts["places"], facts["invented"]) == (USERS * K, np.sum(invented))
    assert set(facts["examples"]) <= {item for row in cut.values() for item in row} - {*CATALOGUE}
    assert "outside the catalogue, such as x" in " ".join(str(result).split())
    beside = " ".join(str(rankgate.evaluate(collection(stated=True), systems(*SYSTEMS), names)).split())
    assert f"made_up: {np.sum(invented)} of {USERS * K} places" in beside


def test_matrices_with_different_columns_are_no_catalogue():
    small, large = np.random.default_rng(3).random((2, 4)), np.random.default_rng(4).random((2, 6))
    test = {0: [1], 1: [2]}
    assert rankgate.evaluate(test, large, ["Coverage@1"]).means.item(0, 1) in {1 / 6, 2 / 6}
    with raises("ambiguous-input"):
        rankgate.evaluate(test, {"small": small, "large": large}, ["Coverage@1"])
    stated = Collection(test, items=Items(catalogue=6))
    assert len(rankgate.evaluate(stated, {"small": small, "large": large}, ["Coverage@1"]).means) == 2
