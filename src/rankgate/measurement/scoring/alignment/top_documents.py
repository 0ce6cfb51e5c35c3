"""The first documents of each list, cut at a rank, with ranks and grades; lists of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID, SYSTEM
from rankgate.core.progress import step
from rankgate.data import read_run
from rankgate.data.foreign_frames import require_runs
from rankgate.data.qrels import Qrels
from rankgate.measurement.scoring.alignment.aligned_run import align_batch, sort_retrieved
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.row_order import rank_rows, sort_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.input_types import RunLike
    from rankgate.data.run import Batches, Run
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.scoring.alignment.aligned_run import AlignedRun
    from rankgate.measurement.scoring.alignment.kernel_inputs import RankingMode
    from rankgate.measurement.scoring.alignment.row_order import SortedRows
    from rankgate.measurement.scoring.convention import Alignment, Convention

    Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TopRows:
    """The first documents of each query, without order.

    Attributes:
        row: ``(n,)``, the rows of the documents among the ranked rows.
        owner: ``(n,)``, the query of each document.
        rank: ``(n,)``, the rank of each document, from 1.
        retrieved: ``(T,)``, the number of documents of each query that count.
    """

    row: Codes
    owner: Codes
    rank: Codes
    retrieved: Codes


def first(aligned_run: AlignedRun, how: Alignment, depth: int | None) -> TopRows:
    """Find the documents down to a rank, judged or unjudged.

    Args:
        aligned_run: the rows of whole queries.
        how: the rules that form rankings; the depth of the convention also applies.
        depth: the last rank; None means the complete list.
    """
    depth = min((k for k in (depth, how.depth) if k is not None), default=None)
    retrieved_run, sorted_rows = sort_retrieved(replace(aligned_run, rows=None), how)
    rows = _candidate_rows(sorted_rows, retrieved_run.owner, depth)
    owner = retrieved_run.owner[rows]
    rank = rank_rows(sorted_rows, rows, owner, retrieved_run.doc_ids, how.tie_order).rank
    if depth is not None:
        within = rank <= depth
        rows, owner, rank = rows[within], owner[within], rank[within]
    retrieved = np.bincount(retrieved_run.owner, minlength=len(retrieved_run.codes))
    if how.depth is not None:
        retrieved = np.minimum(retrieved, how.depth)
    return TopRows(rows if retrieved_run.rows is None else retrieved_run.rows[rows], owner, rank, retrieved)


def _candidate_rows(sorted_rows: SortedRows, owner: Codes, cutoff: int | None) -> Codes:
    """Rows that include all rows down to a cutoff, and few other rows."""
    if cutoff is None:
        return np.arange(sorted_rows.size)
    counts = np.bincount(owner, minlength=len(sorted_rows.starts))
    lengths = np.minimum(counts, cutoff)
    has_rows = lengths > 0
    last = sorted_rows.starts + lengths - 1
    if sorted_rows.keys is not None:  # keys rise with the position
        _, scores, sorted_keys = sorted_rows.keys
        limit = np.zeros(len(counts), np.uint64)
        limit[has_rows] = sorted_keys[last[has_rows]]
        return np.flatnonzero(sort_keys(owner, scores, len(counts)) <= limit[owner])
    if sorted_rows.heads is not None:  # equal scores are together: go to the end of the last group
        ends = np.append(sorted_rows.heads[1:], sorted_rows.size)
        group = np.searchsorted(sorted_rows.heads, last[has_rows], side="right") - 1
        lengths[has_rows] = ends[group] - sorted_rows.starts[has_rows]
    begin = np.repeat(sorted_rows.starts - np.cumsum(lengths) + lengths, lengths)
    return sorted_rows.rows_at(begin + np.arange(len(begin)))


SCHEMA = Columns(
    "One row per query and rank.",
    QUERY_ID,
    Column("rank", pl.Int64, "the rank, from 1"),
    DOC_ID,
    Column("grade", pl.Float64, "the grade; null for a document without one", "grade"),
    Column("retrieved", pl.Int64, "the number of the query's results"),
)


def tops(run: Run, index: JudgmentIndex, how: Convention, depth: int) -> pl.DataFrame:
    """The documents down to a rank, in the order of the convention.

    Args:
        run: the run; it is read once, batch by batch.
        index: the judgments; queries without judgments are left out.
        how: the convention.
        depth: the last rank.

    Returns:
        the columns of `SCHEMA` by query and rank: `grade` is null for a document without a grade of
        0 or more, `retrieved` is the number of documents in the complete list.

    Raises:
        InputError: see ``Run.batches``.
    """
    return _without_scores(top_rows_with_scores(run, index, how, depth))


def tops_of_aligned(
    aligned_runs: Iterable[AlignedRun], index: JudgmentIndex, convention: Convention, depth: int
) -> pl.DataFrame:
    """As `tops`, from the rows of a run that were aligned with the judgments already."""
    return _without_scores(
        _join_top_rows(_top_rows(aligned_run, index, convention, depth) for aligned_run in aligned_runs)
    )


def _without_scores(top_rows: pl.DataFrame) -> pl.DataFrame:
    grade = pl.when(pl.col("grade") >= 0).then("grade").alias("grade")
    return top_rows.with_columns(grade).select(*SCHEMA)


def top_rows_with_scores(
    run: Run, index: JudgmentIndex, how: Convention | RankingMode, depth: int | None
) -> pl.DataFrame:
    """As `tops`, with ``score`` and with grades below 0 unchanged; a depth of None means all."""

    def top_rows(batches: Batches) -> list[pl.DataFrame]:
        return [_top_rows(align_batch(batch, index), index, how, depth) for batch in batches(how.duplicates)]

    return _join_top_rows(run.over_queries(top_rows))


def _join_top_rows(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    schema = {**SCHEMA, "score": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *tables]).sort("query_id", "rank")


def _top_rows(
    aligned_run: AlignedRun, index: JudgmentIndex, how: Convention | RankingMode, depth: int | None
) -> pl.DataFrame:
    top = first(aligned_run, how.alignment, depth)
    grades = np.full(len(aligned_run.scores), np.nan)
    grades[aligned_run.row] = aligned_run.grade
    return pl.DataFrame(
        {
            "query_id": index.query_ids.gather(aligned_run.codes[top.owner]),
            "rank": top.rank,
            "doc_id": aligned_run.doc_ids.gather(top.row),
            "grade": grades[top.row],
            "retrieved": top.retrieved[top.owner],
            "score": aligned_run.scores[top.row],
        },
        schema={**SCHEMA, "score": pl.Float64},
    ).with_columns(pl.col("grade").fill_nan(None))


def distinct_names(names: Sequence[str], places: Sequence[object]) -> list[str]:
    """Make equal names different: by the shortest folder, by the complete file name, or by number.

    Args:
        names: the names of runs.
        places: the sources of the runs: paths, or other objects.

    >>> distinct_names(["x", "x", "y"], ["old/x.run", "new/x.run", "y.run"])
    ['old/x', 'new/x', 'y']
    >>> distinct_names(["smith", "smith"], ["smith.bm25.gz", "smith.rm3.gz"])
    ['smith.bm25', 'smith.rm3']
    >>> distinct_names(["x", "x"], ["x.run", "x.run"])
    ['x', 'x#2']
    """
    result = list(names)
    for i, name in enumerate(names):
        twins = [j for j, other_name in enumerate(names) if other_name == name]
        if len(twins) == 1:
            continue
        files = all(isinstance(places[j], str | Path) for j in twins)
        longer = _longer_name(i, {j: Path(str(places[j])) for j in twins}, name) if files else None
        number = twins.index(i) + 1
        result[i] = longer or (name if number == 1 else f"{name}#{number}")
    return result


def refuse_baseline_again(baseline: object, candidates: Sequence[object]) -> None:
    """Check that the baseline's file is not also given as a candidate.

    Raises:
        UsageError: a candidate is the same file, by the same or another path.
    """
    for candidate in candidates:
        if _is_file(baseline) and _is_file(candidate) and Path(str(baseline)).samefile(str(candidate)):
            raise UsageError(
                f"{candidate}: this file is the baseline too; name the run of another system.",
                code="baseline-is-candidate",
            )


def _is_file(source: object) -> bool:
    return isinstance(source, str | Path) and Path(source).is_file()


UNNAMED = "run"
"""The name of a run in memory that has no name."""


def compared_names(names: Sequence[str], places: Sequence[object]) -> list[str]:
    """Different names of a baseline and its candidates; arguments as in `distinct_names`.

    If several runs have no name, the first system is called baseline and the others candidate.
    """
    if names.count(UNNAMED) > 1 and not all(isinstance(source, str | Path) for source in places):
        roles = ["baseline", *["candidate"] * (len(names) - 1)]
        names = [role if name == UNNAMED else name for name, role in zip(names, roles, strict=True)]
    return distinct_names(names, places)


def rename_duplicates(systems: Sequence[ScoredRun], places: Sequence[object]) -> list[ScoredRun]:
    """Make names of scored systems different, as `compared_names` does."""
    names = compared_names([system.name for system in systems], places)
    return [
        system if system.name == name else replace(system, name=name)
        for system, name in zip(systems, names, strict=True)
    ]


def _longer_name(index: int, paths: dict[int, Path], name: str) -> str | None:
    """A unique name: with folders, or the file's name; else None.

    The result is None for a file given twice, and for files of one folder with equal names.
    """
    parts = {j: path.absolute().parts for j, path in paths.items()}
    for up in range(1, max(map(len, parts.values()))):
        tails = {j: path_parts[-1 - up : -1] for j, path_parts in parts.items()}
        if sum(tail == tails[index] for tail in tails.values()) == 1:
            return "/".join([*tails[index], name])
    files = {j: path.name.removesuffix(".gz").removesuffix(".zst") for j, path in paths.items()}
    return files[index] if sum(file == files[index] for file in files.values()) == 1 else None


_NO_DOCUMENT = "\x1f"  # no document has this id

RANKS = Columns(
    "One row per system, query and document: ranked lists.",
    SYSTEM,
    QUERY_ID,
    DOC_ID,
    Column("rank", pl.Int64, "the rank, from 1"),
)


def read_named_runs(runs: Sequence[RunLike]) -> list[Run]:
    """Read runs, and give them different names.

    Raises:
        InputError: a run cannot be read.
        UsageError: there is no run.
    """
    require_runs(runs)
    named_runs = [
        read_run(source, None if isinstance(source, str | Path) else f"run{i}")
        for i, source in enumerate(runs, 1)
    ]
    names = distinct_names([run.name for run in named_runs], runs)
    return [replace(run, name=name) for run, name in zip(named_runs, names, strict=True)]


def rank_runs(runs: Sequence[Run], depth: int, how: Convention) -> pl.DataFrame:
    """The first documents of every query of every run, in the order of the convention.

    Returns:
        the columns of `RANKS`.
    """
    parts = [pl.DataFrame(schema=RANKS)]
    for run in runs:
        step(run.name)
        queries = run.table["query_id"].unique()
        if len(queries):
            result = rank_run(run, queries, depth, how)
            parts.append(result.select(pl.lit(run.name).alias("system"), pl.all()))
    return pl.concat(parts)


def rank_run(run: Run, queries: pl.Series, depth: int, how: Convention) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``rank`` of the first documents of these queries of a run."""
    empty_judgments = pl.DataFrame({"query_id": queries}).with_columns(
        pl.lit(_NO_DOCUMENT).alias("doc_id"), pl.lit(0.0).alias("grade")
    )
    return tops(run, JudgmentIndex.from_judgments(Qrels(empty_judgments)), how, depth).select(
        "query_id", "doc_id", "rank"
    )


