"""Simulate interleaving and A/B tests of two systems, and count the searches that they need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.data.read import read_qrels, read_run
from rankgate.measurement.scoring.scoring_facts import refuse_strange_documents
from rankgate.online.clicks.simulated_users import USERS, grades_of_lists, simulate_clicks
from rankgate.online.interleaving.interleave import interleave
from rankgate.online.interleaving.interleaved_requests import credits_of_requests
from rankgate.online.interleaving.interleaving_method import Assignment
from rankgate.online.interleaving.interleaving_methods import METHODS
from rankgate.online.interleaving.preference import TESTS, Sensitivity

if TYPE_CHECKING:
    from rankgate.core.arrays import Flags, Floats
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run import Run
    from rankgate.online.clicks.simulated_users import User

    Grades = Mapping[str, Mapping[str, float]]

RankedDocuments = Mapping[str, Sequence[str]]
"""Documents of each query, best first."""

_Z_SUM_SQUARED = (1.959964 + 0.841621) ** 2  # 5 % two-sided, power 80 %
_Z = 1.959964


def sensitivity(
    qrels: QrelsLike,
    runs: Sequence[RunLike],
    *,
    methods: Sequence[str] = (),
    user: str = "navigational",
    searches: Annotated[int, Range(4, 10_000_000)] = 20_000,
    ranks: Annotated[int, Range(1, 10)] = 10,
    seed: Annotated[int, Range(0)] = 0,
) -> Sensitivity:
    """Count the searches that interleaving and A/B tests need to distinguish two runs.

    Args:
        qrels: judgments: what simulated users click on.
        runs: two runs.
        methods: interleaving methods; by default all.
        user: who clicks: perfect, navigational or informational.
        searches: the number of searches simulated for each test; an A/B test has half of them in an arm.
        ranks: the number of ranks of a list that are shown.
        seed: the seed of the simulation.

    Raises:
        InputError: files that cannot be read; runs without a query or document that is judged.
        UsageError: not two runs of different names; no such method or user.
    """
    if len(runs) != 2:
        raise UsageError(f"name two runs, not {len(runs)}.", code="wrong-run-count")
    user_model = USERS.find(user)
    read_runs = [read_run(run, f"run{number}") for number, run in enumerate(runs, 1)]
    first_name, second_name = (run.name for run in read_runs)
    if first_name == second_name:
        raise UsageError("two runs have the same name.", code="same-name")
    grades = relative_grades(judged := read_qrels(qrels))
    lists = {run.name: top_documents(run, ranks) for run in read_runs}
    queries = sorted(set(lists[first_name]) & set(lists[second_name]) & set(grades))
    if not queries:
        raise InputError("no query of both runs is judged.", code="no-common-queries")
    for run in read_runs:
        common = run.table.filter(pl.col("query_id").is_in(queries))
        refuse_strange_documents(run.name, common, judged.table)
    random = np.random.default_rng(seed)
    sampled_queries = [queries[index] for index in random.integers(len(queries), size=searches)]
    query_grades = [grades[query] for query in sampled_queries]
    rows = _simulate_ab_tests(lists, sampled_queries, query_grades, user_model, random)
    for name in methods or METHODS:
        METHODS.find(name)
        mixed_lists = [
            interleave(
                {system: lists[system][query] for system in (first_name, second_name)},
                str(index),
                method=name,
                length=ranks,
                seed=seed,
                query=query,
            )
            for index, query in enumerate(sampled_queries)
        ]
        clicks = simulate_clicks(
            grades_of_lists([assignment.docs for assignment in mixed_lists], query_grades), user_model, random
        )
        credit = credits_of_clicks(mixed_lists, clicks)
        rows.append(_test_row(name, "interleaving", credit[:, 1] - credit[:, 0], (first_name, second_name)))
    min_searches = min((row["needed"] for row in rows[:3] if row["needed"] is not None), default=None)
    for row in rows:
        is_comparable = min_searches is not None and row["needed"]
        row["times_fewer"] = min_searches / row["needed"] if is_comparable else None
    return Sensitivity((first_name, second_name), user, searches, pl.DataFrame(rows, schema=TESTS), seed)


def relative_grades(qrels: QrelsLike) -> dict[str, dict[str, float]]:
    """Map queries and documents to their grades, divided by the highest of all."""
    table = read_qrels(qrels).by_document().table
    highest_grade = max(float(table["grade"].max() or 0), 1.0)  # type: ignore[arg-type]
    grades: dict[str, dict[str, float]] = {}
    for query, doc, grade in table.select("query_id", "doc_id", "grade").iter_rows():
        grades.setdefault(query, {})[doc] = max(grade or 0.0, 0.0) / highest_grade
    return grades


def top_documents(run: Run, ranks: int) -> dict[str, list[str]]:
    """The first documents of each query's list; equal scores keep the order of the file."""
    table = run.table.sort("score", descending=True, maintain_order=True)
    parts = table.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").head(ranks))
    return dict(parts.iter_rows())


