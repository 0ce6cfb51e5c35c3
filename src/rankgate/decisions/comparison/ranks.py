"""Judged share and mix of grades by rank: the result, and its verb ``ranks``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.core.progress import step
from rankgate.data.collection import TASK_FIELDS, Collection
from rankgate.decisions.comparison import compared as parts
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.run_names import rename_duplicates

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.measurement.scoring import Convention

MOST_GRADES = 8
"""With more grades, only relevant and not relevant are shown."""

_PLACEHOLDER_METRIC = "P@10"  # scoring needs a metric; its values are not used

JUDGED: dict[str, Any] = {
    "system": pl.String,
    "rank": pl.Int64,
    "lists": pl.Int64,
    "at": pl.Float64,
    "upto": pl.Float64,
}
GRADES: dict[str, Any] = {
    "system": pl.String,
    "rank": pl.Int64,
    "grade": pl.Float64,
    "label": pl.String,
    "count": pl.Int64,
    "share": pl.Float64,
}


@dataclass(frozen=True)
class GradesByRank(Result):
    """Judgments and grades of the first documents, rank by rank.

    Attributes:
        systems: names.
        qrels, qrels_sha256: the judgments.
        convention: name, axes and hash.
        depth: the last rank.
        queries: with judgments.
        judged: ``system``, ``rank``, ``lists`` (that reach the rank), ``at`` (the share of the
            documents at the rank that are judged), ``upto`` (of all down to it).
        grades: ``system``, ``rank``, ``grade`` (null: unjudged; above and below 0 only where
            there are many), ``label``, ``count``, ``share`` of the documents at the rank; the
            best grade first.
    """

    kind: ClassVar[str] = "ranks"
    label: ClassVar[str] = "Judgments and grades, rank by rank"
    document_from: ClassVar[str] = "rankgate.decisions.comparison.documents.ranks:document"
    charts: ClassVar[Mapping[str, str]] = {
        "judged": "rankgate.decisions.comparison.charts.ranked:judged",
        "grades": "rankgate.decisions.comparison.charts.ranked:grades",
    }
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"judged": JUDGED, "grades": GRADES}

    systems: tuple[str, ...]
    qrels: str
    qrels_sha256: str
    convention: Mapping[str, Any]
    depth: int
    queries: int
    judged: pl.DataFrame
    grades: pl.DataFrame

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The judgments."""
        return ((self.qrels, "judgments", self.qrels_sha256),)

    def _table(self) -> pl.DataFrame:
        return self.judged


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
        how: the convention; it orders ties.
        depth: the last rank.
        labels: the names of grades, besides those that the judgments bring.

    Raises:
        InputError: data that cannot be read, with file and line.
    """
    collection = Collection.of(collection)
    collection.refuse("this chart", *TASK_FIELDS)
    scorer = Scorer.of(collection, _PLACEHOLDER_METRIC, how, depth=depth)
    scored_runs: list[ScoredRun] = []
    run_inputs: list[Any] = []
    for name, run in parts.iterate_candidates(runs):
        step(f"reading {name or 'a run'}")
        scored_runs.append(scorer.scored(run, name))
        run_inputs.append(run)
    scored_runs = rename_duplicates(scored_runs, run_inputs)
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
    tables = [
        system_lists.with_columns(pl.lit(name).alias("system"))
        for name, system_lists in lists.items()
    ]
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
            pl.col("grade")
            .replace_strict(names, default="unjudged", return_dtype=pl.String)
            .alias("label"),
            pl.col("system").replace_strict(index_of_system, return_dtype=pl.Int64).alias("place"),
        )
        .sort("place", "rank", "grade", descending=[False, False, True], nulls_last=True)
        .select(*GRADES)
    )
