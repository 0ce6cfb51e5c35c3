"""Tables of a comparison from two scored runs, and the verb ``ranks`` with its result.

The verb ``ranks`` gives the judged share and the mix of grades by rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import GRADE_LABEL, SHOWN_GRADE, SYSTEM
from rankgate.core.present.document_model import make_printable
from rankgate.core.present.layout import ShownChart, View
from rankgate.core.present.number_formats import format_correction
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import TASK_FIELDS, Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.data.query_latencies import bounds_row, latency_bounds, query_latencies
from rankgate.data.query_tags import in_slice
from rankgate.decisions.comparison.comparison_columns import LATENCY
from rankgate.measurement.evaluation.query_slices import unanswered_sentence
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.alignment.top_documents import number_pairs, split_pairs
from rankgate.measurement.stats.paired_tests import TIE

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.comparison import Comparisons, ManySystems
    from rankgate.decisions.comparison.paired_values import PairedValues
    from rankgate.measurement.scoring import Convention


_MAX_JUDGED_GAP = 0.05
_CUTOFFS = (1, 3, 5, 10, 20, 50, 100)  # of shares of judged documents, besides the depth


def query_tables(
    baseline: ScoredRun, candidates: Sequence[ScoredRun], values: Sequence[PairedValues], lists: pl.DataFrame
) -> list[pl.DataFrame]:
    """The table of compared queries of each pair: metrics in order, the worst query of each first.

    Args:
        baseline: the scored baseline.
        candidates: the scored candidates.
        values: the values of the baseline and each candidate.
        lists: the result of `joined_lists` for the same systems.
    """
    table = pl.concat(_value_rows(pair, pair_values) for pair, pair_values in enumerate(values))
    table = table.drop_nans("delta").sort("pair", "metric", "gain", "query_id")
    judged_of_baseline, *judged_of_candidates = (
        system.queries.select("query_id", "judged") for system in (baseline, *candidates)
    )
    judged_shares = pl.concat(judged_of_candidates).insert_column(0, number_pairs(judged_of_candidates))
    for details, keys in (
        (judged_of_baseline.rename({"judged": "judged_baseline"}), ["query_id"]),
        (judged_shares.rename({"judged": "judged_candidate"}), ["pair", "query_id"]),
        (_overlap(lists), ["pair", "query_id"]),
    ):
        table = table.join(details, on=keys, how="left", maintain_order="left")
    metric_names = pl.Series("metric", values[0].metrics, pl.String).gather(table["metric"])
    tables = split_pairs(table.with_columns(metric_names), len(candidates))
    return [
        query_rows.join(tag_table(baseline, candidate), "query_id", "left", maintain_order="left")
        if baseline.tags or candidate.tags
        else query_rows
        for candidate, query_rows in zip(candidates, tables, strict=True)
    ]


def _value_rows(pair: int, values: PairedValues) -> pl.DataFrame:
    """The values of a pair of systems: a row per metric and query, metrics by number."""
    delta = values.candidate - values.baseline
    delta[np.abs(delta) <= TIE] = 0.0
    columns = {
        "baseline": values.baseline,
        "candidate": values.candidate,
        "delta": delta,
        "gain": values.signs * delta,
    }
    query_count, metric_count = delta.shape
    query_ids = pl.Series("query_id", values.query_ids, dtype=pl.String)
    return pl.DataFrame(
        [
            pl.Series("pair", np.full(delta.size, pair, np.uint32)),
            query_ids.gather(np.tile(np.arange(query_count), metric_count)),
            pl.Series("metric", np.repeat(np.arange(metric_count), query_count)),
            *(pl.Series(name, matrix.T.ravel()) for name, matrix in columns.items()),
        ]
    )


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


def _overlap(lists: pl.DataFrame) -> pl.DataFrame:
    """The number of common documents, divided by the length of the longer list."""
    of_baseline = pl.col("system") == "baseline"
    longer_length = pl.max_horizontal(of_baseline.sum(), (~of_baseline).sum())
    return lists.group_by("pair", "query_id").agg(
        overlap=(of_baseline & pl.col("moved").is_not_null()).sum() / longer_length
    )


def latency_table(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """Quantiles of latency by system; no row for a system without latencies."""
    rows = []
    for name, system in (("baseline", baseline), ("candidate", candidate)):
        latencies = query_latencies(system.queries)
        if len(latencies):
            censored = int(latencies["high"].is_infinite().sum())
            bounds = bounds_row(latency_bounds(latencies))
            rows.append({"system": name, "n": len(latencies), "censored": censored, **bounds})
    return pl.DataFrame(rows, schema=LATENCY)


def state_tables(baseline: ScoredRun, candidates: Sequence[ScoredRun]) -> list[pl.DataFrame]:
    """Count the queries by system and state, for each pair."""
    states = [system.queries.select("state") for system in (baseline, *candidates)]
    counts = pl.concat(states).insert_column(0, number_pairs(states)).group_by("pair", "state")
    table = counts.agg(queries=pl.len().cast(pl.Int64)).sort("pair", "state")
    system = pl.when(pl.col("pair") == 0).then(pl.lit("baseline")).otherwise(pl.lit("candidate"))
    baseline_rows, *candidate_rows = split_pairs(
        table.select("pair", system.alias("system"), "state", "queries"), len(states)
    )
    return [pl.concat([baseline_rows, rows]) for rows in candidate_rows]


def unanswered_warnings(baseline: ScoredRun, candidate: ScoredRun) -> list[str]:
    """A sentence for each system with failed or unanswered queries."""
    sentences = []
    for system in (baseline, candidate):
        if (system.queries["state"] == "failed").any():
            states = dict(system.queries.group_by("state").len().iter_rows())
            sentences.append(f"{unanswered_sentence(system.name, states)}.")
    return sentences


def load_warnings(baseline: ScoredRun, candidate: ScoredRun) -> list[str]:
    """Warnings if the latencies were measured in different ways, or under different loads."""
    loads = [system.load for system in (baseline, candidate)]
    if not all(loads) or loads[0] == loads[1]:
        return []
    text = (
        f"latencies of {baseline.name} were measured {loads[0]}, those of {candidate.name} {loads[1]}: their "
        "difference is not one of the systems alone."
    )
    return [text]


def select_slice(baseline: ScoredRun, candidate: ScoredRun, slice_: str) -> tuple[ScoredRun, ScoredRun]:
    """Both systems with the queries of a slice, `tag=value`; lists are not filtered."""
    tags = tag_table(baseline, candidate)
    tagged = tags.filter(in_slice(slice_)) if slice_.partition("=")[0] in tags.columns else tags.clear()
    is_in_slice = pl.col("query_id").is_in(tagged["query_id"].implode())
    return (
        replace(baseline, queries=baseline.queries.filter(is_in_slice)),
        replace(candidate, queries=candidate.queries.filter(is_in_slice)),
    )


def judged_tables(baseline: ScoredRun, candidates: Sequence[ScoredRun]) -> list[pl.DataFrame]:
    """The mean share of judged documents in the first k of each pair, for k up to their depth."""
    depths = [min(baseline.depth, candidate.depth) for candidate in candidates]
    cutoffs = sorted({k for k in _CUTOFFS if k < max(depths)} | {*depths} - {0})
    baseline_means, *candidate_means = (
        _judged_means(system.lists, cutoffs) for system in (baseline, *candidates)
    )
    schema = {"system": pl.String, "k": pl.Int64, "share": pl.Float64}
    return [
        pl.DataFrame(
            [
                (system, k, share)
                for system, means in (("baseline", baseline_means), ("candidate", means_of_pair))
                for k, share in means.items()
                if k <= depth and (k in _CUTOFFS or k == depth)
            ],
            schema=schema,
            orient="row",
        )
        for means_of_pair, depth in zip(candidate_means, depths, strict=True)
    ]


def _judged_means(lists: pl.DataFrame, cutoffs: Sequence[int]) -> dict[int, Any]:
    is_judged = pl.col("grade").is_not_null()
    by_query = lists.group_by("query_id", maintain_order=True)
    shares = by_query.agg(is_judged.filter(pl.col("rank") <= k).mean().alias(str(k)) for k in cutoffs)
    return {k: shares[str(k)].mean() for k in cutoffs}


def uneven_warnings(judged_shares: pl.DataFrame, depth: int) -> list[str]:
    """A sentence if the judged shares of the two systems differ much."""
    share_of_system = {
        row["system"]: row["share"] for row in judged_shares.iter_rows(named=True) if row["k"] == depth
    }
    baseline_share, candidate_share = (share_of_system.get("baseline"), share_of_system.get("candidate"))
    if (
        baseline_share is None
        or candidate_share is None
        or abs(baseline_share - candidate_share) <= _MAX_JUDGED_GAP
    ):
        return []
    less_judged_system = "baseline" if baseline_share < candidate_share else "candidate"
    sentence = (
        f"judged@{depth} is {baseline_share:.2f} for the baseline and {candidate_share:.2f} for the "
        f"candidate: documents without a judgment count as irrelevant, so the {less_judged_system} may look "
        "worse than it is."
    )
    return [sentence]


MOST_GRADES = 8
"""With more grades, only relevant and not relevant are shown."""

_PLACEHOLDER_METRIC = "P@10"  # scoring needs a metric; the values are not used

JUDGED = Columns(
    "One row per system and rank.",
    SYSTEM,
    Column("rank", pl.Int64, "the rank, from 1"),
    Column("lists", pl.Int64, "lists that reach the rank"),
    Column("at", pl.Float64, "the share of the documents at the rank that are judged", header="judged there"),
    Column(
        "upto",
        pl.Float64,
        "the share of all documents down to the rank that are judged",
        header="judged down to it",
    ),
)
GRADES = Columns(
    "One row per system, rank and grade; the best grade first.",
    SYSTEM,
    Column("rank", pl.Int64, "the rank, from 1"),
    SHOWN_GRADE,
    GRADE_LABEL._replace(header="grade"),
    Column("count", pl.Int64, "documents at the rank with the grade", unit="documents", header="documents"),
    Column("share", pl.Float64, "their share of the documents at the rank", ".0%"),
)


@dataclass(frozen=True)
class GradesByRank(Result):
    """Judgments and grades of the first documents, rank by rank.

    Attributes:
        systems: names.
        qrels, qrels_sha256: the judgments.
        convention: name, axes and hash.
        depth: the last rank.
        queries: with judgments.
        judged: the columns of `JUDGED`.
        grades: the columns of `GRADES`.
    """

    kind = "ranks"
    label = "Judgments and grades, rank by rank"
    charts: ClassVar = {
        "judged": "rankgate.decisions.comparison.system_charts:JUDGED_CHART",
        "grades": "rankgate.decisions.comparison.system_charts:GRADES_CHART",
    }
    SCHEMAS: ClassVar = {"judged": JUDGED, "grades": GRADES}
    headline_text = "the first {depth:n document} of {systems:n system}, {queries:n query}"
    layout = (
        ShownChart("judged"),
        View("judged", "judged", keys=2),
        ShownChart("grades"),
        View("grades", "grades", ("system", "rank", "label", "count", "share"), keys=2, folded=True),
    )

    systems: tuple[str, ...]
    qrels: str
    qrels_sha256: str
    convention: JsonObject
    depth: int
    queries: int
    judged: pl.DataFrame
    grades: pl.DataFrame

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The judgments."""
        return ((self.qrels, "judgments", self.qrels_sha256),)


