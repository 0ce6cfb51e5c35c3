"""Compute the tables of a comparison from two scored runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.dataframes import frames_by_system
from rankgate.data.objects import read_rankings
from rankgate.data.read import is_ranking
from rankgate.measurement.evaluation.states import unanswered_sentence

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import RunsLike
    from rankgate.decisions.comparison.values import PairedValues


_MAX_JUDGED_GAP = 0.05


def iterate_candidates(
    candidates: RunsLike, doc_field: str | None = None
) -> Iterator[tuple[str | None, Any]]:
    """Iterate over candidates with their names, if any; `doc_field` as in ``rankings_of``."""
    candidates = read_rankings(candidates, "run", doc_field)
    candidates = frames_by_system(candidates) or candidates
    if isinstance(candidates, Mapping):
        if is_ranking(candidates):
            yield None, candidates
        else:
            yield from candidates.items()
    elif isinstance(candidates, list | tuple):
        yield from ((None, candidate) for candidate in candidates)
    else:
        yield None, candidates


def query_table(baseline: ScoredRun, candidate: ScoredRun, values: PairedValues) -> pl.DataFrame:
    """The table of compared queries: metrics in order, the worst query of each first."""
    overlap_of_query = _overlap(baseline, candidate)
    judged_shares = baseline.queries.select(
        "query_id", pl.col("judged").alias("judged_baseline")
    ).join(
        candidate.queries.select("query_id", pl.col("judged").alias("judged_candidate")),
        on="query_id",
        how="full",
        coalesce=True,
    )
    tags = tag_table(baseline, candidate)
    metric_tables = []
    for j, metric in enumerate(values.metrics):
        baseline_values, candidate_values = values.baseline[:, j], values.candidate[:, j]
        gain = values.signs[j] * (candidate_values - baseline_values)
        metric_table = pl.DataFrame(
            {
                "query_id": values.query_ids,
                "metric": metric,
                "baseline": baseline_values,
                "candidate": candidate_values,
                "delta": candidate_values - baseline_values,
                "gain": gain,
            },
            schema_overrides={"query_id": pl.String},
        ).drop_nans("delta")
        metric_tables.append(metric_table.sort("gain", "query_id"))
    table = pl.concat(metric_tables)
    for columns in (judged_shares, overlap_of_query, tags):
        table = table.join(columns, on="query_id", how="left", maintain_order="left")
    return table


def tag_table(*systems: ScoredRun) -> pl.DataFrame:
    """``query_id`` and the tags of all queries; the first system with a tag decides."""
    table = systems[0].tagged
    for system in systems[1:]:
        other_tags = system.tagged
        new_tags = [name for name in other_tags.columns if name not in table.columns]
        joined = table.join(other_tags.select("query_id", *new_tags), on="query_id", how="left")
        other_queries = other_tags.join(table, on="query_id", how="anti")
        table = pl.concat([joined, other_queries], how="diagonal_relaxed")
    return table


def _overlap(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The documents that both lists have, as a share of the longer list."""
    shared_counts = (
        baseline.lists.join(candidate.lists, on=["query_id", "doc_id"])
        .group_by("query_id")
        .len("both")
    )
    sizes = [
        system.lists.group_by("query_id").len(name)
        for system, name in ((baseline, "one"), (candidate, "two"))
    ]
    table = sizes[0].join(sizes[1], on="query_id", how="full", coalesce=True)
    table = table.join(shared_counts, on="query_id", how="left").fill_null(0)
    longer_length = pl.max_horizontal("one", "two")
    return table.select("query_id", (pl.col("both") / longer_length).alias("overlap"))