def credits_of_clicks(assignments: Sequence[Assignment], clicks: Flags) -> Floats:
    """(N, systems) the credit of each system for each list."""
    rows, slots = np.nonzero(clicks)
    starts = np.searchsorted(rows, np.arange(len(assignments) + 1)).tolist()
    slot_list = slots.tolist()
    clicked = [slot_list[begin:end] for begin, end in pairwise(starts)]
    return credits_of_requests(assignments, clicked)


def _simulate_ab_tests(
    lists: Mapping[str, RankedDocuments],
    sampled_queries: Sequence[str],
    worth: Sequence[Mapping[str, float]],
    user_model: User,
    random: np.random.Generator,
) -> list[dict[str, Any]]:
    """Simulate A/B tests by three KPIs; each run answers half of the searches."""
    half = len(sampled_queries) // 2
    arms = []
    for name, half_slice in zip(lists, (slice(0, half), slice(half, None)), strict=True):
        half_lists = [lists[name][query] for query in sampled_queries[half_slice]]
        clicks = simulate_clicks(grades_of_lists(half_lists, worth[half_slice]), user_model, random)
        reciprocal_rank = np.where(clicks.any(axis=1), 1 / (clicks.argmax(axis=1) + 1), 0.0)
        arms.append(
            {
                "clicks_per_search": clicks.sum(axis=1).astype(np.float64),
                "search_ctr": clicks.any(axis=1).astype(np.float64),
                "mrr_first_click": reciprocal_rank,
            }
        )
    names: tuple[str, str] = tuple(lists)  # type: ignore[assignment]
    return [_test_row(kpi, "A/B", values, names, arms[1][kpi]) for kpi, values in arms[0].items()]


def _test_row(
    test: str, design: str, values: Floats, systems: tuple[str, str], other_values: Floats | None = None
) -> dict[str, Any]:
    """The row of a test: its effect and needed searches; arms are two halves of the searches."""
    if other_values is None:
        effect, variance = float(values.mean()), float(values.var(ddof=1))
        error = math.sqrt(variance / len(values))
    else:
        effect = float(other_values.mean() - values.mean())
        variances = float(values.var(ddof=1)), float(other_values.var(ddof=1))
        variance = 2 * sum(variances)  # of all searches: sum / (n / 2) = 2 sum / n
        error = math.sqrt(variances[0] / len(values) + variances[1] / len(other_values))
    is_detected = abs(effect) > _Z * error
    return {
        "test": test,
        "design": design,
        "effect": effect,
        "spread": math.sqrt(variance),
        "low": effect - _Z * error,
        "high": effect + _Z * error,
        "needed": math.ceil(_Z_SUM_SQUARED * variance / effect**2) if is_detected else None,
        "times_fewer": None,
        "better": systems[effect > 0] if is_detected else None,
    }