def ranks(
    collection: Collection | QrelsLike,
    runs: RunsLike,
    how: str | Convention = "trec",
    *,
    depth: int = 20,
    labels: Mapping[float, str] | None = None,
) -> GradesByRank:
    """Look at the first documents of each run, rank by rank.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        runs: runs, as ``compare`` takes candidates.
        how: the convention, which breaks ties.
        depth: the last rank.
        labels: the names of grades, besides those that the judgments bring.

    Raises:
        InputError: data that cannot be read, with file and line.
    """
    collection = Collection.of(collection)
    collection.refuse("this chart", *TASK_FIELDS)
    scorer = Scorer.from_metrics(collection, _PLACEHOLDER_METRIC, how, depth=depth)
    scored_runs = scorer.scored_systems(named_runs(runs))
    scale = scorer.qrels.scale
    names = {**dict(scale.labels if scale else ()), **(labels or {})}
    first_run = scored_runs[0]
    return GradesByRank(
        tuple(system.name for system in scored_runs),
        first_run.qrels,
        first_run.qrels_sha256,
        first_run.convention,
        depth,
        len(first_run.queries),
        *_rank_tables({system.name: system.lists for system in scored_runs}, names),
    )


def grades_by_rank(source: GradesByRank | Comparisons) -> GradesByRank:
    """Judgments and grades by rank of the lists of the first comparison."""
    if isinstance(source, GradesByRank):
        return source
    result = source.only
    scored_runs = (("baseline", result.baseline.name), ("candidate", result.candidate.name))
    lists = {name: result.lists.filter(pl.col("system") == system) for system, name in scored_runs}
    return GradesByRank(
        tuple(lists),
        result.qrels,
        result.qrels_sha256,
        result.convention,
        result.depth,
        result.lists["query_id"].n_unique(),
        *_rank_tables(lists, {}),
    )


