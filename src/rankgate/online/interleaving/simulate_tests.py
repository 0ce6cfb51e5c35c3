"""Simulate interleaving and A/B tests of two systems, and count the searches that they need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.data.read import read_qrels, read_run
from rankgate.measurement.scoring.input_cautions import refuse_strange_documents
from rankgate.online.interleaving.assignment import Assignment
from rankgate.online.interleaving.catalogue import METHODS
from rankgate.online.interleaving.credits import credits_of_requests
from rankgate.online.interleaving.interleave import interleave
from rankgate.online.interleaving.sensitivity import TESTS, Sensitivity
from rankgate.online.interleaving.simulated import clicks_on, worth_of
from rankgate.online.simulation.users import USERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.run import Run
    from rankgate.online.simulation.users import User

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Grades = Mapping[str, Mapping[str, float]]

Ranked = Mapping[str, Sequence[str]]
"""Documents of each query, best first."""

_REACH = (1.959964 + 0.841621) ** 2  # 5 % two-sided, power 80 %
_SEEN = 1.959964


def sensitivity(
    qrels: QrelsLike,
    runs: Sequence[RunLike],
    *,
    methods: Sequence[str] = (),
    user: str = "navigational",
    searches: Count = 20_000,
    ranks: Annotated[int, Range(1, 10)] = 10,
    seed: Annotated[int, Range(0)] = 0,
) -> Sensitivity:
    """Count the searches that interleaving and A/B tests need to tell two runs from each other.

    Args:
        qrels: judgments that say what simulated users click on.
        runs: two runs.
        methods: interleaving methods; by default all.
        user: who clicks: perfect, navigational or informational.
        searches: how many are simulated for each test.
        ranks: how many ranks of a list are shown.
        seed: of the simulation.

    Raises:
        InputError: files that cannot be read; runs without a query or document that is judged.
        UsageError: not two runs of different names; no such method or user.
    """
    if len(runs) != 2:
        raise UsageError(f"name two runs, not {len(runs)}.", code="wrong-run-count")
    who = USERS.named(user)
    read = [read_run(run, f"run{place}") for place, run in enumerate(runs, 1)]
    one, other = (each.name for each in read)
    if one == other:
        raise UsageError("two runs have the same name.", code="same-name")
    grades = grades_of(judged := read_qrels(qrels))
    lists = {each.name: ranked(each, ranks) for each in read}
    queries = sorted(set(lists[one]) & set(lists[other]) & set(grades))
    if not queries:
        raise InputError("no query of both runs is judged.", code="no-common-queries")
    for each in read:
        common = each.table.filter(pl.col("query_id").is_in(queries))
        refuse_strange_documents(each.name, common, judged.table)
    random = np.random.default_rng(seed)
    drawn = [queries[at] for at in random.integers(len(queries), size=searches)]
    worth = [grades[query] for query in drawn]
    rows = _ab(lists, drawn, worth, who, random)
    for name in methods or METHODS:
        METHODS.named(name)
        shown = [
            interleave({each: lists[each][query] for each in (one, other)}, str(at),
                       method=name, length=ranks, seed=seed, query=query)
            for at, query in enumerate(drawn)
        ]  # fmt: skip
        clicks = clicks_on(worth_of([each.docs for each in shown], worth), who, random)
        credit = credits_of(shown, clicks)
        rows.append(_row(name, "interleaving", credit[:, 1] - credit[:, 0], (one, other)))
    least = min((row["needed"] for row in rows[:3] if row["needed"] is not None), default=None)
    for row in rows:
        known = least is not None and row["needed"]
        row["times_fewer"] = least / row["needed"] if known else None
    return Sensitivity((one, other), user, searches, pl.DataFrame(rows, schema=TESTS), seed)


def grades_of(qrels: QrelsLike) -> dict[str, dict[str, float]]:
    """By query and document the grade divided by the highest of all."""
    table = read_qrels(qrels).by_document().table
    top = max(float(table["grade"].max() or 0), 1.0)  # type: ignore[arg-type]
    found: dict[str, dict[str, float]] = {}
    for query, doc, grade in table.select("query_id", "doc_id", "grade").iter_rows():
        found.setdefault(query, {})[doc] = max(grade or 0.0, 0.0) / top
    return found


def ranked(run: Run, ranks: int) -> dict[str, list[str]]:
    """The top of each query's list; equal scores keep the order of the file."""
    table = run.table.sort("score", descending=True, maintain_order=True)
    parts = table.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").head(ranks))
    return dict(parts.iter_rows())


def credits_of(shown: Sequence[Assignment], clicks: Bools) -> Floats:
    """(N, systems) the credit that each system has for each list."""
    rows, slots = np.nonzero(clicks)
    starts = np.searchsorted(rows, np.arange(len(shown) + 1)).tolist()
    places = slots.tolist()
    clicked = [places[begin:end] for begin, end in pairwise(starts)]
    return credits_of_requests(shown, clicked)


def _ab(
    lists: Mapping[str, Ranked],
    drawn: Sequence[str],
    worth: Sequence[Mapping[str, float]],
    who: User,
    random: np.random.Generator,
) -> list[dict[str, Any]]:
    """Half of the searches with each run, by three KPIs."""
    half = len(drawn) // 2
    arms = []
    for name, part in zip(lists, (slice(0, half), slice(half, None)), strict=True):
        shown = [lists[name][query] for query in drawn[part]]
        arms.append(_kpis(clicks_on(worth_of(shown, worth[part]), who, random)))
    names: tuple[str, str] = tuple(lists)  # type: ignore[assignment]
    return [_row(kpi, "A/B", values, names, arms[1][kpi]) for kpi, values in arms[0].items()]


def _kpis(clicks: Bools) -> dict[str, Floats]:
    """(N,) KPIs of each search."""
    first = np.where(clicks.any(axis=1), 1 / (clicks.argmax(axis=1) + 1), 0.0)
    return {
        "clicks_per_search": clicks.sum(axis=1).astype(np.float64),
        "search_ctr": clicks.any(axis=1).astype(np.float64),
        "mrr_first_click": first,
    }


def _row(
    test: str,
    design: str,
    values: Floats,
    systems: tuple[str, str],
    others: Floats | None = None,
) -> dict[str, Any]:
    """A test's effect and needs; two arms have the variance of a difference of two halves."""
    if others is None:
        effect, variance = float(values.mean()), float(values.var(ddof=1))
        error = math.sqrt(variance / len(values))
    else:
        effect = float(others.mean() - values.mean())
        both = float(values.var(ddof=1)), float(others.var(ddof=1))
        variance = 2 * sum(both)  # of all searches together: sum / (n / 2) = 2 sum / n
        error = math.sqrt(both[0] / len(values) + both[1] / len(others))
    seen = abs(effect) > _SEEN * error
    return {
        "test": test, "design": design, "effect": effect, "spread": math.sqrt(variance),
        "low": effect - _SEEN * error, "high": effect + _SEEN * error,
        "needed": math.ceil(_REACH * variance / effect**2) if seen else None,
        "times_fewer": None, "better": systems[effect > 0] if seen else None,
    }  # fmt: skip
