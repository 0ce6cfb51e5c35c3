"""Figures of the stages of a pipeline: latency, changes of lists, and losses by cause.

Latency is that of each stage, and of the pipeline to its end. Changes of lists between stages are
added and removed documents, and grades of the first documents. The loss of a pipeline is measured
against the best possible value, by cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import GRADE_LABEL, SHOWN_GRADE
from rankgate.core.present.number_formats import count_noun
from rankgate.data.query_latencies import bounds_columns, bounds_row, latency_bounds, query_latencies
from rankgate.decisions.comparison.comparison_tables import MOST_GRADES

if TYPE_CHECKING:
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.pipelines.stage_run import StageRun


LATENCY = Columns(
    "One row per stage; no rows where runs were given.",
    Column("stage", pl.String, "the name of the stage"),
    Column("does", pl.String, "what it does", header="by"),
    Column("inputs", pl.String, "the stages that it takes its documents from, separated by commas"),
    Column("ok", pl.Int64, "queries that it answered", ",", unit="queries", header="with\nresults"),
    Column(
        "zero", pl.Int64, "queries that it answered without a document", ",", unit="queries", header="without"
    ),
    Column("failed", pl.Int64, "queries that failed", ",", unit="queries"),
    Column("n", pl.Int64, "queries that it got", unit="queries"),
    Column(
        "censored",
        pl.Int64,
        "queries that failed up to here, whose latency is only a lower bound",
        unit="queries",
    ),
    *bounds_columns(
        Column("mean", pl.Float64, "the mean latency of the stage alone", "milliseconds", unit="ms"),
        Column(
            "p50",
            pl.Float64,
            "the median latency of the stage alone",
            "milliseconds",
            unit="ms",
            header="alone,\nmedian",
        ),
        Column(
            "p95",
            pl.Float64,
            "the 95th percentile of the latency of the stage alone",
            "milliseconds",
            unit="ms",
            header="alone,\np95",
        ),
        Column("waits", pl.Float64, "the mean time until its inputs are there", "milliseconds", unit="ms"),
        Column("total", pl.Float64, "the mean time of the pipeline up to its end", "milliseconds", unit="ms"),
        Column(
            "total_p50",
            pl.Float64,
            "the median time of the pipeline up to its end",
            "milliseconds",
            unit="ms",
            header="to here,\nmedian",
        ),
        Column(
            "total_p95",
            pl.Float64,
            "the 95th percentile of the time of the pipeline up to its end",
            "milliseconds",
            unit="ms",
            header="to here,\np95",
        ),
    ),
    Column("file", pl.String, "the file of its run"),
)


def latency_table(stages: Sequence[StageRun]) -> pl.DataFrame:
    """The latency of each stage alone, and of the pipeline up to it.

        total(stage) = own(stage) + max over its inputs of total(input)

    for each query: latencies of consecutive stages add up; of parallel branches the slowest counts.
    Latencies of queries that failed are lower bounds. A query that failed in an earlier stage has
    no latency of the stage alone, and the time until there is a lower bound of the time to here.

    Args:
        stages: the stages, inputs first.

    Returns:
        the columns of `LATENCY`.
    """
    totals: dict[str, pl.DataFrame] = {}
    rows = []
    for taken_stage in stages:
        latencies = query_latencies(taken_stage.states)
        # queries that failed in an earlier stage have no latency of this one
        sent_ids = taken_stage.states.drop_nulls("latency_ms")["query_id"]
        latencies_alone = latencies.filter(pl.col("query_id").is_in(sent_ids.implode()))
        input_totals = _waiting_time([totals[name] for name in taken_stage.stage.inputs], latencies)
        # in the order of the queries, as sums of floats depend on their order
        waits = latencies.select("query_id").join(input_totals, on="query_id", maintain_order="left")
        to_here = latencies.with_columns(pl.col(end) + waits[end] for end in ("low", "high"))
        totals[taken_stage.stage.name] = to_here
        bounds = latency_bounds(latencies_alone)
        total_bounds = latency_bounds(to_here)
        states = dict(taken_stage.states.group_by("state").len().iter_rows())
        rows.append(
            {
                "stage": taken_stage.stage.name,
                "does": taken_stage.action,
                "inputs": ", ".join(taken_stage.stage.inputs),
                **{state: states.get(state, 0) for state in ("ok", "zero", "failed")},
                "n": len(latencies_alone),
                "censored": int(to_here["high"].is_infinite().sum()),
                **bounds_row(
                    {
                        **{name: bounds[name] for name in ("mean", "p50", "p95")},
                        "waits": latency_bounds(waits, {})["mean"],
                        "total": total_bounds["mean"],
                        **{f"total_{name}": total_bounds[name] for name in ("p50", "p95")},
                    }
                ),
                "file": str(taken_stage.path),
            }
        )
    return pl.DataFrame(rows, schema=LATENCY)


def _waiting_time(inputs: Sequence[pl.DataFrame], latencies: pl.DataFrame) -> pl.DataFrame:
    """``query_id``, ``low`` and ``high``: the time at which the last input arrives."""
    if not inputs:
        return latencies.select("query_id", low=pl.lit(0.0), high=pl.lit(0.0))
    return pl.concat(inputs).group_by("query_id").agg(pl.col("low", "high").max())


def describe_failures(taken_stage: StageRun) -> str:
    """The number of failed queries, with the most frequent error; empty if none failed."""
    errors = taken_stage.states.filter(pl.col("state") == "failed")["error"].fill_null("no reason")
    if errors.is_empty():
        return ""
    top_error = errors.value_counts(sort=True)["error"][0]
    return (
        f"{len(errors):,} of {count_noun(len(taken_stage.states), 'query')} failed, most often: {top_error}"
    )


_MAX_UNJUDGED_DIFFERENCE = 0.05

MOVES = Columns(
    "One row per stage and cutoff: documents that came and went, over all queries.",
    Column("stage", pl.String, "the name of the stage"),
    Column("k", pl.Int64, "the cutoff", header="among\nfirst"),
    Column("documents", pl.Int64, "documents that the stage has", unit="documents"),
    Column(
        "new", pl.Int64, "documents that the stage before lacks; null for the first stage", unit="documents"
    ),
    Column(
        "gone",
        pl.Int64,
        "documents of the stage before that it lacks; null for the first stage",
        unit="documents",
    ),
    Column("relevant", pl.Int64, "its documents with a grade above 0", unit="documents", header="found"),
    Column("gained", pl.Int64, "new documents that are relevant; null for the first stage", unit="documents"),
    Column("lost", pl.Int64, "gone documents that are relevant; null for the first stage", unit="documents"),
)
MIX = Columns(
    "One row per stage and grade: the grades of the first k documents, the best first.",
    Column("stage", pl.String, "the name of the stage"),
    SHOWN_GRADE,
    GRADE_LABEL,
    Column("count", pl.Int64, "documents with the grade", unit="documents"),
    Column("share", pl.Float64, "their share of the documents shown", ".1%"),
)


def count_moves(
    systems: Sequence[ScoredRun], cutoffs: Sequence[int], before: Sequence[int | None]
) -> pl.DataFrame:
    """The number of documents, and of relevant documents, that each stage has, adds and removes.

    Args:
        systems: the stages, in order.
        cutoffs: the numbers of first documents.
        before: the index of the stage with which each stage is compared; None for the first stage.

    Returns:
        ``stage``, ``k``, ``documents``, ``new`` and ``gone`` (against the stage before),
        ``relevant`` (a grade above 0), ``gained`` and ``lost`` of these; over all queries. The
        first stage has nothing before it: null.
    """
    rows = []
    for k in cutoffs:
        lists = [system.lists.filter(pl.col("rank") <= k) for system in systems]
        for system, stage_lists, previous_index in zip(systems, lists, before, strict=True):
            row = {
                "stage": system.name,
                "k": k,
                "documents": len(stage_lists),
                "relevant": _count_relevant(stage_lists),
            }
            if previous_index is not None:
                new = stage_lists.join(lists[previous_index], on=["query_id", "doc_id"], how="anti")
                removed = lists[previous_index].join(stage_lists, on=["query_id", "doc_id"], how="anti")
                row |= {"new": len(new), "gone": len(removed)}
                row |= {"gained": _count_relevant(new), "lost": _count_relevant(removed)}
            rows.append({name: row.get(name) for name in MOVES})
    return pl.DataFrame(rows, schema=MOVES)


def count_grades(systems: Sequence[ScoredRun], k: int, labels: Mapping[float, str]) -> pl.DataFrame:
    """The share of each grade among the first k documents of all queries.

    Args:
        systems: the stages.
        k: the cutoff.
        labels: the names of grades.

    Returns:
        ``stage``, ``grade`` (null: unjudged; above and below 0 only where there are more than
        `MOST_GRADES`), ``label``, ``count``, ``share`` of the documents shown; the best first.
    """
    tops = [system.lists.filter(pl.col("rank") <= k)["grade"] for system in systems]
    grades = sorted({g for top in tops for g in top.drop_nulls().to_list()}, reverse=True)
    has_many_grades = len(grades) > MOST_GRADES
    if has_many_grades:
        tops = [(top > 0).cast(pl.Float64) for top in tops]
        grades = [1.0, 0.0]
        labels = {1.0: "relevant", 0.0: "not relevant"}
    rows = []
    for system, top in zip(systems, tops, strict=True):
        for grade in (*grades, None):
            count = int(top.null_count() if grade is None else (top == grade).sum())
            label = "unjudged" if grade is None else labels.get(grade, f"grade {grade:g}")
            share = count / len(top) if len(top) else None
            rows.append(
                {"stage": system.name, "grade": grade, "label": label, "count": count, "share": share}
            )
    return pl.DataFrame(rows, schema=MIX)


def stage_kinds(moved: pl.DataFrame, depth: int, count: int) -> tuple[str, ...]:
    """The kind of each stage: a stage retrieves if it has documents that the stage before lacks."""
    new = moved.filter(pl.col("k") == depth)["new"].fill_null(1).to_list()
    return tuple("retrieves" if new[i] else "reranks" for i in range(count))


def parallel_stages(systems: Sequence[ScoredRun], kinds: Sequence[str]) -> set[int]:
    """The indices of stages that retrieve independently of the stage above.

    The stage below has documents that an independent stage lacks and an earlier stage has, because
    it merges both. In a sequence of stages no stage could have a document that the stage above
    removed.
    """
    pairs = [system.lists.select("query_id", "doc_id") for system in systems]
    parallel = set()
    for i in range(1, len(systems) - 1):
        if kinds[i] == "retrieves" and kinds[i + 1] == "retrieves":
            added = pairs[i + 1].join(pairs[i], on=["query_id", "doc_id"], how="anti")
            earlier = pl.concat(pairs[:i]).unique()
            if len(added.join(earlier, on=["query_id", "doc_id"], how="semi")):
                parallel.add(i)
    return parallel


def uneven_warnings(mixed: pl.DataFrame, k: int, before: Sequence[int | None]) -> list[str]:
    """A sentence for each step between lists with very different shares of judged documents."""
    holes = mixed.filter(pl.col("label") == "unjudged").select("stage", "share").rows()
    steps = [(holes[i], holes[index]) for index, i in enumerate(before) if i is not None]
    return [
        f"of the first {count_noun(k, 'document')} {previous_share:.0%} are unjudged at {previous_name} and "
        f"{share:.0%} at {name}: they count as not relevant, so "
        f"{previous_name if previous_share > share else name} may look worse than it is."
        for (previous_name, previous_share), (name, share) in steps
        if previous_share is not None
        and share is not None
        and abs(previous_share - share) > _MAX_UNJUDGED_DIFFERENCE
    ]


def _count_relevant(lists: pl.DataFrame) -> int:
    return int((lists["grade"] > 0).sum())


RETRIEVAL, APPROXIMATION = "retrieval", "approximation"
DEPTH, CUT, ORDER = "depth", "cut", "order"
"""Causes of a loss: the document is not among the candidates of retrieval; an approximate search
misses it; it is below those that a reranker orders; a reranker removes it; it is there, at a wrong
rank."""

LOSSES = Columns(
    "One row per stage and cause of a loss; the losses add up to the difference from the best value at the "
    "end.",
    Column("stage", pl.String, "the name of the stage"),
    Column("why", pl.String, "the cause: ``retrieval``, ``approximation``, ``depth``, ``cut`` or ``order``"),
    Column("lost", pl.Float64, "the loss of the target, mean over queries"),
    Column("share", pl.Float64, "its share of all that is missing", ".1%"),
)

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bottleneck:
    """The largest loss.

    Attributes:
        stage: its name.
        why: `RETRIEVAL`, `APPROXIMATION`, `DEPTH`, `CUT` or `ORDER`.
        lost: the size of the loss, mean over queries.
        share: the loss as a share of the whole loss.
        next_stage, next_why, next_lost: the second largest loss; None if there is no other.
        low, high: the interval of the difference of both losses, by Student's t; None with fewer
            than two queries, or without a second loss.
        significant: True if this interval is above 0.
    """

    stage: str
    why: str
    lost: float
    share: float
    next_stage: str | None
    next_why: str | None
    next_lost: float | None
    low: float | None
    high: float | None
    significant: bool


def compute_losses(
    values: pl.DataFrame, names: Sequence[str], kinds: Sequence[str], path: Sequence[int]
) -> tuple[pl.DataFrame, list[pl.Series]]:
    """The loss to the best possible value, in parts that add up.

        best − value_n = (best − ceiling_r)
                         + Σ_{r<i≤a} (ceiling_{i−1} − ceiling_i)
                         + Σ_{a<i≤n} [(ceiling_{i−1} − reach_i) + (reach_i − ceiling_i)]
                         + (ceiling_n − value_n)

    with r the last stage that retrieves, and the stages up to a its approximations. The parts are
    the documents that its candidates lack, those that each approximation misses or finds by chance,
    the documents that each later stage ignores and removes, and the imperfect order of the last
    stage. ``reach_i`` is the best value that any order of the documents that stage i or a later one
    reads can reach; without it a stage reads all candidates.

    A document that stage i and all later stages ignore would count if any of these m stages read
    deeper, so that each of them has 1/m of the loss (its Shapley value).

    Args:
        values: ``best``, ``value0``, ``ceiling0``, …, and ``reach1``, … if known.
        names: the names of the stages.
        kinds: ``retrieves``, ``approximates`` or ``reranks``.
        path: the indices of the stages from r to n.

    Returns:
        The columns of `LOSSES`, means over queries; for each row, the loss of each query.
    """
    first, end = path[0], path[-1]
    losses = {(first, RETRIEVAL): values["best"] - values[f"ceiling{first}"]}
    readers = [i for i in path if f"reach{i}" in values.columns]
    for before, i in pairwise(path):
        candidates, ceiling = values[f"ceiling{before}"], values[f"ceiling{i}"]
        if kinds[i] == "approximates":
            losses[i, APPROXIMATION] = candidates - ceiling
            continue
        if i in readers:
            ignoring_stages = readers[readers.index(i) :]
            depth_loss = (candidates - values[f"reach{i}"]) / len(ignoring_stages)
            for stage in ignoring_stages:
                losses[stage, DEPTH] = (
                    losses[stage, DEPTH] + depth_loss if (stage, DEPTH) in losses else depth_loss
                )
            candidates = values[f"reach{i}"]
        losses[i, CUT] = candidates - ceiling
    losses[end, ORDER] = values[f"ceiling{end}"] - values[f"value{end}"]
    causes = [RETRIEVAL, APPROXIMATION, DEPTH, CUT, ORDER]
    in_order = sorted(losses, key=lambda key: (path.index(key[0]), causes.index(key[1])))
    means = [float(losses[key].mean() or 0.0) for key in in_order]  # type: ignore[arg-type]
    total = sum(means)
    table = pl.DataFrame(
        {
            "stage": [names[stage] for stage, _ in in_order],
            "why": [cause for _, cause in in_order],
            "lost": means,
            "share": [loss / total if total > _ROUNDING else None for loss in means],
        },
        schema=LOSSES,
    )
    return table, [losses[key] for key in in_order]


def find_bottleneck(
    lost: pl.DataFrame, losses_by_query: Sequence[pl.Series], level: float
) -> Bottleneck | None:
    """The largest loss, with the significance of its difference to the second largest loss.

    Args:
        lost: the losses, from `compute_losses`.
        losses_by_query: the loss of each query, for each row of the losses.
        level: the confidence level of the interval.
    """
    ranked = lost.with_row_index("row").sort("lost", descending=True, maintain_order=True)
    first = ranked.row(0, named=True)
    if first["lost"] <= _ROUNDING:
        return None
    second = ranked.row(1, named=True)  # retrieval and order are always present
    low = high = None
    if len(losses_by_query[0]) > 1:
        from rankgate.measurement.stats.mean_intervals import t_interval

        difference = losses_by_query[first["row"]] - losses_by_query[second["row"]]
        interval = t_interval(difference.to_numpy(), level)
        low, high = float(interval.low[0]), float(interval.high[0])
    has_second = second["lost"] > _ROUNDING
    return Bottleneck(
        first["stage"],
        first["why"],
        first["lost"],
        first["share"],
        second["stage"] if has_second else None,
        second["why"] if has_second else None,
        second["lost"] if has_second else None,
        low,
        high,
        low is not None and low > 0,
    )
