"""Compute the tables of a comparison from two scored runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.dataframes import by_system
from rankgate.measurement.evaluation.states import unanswered

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import RunsLike
    from rankgate.decisions.comparison.values import PairedValues


_UNEVEN = 0.05


def named(candidates: RunsLike) -> Iterator[tuple[str | None, Any]]:
    """Each candidate with its name, if it has one."""
    candidates = by_system(candidates) or candidates
    if isinstance(candidates, Mapping):
        first = next(iter(candidates.values()), None)
        inside = next(iter(first.values()), 0.0) if isinstance(first, Mapping) and first else 0.0
        if isinstance(first, Mapping) and not isinstance(inside, Mapping):
            yield None, candidates  # {query: {doc: score}}
        else:
            yield from candidates.items()
    elif isinstance(candidates, list | tuple):
        yield from ((None, each) for each in candidates)
    else:
        yield None, candidates


def queries_of(baseline: ScoredRun, candidate: ScoredRun, values: PairedValues) -> pl.DataFrame:
    """Every query that is compared: metrics in order, the worst query of each first."""
    shared = _overlap(baseline, candidate)
    judged = baseline.queries.select("query_id", pl.col("judged").alias("judged_baseline")).join(
        candidate.queries.select("query_id", pl.col("judged").alias("judged_candidate")),
        on="query_id",
        how="full",
        coalesce=True,
    )
    tags = tags_of(baseline, candidate)
    parts = []
    for j, metric in enumerate(values.metrics):
        before, after = values.baseline[:, j], values.candidate[:, j]
        gain = values.signs[j] * (after - before)
        part = pl.DataFrame(
            {
                "query_id": values.query_ids,
                "metric": metric,
                "baseline": before,
                "candidate": after,
                "delta": after - before,
                "gain": gain,
            },
            schema_overrides={"query_id": pl.String},
        ).drop_nans("delta")
        parts.append(part.sort("gain", "query_id"))
    table = pl.concat(parts)
    for more in (judged, shared, tags):
        table = table.join(more, on="query_id", how="left", maintain_order="left")
    return table


def tags_of(*systems: ScoredRun) -> pl.DataFrame:
    """``query_id`` and the tags of all queries; the first that knows a tag decides."""
    table = systems[0].tagged
    for system in systems[1:]:
        more = system.tagged
        fresh = [name for name in more.columns if name not in table.columns]
        both = table.join(more.select("query_id", *fresh), on="query_id", how="left")
        others = more.join(table, on="query_id", how="anti")
        table = pl.concat([both, others], how="diagonal_relaxed")
    return table


def _overlap(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The share of the first documents that both lists have, of the longer of them."""
    both = (
        baseline.lists.join(candidate.lists, on=["query_id", "doc_id"])
        .group_by("query_id")
        .len("both")
    )
    sizes = [
        system.lists.group_by("query_id").len(name)
        for system, name in ((baseline, "one"), (candidate, "two"))
    ]
    table = sizes[0].join(sizes[1], on="query_id", how="full", coalesce=True)
    table = table.join(both, on="query_id", how="left").fill_null(0)
    longer = pl.max_horizontal("one", "two")
    return table.select("query_id", (pl.col("both") / longer).alias("overlap"))


def lists_of(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """Both lists, each document with how many ranks it gained against the other list."""
    parts = []
    for name, system, other in (
        ("baseline", baseline, candidate),
        ("candidate", candidate, baseline),
    ):
        theirs = other.lists.select("query_id", "doc_id", pl.col("rank").alias("there"))
        moved = pl.col("there") - pl.col("rank")
        parts.append(
            system.lists.join(
                theirs, on=["query_id", "doc_id"], how="left", maintain_order="left"
            ).select(
                "query_id",
                pl.lit(name).alias("system"),
                "rank",
                "doc_id",
                "grade",
                moved.alias("moved"),
            )
        )
    return pl.concat(parts)


def latency_of(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """Quantiles of the latency of the queries that say theirs; no row for a system without."""
    latency = pl.col("latency_ms")
    quantiles = [
        latency.quantile(q, "linear").alias(f"p{round(q * 100)}") for q in (0.5, 0.9, 0.95, 0.99)
    ]
    parts = [
        system.queries.filter(latency.is_not_null()).select(
            pl.lit(name).alias("system"),
            pl.len().cast(pl.Int64).alias("n"),
            latency.mean().alias("mean"),
            *quantiles,
        )
        for name, system in (("baseline", baseline), ("candidate", candidate))
    ]
    return pl.concat(parts).filter(pl.col("n") > 0)


def states_of(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """How many queries of each system are in each state."""
    parts = [
        system.queries.group_by("state")
        .agg(pl.len().cast(pl.Int64).alias("queries"))
        .select(pl.lit(name).alias("system"), "state", "queries")
        .sort("state")
        for name, system in (("baseline", baseline), ("candidate", candidate))
    ]
    return pl.concat(parts)


def unanswered_of(baseline: ScoredRun, candidate: ScoredRun) -> list[str]:
    """A sentence for each system that failed at queries or was not asked them."""
    sentences = []
    for system in (baseline, candidate):
        states = dict(system.queries.group_by("state").len().iter_rows())
        if states.get("failed"):
            sentences.append(f"{unanswered(system.name, states)}.")
    return sentences


def concurrency_of(baseline: ScoredRun, candidate: ScoredRun) -> list[str]:
    """A warning where latencies were measured under different loads of our own."""
    one, two = baseline.concurrency, candidate.concurrency
    if not one or not two or one == two:
        return []
    text = (
        f"latencies of {baseline.name} were measured with {one} queries at the same time, those of "
        f"{candidate.name} with {two}: their difference is not one of the systems alone."
    )
    return [text]


def of_slice(baseline: ScoredRun, candidate: ScoredRun, slice_: str) -> tuple[ScoredRun, ScoredRun]:
    """Both systems with what is known of the queries of a slice, `tag=value`; lists stay whole."""
    tag, _, value = slice_.partition("=")
    tags = tags_of(baseline, candidate)
    named = tags.filter(pl.col(tag).fill_null("") == value) if tag in tags.columns else tags.clear()
    own = pl.col("query_id").is_in(named["query_id"].implode())
    return (
        replace(baseline, queries=baseline.queries.filter(own)),
        replace(candidate, queries=candidate.queries.filter(own)),
    )


def judged_of(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The mean share of judged documents among the first k, for k up to the depth kept."""
    depth = min(baseline.depth, candidate.depth)
    rows = []
    for name, system in (("baseline", baseline), ("candidate", candidate)):
        for k in sorted({k for k in (1, 3, 5, 10, 20, 50, 100) if k < depth} | {depth} - {0}):
            top = system.lists.filter(pl.col("rank") <= k)
            share = top.group_by("query_id").agg(pl.col("grade").is_not_null().mean())["grade"]
            rows.append({"system": name, "k": k, "share": share.mean()})
    schema = {"system": pl.String, "k": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def uneven(judged: pl.DataFrame, depth: int) -> list[str]:
    """A sentence where one system was judged much less far than the other."""
    at = {row["system"]: row["share"] for row in judged.iter_rows(named=True) if row["k"] == depth}
    one, two = at.get("baseline"), at.get("candidate")
    if one is None or two is None or abs(one - two) <= _UNEVEN:
        return []
    less = "baseline" if one < two else "candidate"
    words = (
        f"judged@{depth} is {one:.2f} of the baseline and {two:.2f} of the candidate: documents "
        f"without a judgment count as irrelevant, so the {less} may look worse than it is."
    )
    return [words]
