"""The figures of a comparison, and of a gate's verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.store.records.new_record import Value
from rankgate.workspace.records.figures.figures import Figures, means_of

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons
    from rankgate.decisions.gating.verdict import Verdict


def figures(result: Comparisons) -> Figures:
    """Means of the baseline and of every candidate, slices, and values per query."""
    return _figures(result.comparisons)


def of_verdict(result: Verdict) -> Figures:
    """Those of the comparison that it is based on, and the verdict."""
    digests = dict(result.hashes)
    named = zip(("baseline", "candidate"), result.names, strict=True)
    runs = {name: str(digests[key]) for key, name in named if digests.get(key)}
    found = (
        Figures(convention=result.convention, qrels_sha256=str(digests.get("qrels") or ""))
        if result.comparison is None
        else _figures((result.comparison,))
    )
    rules = [{"id": each.rule.id, "status": each.outcome.status} for each in result.rules]
    return replace(
        found, system=result.names[1], verdict=result.verdict, runs={**found.runs, **runs},
        summary={**found.summary, "verdict": result.verdict, "rules": rules},
    )  # fmt: skip


def _figures(comparisons: Sequence[Comparison]) -> Figures:
    first = comparisons[0]
    tables = [_values(first, "baseline")]
    tables += [_values(each, "candidate") for each in comparisons]
    per_query = pl.concat(tables, how="diagonal")
    values = means_of(per_query, first.lower)
    for each in comparisons:
        values += _slices(each, baseline=each is first)
    runs = {each.name: each.sha256
            for each in (first.baseline, *(one.candidate for one in comparisons))}  # fmt: skip
    differences = [
        {"candidate": each.candidate.name, **{key: row[key] for key in
                                              ("metric", "delta", "low", "high", "p_value")}}
        for each in comparisons
        for row in each.metrics.iter_rows(named=True)
    ]  # fmt: skip
    return Figures(
        tuple(values), comparisons[-1].candidate.name, per_query, first.qrels,
        first.qrels_sha256, first.convention, runs,
        summary={"baseline": first.baseline.name, "differences": differences},
    )  # fmt: skip


def _values(comparison: Comparison, which: str) -> pl.DataFrame:
    """``system``, ``query_id``, a column a metric, of one of the two systems."""
    name = getattr(comparison, which).name
    wide = comparison.queries.select("query_id", "metric", which).pivot(
        "metric", index="query_id", values=which
    )
    return wide.sort("query_id").select(pl.lit(name).alias("system"), pl.all())


def _slices(comparison: Comparison, *, baseline: bool) -> list[Value]:
    names = ["candidate", *(["baseline"] if baseline else [])]
    return [
        Value(
            row["metric"], getattr(comparison, which).name, row[which], n=row["n"],
            slice=f"{row['tag']}={row['value']}",
            higher_is_better=row["metric"] not in comparison.lower,
        )
        for row in comparison.slices.iter_rows(named=True)
        for which in names
    ]  # fmt: skip