_LIST_ROWS = 1 << 18  # rows of lists that are joined at one time


def joined_lists(*systems: pl.DataFrame) -> pl.DataFrame:
    """Both lists of each pair, each document with the ranks that it gained against the other list.

    Args:
        systems: ``query_id``, ``rank``, ``doc_id``, ``grade`` of the baseline, and of each candidate.

    Returns:
        ``pair``, the number of the candidate, and the columns of a comparison's lists.
    """
    baseline_list, *candidate_lists = (
        lists.select("query_id", "rank", "doc_id", "grade") for lists in systems
    )
    step = max(1, _LIST_ROWS // max(len(lists) + 1 for lists in systems))
    return pl.concat(
        _join_lists(baseline_list, candidate_lists[begin : begin + step], begin)
        for begin in range(0, len(candidate_lists), step)
    )


def _join_lists(
    baseline_list: pl.DataFrame, candidate_lists: Sequence[pl.DataFrame], first_pair: int
) -> pl.DataFrame:
    """As `joined_lists`, for some of the pairs."""
    pairs = [(baseline_list, candidate_list) for candidate_list in candidate_lists]
    lists = [table for pair in pairs for table in pair]
    other_lists = [table for pair in pairs for table in reversed(pair)]
    # a list has the number 2·pair for the baseline, 2·pair + 1 for the candidate
    rows, other_rows = (
        pl.concat(tables).with_columns(list=number_pairs(tables) + 2 * first_pair)
        for tables in (lists, other_lists)
    )
    list_number = pl.col("list")
    return rows.join(
        other_rows.select("list", "query_id", "doc_id", other_rank="rank"),
        on=["list", "query_id", "doc_id"],
        how="left",
        maintain_order="left",
    ).select(
        "query_id",
        pl.when(list_number % 2 == 0).then(pl.lit("baseline")).otherwise(pl.lit("candidate")).alias("system"),
        "rank",
        "doc_id",
        "grade",
        moved=pl.col("other_rank") - pl.col("rank"),
        pair=list_number // 2,
    )


def split_pairs(table: pl.DataFrame, count: int) -> list[pl.DataFrame]:
    """The rows of each pair of systems, from a table that is sorted by its column ``pair``."""
    ends = np.searchsorted(table["pair"].to_numpy(), np.arange(count), side="right").tolist()
    rows = table.drop("pair")
    return [rows.slice(begin, end - begin) for begin, end in zip([0, *ends], ends, strict=False)]


def number_pairs(tables: Sequence[pl.DataFrame]) -> pl.Series:
    """The number of the pair of each row of tables, one table for each pair."""
    return pl.Series("pair", np.repeat(np.arange(len(tables), dtype=np.uint32), [*map(len, tables)]))