def list_table(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """Both lists, each document with the ranks that it gained against the other list."""
    tables = []
    for name, system, other_system in (
        ("baseline", baseline, candidate),
        ("candidate", candidate, baseline),
    ):
        other_ranks = other_system.lists.select("query_id", "doc_id", pl.col("rank").alias("there"))
        ranks_gained = pl.col("there") - pl.col("rank")
        tables.append(
            system.lists.join(
                other_ranks, on=["query_id", "doc_id"], how="left", maintain_order="left"
            ).select(
                "query_id",
                pl.lit(name).alias("system"),
                "rank",
                "doc_id",
                "grade",
                ranks_gained.alias("moved"),
            )
        )
    return pl.concat(tables)


def latency_table(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """Quantiles of latency by system; no row for a system without latencies."""
    latency = pl.col("latency_ms")
    quantiles = [
        latency.quantile(q, "linear").alias(f"p{round(q * 100)}") for q in (0.5, 0.9, 0.95, 0.99)
    ]
    tables = [
        system.queries.filter(latency.is_not_null()).select(
            pl.lit(name).alias("system"),
            pl.len().cast(pl.Int64).alias("n"),
            latency.mean().alias("mean"),
            *quantiles,
        )
        for name, system in (("baseline", baseline), ("candidate", candidate))
    ]
    return pl.concat(tables).filter(pl.col("n") > 0)


def state_table(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """Count the queries by system and state."""
    tables = [
        system.queries.group_by("state")
        .agg(pl.len().cast(pl.Int64).alias("queries"))
        .select(pl.lit(name).alias("system"), "state", "queries")
        .sort("state")
        for name, system in (("baseline", baseline), ("candidate", candidate))
    ]
    return pl.concat(tables)


def unanswered_warnings(baseline: ScoredRun, candidate: ScoredRun) -> list[str]:
    """A sentence for each system with failed or unanswered queries."""
    sentences = []
    for system in (baseline, candidate):
        states = dict(system.queries.group_by("state").len().iter_rows())
        if states.get("failed"):
            sentences.append(f"{unanswered_sentence(system.name, states)}.")
    return sentences


def concurrency_warnings(baseline: ScoredRun, candidate: ScoredRun) -> list[str]:
    """A warning if the latencies were measured under different loads."""
    baseline_load, candidate_load = baseline.concurrency, candidate.concurrency
    if not baseline_load or not candidate_load or baseline_load == candidate_load:
        return []
    text = (
        f"latencies of {baseline.name} were measured with {baseline_load} queries at the same "
        f"time, those of {candidate.name} with {candidate_load}: their difference is not one of "
        "the systems alone."
    )
    return [text]


def select_slice(
    baseline: ScoredRun, candidate: ScoredRun, slice_: str
) -> tuple[ScoredRun, ScoredRun]:
    """Both systems with the queries of a slice, `tag=value`; lists are not filtered."""
    tag, _, value = slice_.partition("=")
    tags = tag_table(baseline, candidate)
    tagged = (
        tags.filter(pl.col(tag).fill_null("") == value) if tag in tags.columns else tags.clear()
    )
    is_in_slice = pl.col("query_id").is_in(tagged["query_id"].implode())
    return (
        replace(baseline, queries=baseline.queries.filter(is_in_slice)),
        replace(candidate, queries=candidate.queries.filter(is_in_slice)),
    )


def judged_table(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The mean share of judged documents among the first k, for k up to the depth kept."""
    depth = min(baseline.depth, candidate.depth)
    rows = []
    for name, system in (("baseline", baseline), ("candidate", candidate)):
        for k in sorted({k for k in (1, 3, 5, 10, 20, 50, 100) if k < depth} | {depth} - {0}):
            first_documents = system.lists.filter(pl.col("rank") <= k)
            share = first_documents.group_by("query_id").agg(pl.col("grade").is_not_null().mean())[
                "grade"
            ]
            rows.append({"system": name, "k": k, "share": share.mean()})
    schema = {"system": pl.String, "k": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def uneven_warnings(judged_shares: pl.DataFrame, depth: int) -> list[str]:
    """A sentence if the judged shares of the two systems differ much."""
    share_of_system = {
        row["system"]: row["share"]
        for row in judged_shares.iter_rows(named=True)
        if row["k"] == depth
    }
    baseline_share, candidate_share = (
        share_of_system.get("baseline"),
        share_of_system.get("candidate"),
    )
    if (
        baseline_share is None
        or candidate_share is None
        or abs(baseline_share - candidate_share) <= _MAX_JUDGED_GAP
    ):
        return []
    less_judged_system = "baseline" if baseline_share < candidate_share else "candidate"
    sentence = (
        f"judged@{depth} is {baseline_share:.2f} of the baseline and {candidate_share:.2f} of the "
        f"candidate: documents without a judgment count as irrelevant, so the {less_judged_system} "
        "may look worse than it is."
    )
    return [sentence]