def _rank_tables(
    lists: Mapping[str, pl.DataFrame], labels: Mapping[float, str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.concat(_judged_table(*system_lists) for system_lists in lists.items()), _grade_table(
        lists, labels
    )


def _judged_table(name: str, lists: pl.DataFrame) -> pl.DataFrame:
    judged_counts = lists.group_by("rank").agg(
        pl.len().cast(pl.Int64).alias("lists"),
        pl.col("grade").is_not_null().sum().cast(pl.Int64).alias("known"),
    )
    result = judged_counts.sort("rank").with_columns(
        pl.lit(name).alias("system"),
        (pl.col("known") / pl.col("lists")).alias("at"),
        (pl.col("known").cum_sum() / pl.col("lists").cum_sum()).alias("upto"),
    )
    return result.select(*JUDGED)


def _grade_table(lists: Mapping[str, pl.DataFrame], labels: Mapping[float, str]) -> pl.DataFrame:
    tables = [system_lists.with_columns(pl.lit(name).alias("system")) for name, system_lists in lists.items()]
    table = pl.concat(tables).select("system", "rank", "grade")
    if table["grade"].drop_nulls().n_unique() > MOST_GRADES:
        table = table.with_columns((pl.col("grade") > 0).cast(pl.Float64))
        labels = {1.0: "relevant", 0.0: "not relevant"}
    names = {
        grade: labels.get(grade, f"grade {grade:g}")
        for grade in table["grade"].drop_nulls().unique().to_list()
    }
    counts = table.group_by("system", "rank", "grade").agg(pl.len().cast(pl.Int64).alias("count"))
    index_of_system = {name: i for i, name in enumerate(lists)}
    return (
        counts.with_columns(
            (pl.col("count") / pl.col("count").sum().over("system", "rank")).alias("share"),
            pl.col("grade").replace_strict(names, default="unjudged", return_dtype=pl.String).alias("label"),
            pl.col("system").replace_strict(index_of_system, return_dtype=pl.Int64).alias("place"),
        )
        .sort("place", "rank", "grade", descending=[False, False, True], nulls_last=True)
        .select(*GRADES)
    )


_Figures = tuple[dict[tuple[str, int], float], dict[tuple[str, int], list[int]], str]


def marked_figures(result: Comparisons) -> _Figures:
    """Means by metric and system, the systems that each is significantly better than, and the tests."""
    first_comparison = result.comparisons[0]
    means: dict[tuple[str, int], float] = {}
    better: dict[tuple[str, int], list[int]] = {}
    for i, comparison in enumerate(result.comparisons, 1):
        for row in comparison.metrics.iter_rows(named=True):
            metric, delta, p = row["metric"], row["delta"], row["p_value"]
            means.setdefault((metric, 0), row["baseline"])
            means[metric, i] = row["candidate"]
            if p is not None and p < 1 - comparison.level and delta:
                better_system, worse_system = (i, 0) if row["gain"] > 0 else (0, i)
                better.setdefault((metric, better_system), []).append(worse_system)
    test = f"{first_comparison.test} test, paired, {format_correction(first_comparison.correction)}"
    base = make_printable(first_comparison.baseline.name)
    if len(result.comparisons) == 1:
        return means, better, test
    if result.many is None:
        return means, better, f"against {base} by the {test}; other pairs are not tested"
    for metric, system, worse in _better_pairs(result.many).iter_rows():
        better.setdefault((metric, system), []).extend(worse)
    return means, better, f"against {base} by the {test}; between the others by Tukey's HSD over all pairs"


def _better_pairs(many_systems: ManySystems) -> pl.DataFrame:
    """``metric``, ``better``, ``worse``: systems that differ by Tukey's HSD, without the baseline's pairs."""
    index_of_system = {name: i for i, name in enumerate(many_systems.systems)}
    is_significant = (pl.col("p_tukey") < 1 - many_systems.level) & (pl.col("delta") != 0)
    first, second = (
        pl.col(name).replace_strict(index_of_system, return_dtype=pl.Int64) for name in ("first", "second")
    )
    is_first_better = pl.col("gain") > 0
    return (
        many_systems.pairs.filter(is_significant & (first != 0) & (second != 0))
        .select(
            "metric",
            better=pl.when(is_first_better).then(first).otherwise(second),
            worse=pl.when(is_first_better).then(second).otherwise(first),
        )
        .group_by("metric", "better")
        .agg("worse")
    )
