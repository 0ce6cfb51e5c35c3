"""The figures of a comparison, and of a gate's verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.store.records.new_record import Value
from rankgate.workspace.records.figures.figures import Figures, compute_means

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons
    from rankgate.decisions.gating.verdict import Verdict


def comparison_figures(result: Comparisons) -> Figures:
    """Means of the baseline and of every candidate, slices, and values per query."""
    return _figures_of_comparisons(result.comparisons)


def verdict_figures(result: Verdict) -> Figures:
    """The figures of the verdict's comparison, and the verdict."""
    digests = dict(result.hashes)
    role_names = zip(("baseline", "candidate"), result.names, strict=True)
    runs = {name: str(digests[key]) for key, name in role_names if digests.get(key)}
    base_figures = (
        Figures(convention=result.convention, qrels_sha256=str(digests.get("qrels") or ""))
        if result.comparison is None
        else _figures_of_comparisons((result.comparison,))
    )
    rules = [
        {"id": rule_result.rule.id, "status": rule_result.outcome.status}
        for rule_result in result.rules
    ]
    return replace(
        base_figures,
        system=result.names[1],
        verdict=result.verdict,
        runs={**base_figures.runs, **runs},
        summary={**base_figures.summary, "verdict": result.verdict, "rules": rules},
    )


def _figures_of_comparisons(comparisons: Sequence[Comparison]) -> Figures:
    first = comparisons[0]
    tables = [_values_per_query(first, "baseline")]
    tables += [_values_per_query(comparison, "candidate") for comparison in comparisons]
    per_query = pl.concat(tables, how="diagonal")
    values = compute_means(per_query, first.lower)
    for comparison in comparisons:
        values += _slice_values(comparison, baseline=comparison is first)
    runs = {
        system.name: system.sha256
        for system in (first.baseline, *(comparison.candidate for comparison in comparisons))
    }
    differences = [
        {
            "candidate": comparison.candidate.name,
            **{key: row[key] for key in ("metric", "delta", "low", "high", "p_value")},
        }
        for comparison in comparisons
        for row in comparison.metrics.iter_rows(named=True)
    ]
    return Figures(
        tuple(values),
        comparisons[-1].candidate.name,
        per_query,
        first.qrels,
        first.qrels_sha256,
        first.convention,
        runs,
        summary={"baseline": first.baseline.name, "differences": differences},
    )


def _values_per_query(comparison: Comparison, role: str) -> pl.DataFrame:
    """``system``, ``query_id``, and a column for each metric, for one of the two systems."""
    name = getattr(comparison, role).name
    values = comparison.queries.select("query_id", "metric", role).pivot(
        "metric", index="query_id", values=role
    )
    return values.sort("query_id").select(pl.lit(name).alias("system"), pl.all())


def _slice_values(comparison: Comparison, *, baseline: bool) -> list[Value]:
    names = ["candidate", *(["baseline"] if baseline else [])]
    return [
        Value(
            row["metric"],
            getattr(comparison, role).name,
            row[role],
            n=row["n"],
            slice=f"{row['tag']}={row['value']}",
            higher_is_better=row["metric"] not in comparison.lower,
        )
        for row in comparison.slices.iter_rows(named=True)
        for role in names
    ]
