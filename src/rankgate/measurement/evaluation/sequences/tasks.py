"""Tasks: the rankings of each task, their order, and their judgments."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.tags import read_tags
from rankgate.data.qrels import Qrels
from rankgate.measurement.evaluation.sequences.asked import SEQUENCE
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

if TYPE_CHECKING:
    from rankgate.data.inputs import TagsLike
    from rankgate.data.run import Run

_NAMES = {
    SEQUENCE: ("sequence", "task", "session", "session_id", "conversation", "topic", "topic_id"),
    "position": ("position", "turn", "call", "step", "order"),
    "tokens": ("tokens",),
}
_SCHEMA = {
    "query_id": pl.String,
    SEQUENCE: pl.String,
    "position": pl.Float64,
    "tokens": pl.Float64,
    "latency_ms": pl.Float64,
}


@dataclass(frozen=True)
class Tasks:
    """The rankings of each task.

    Attributes:
        table: ``query_id``, ``sequence`` (the task), ``position`` (in it, from 1), ``tokens`` and
            ``latency_ms`` of the call; by task and position.
        judgments: those of each ranking: its own, or else those of its task.
        answers: ``sequence``, ``cited`` (a list of ids, or null) and ``answered`` (or null).
    """

    table: pl.DataFrame
    judgments: Qrels
    answers: pl.DataFrame

    @classmethod
    def of(cls, judged: Qrels, run: Run, task_table: TagsLike | None) -> Tasks:
        """Find the tasks of a run: from a table, else from the run; else each query is one.

        Raises:
            InputError: a table without a column of tasks, a position that is not a number.
        """
        unjudged_queries = pl.Series("query_id", list(judged.unjudged), dtype=pl.String)
        queries = pl.concat([judged.table["query_id"], unjudged_queries]).unique().sort()
        table = _task_rows(task_table, run, queries)
        is_judged = table["query_id"].is_in(queries.implode())
        by_task = pl.when(is_judged).then("query_id").otherwise(SEQUENCE).alias("judged_as")
        keyed = table.select("query_id", SEQUENCE, by_task)
        single_queries = queries.filter(~queries.is_in(keyed["judged_as"].implode()))
        missing = pl.DataFrame({"query_id": single_queries, SEQUENCE: single_queries}).with_columns(
            position=1.0
        )
        table = pl.concat([table, missing.cast({"position": pl.Float64})], how="diagonal")
        keyed = pl.concat([keyed, missing.select("query_id", SEQUENCE, judged_as="query_id")])
        grades = keyed.select("query_id", "judged_as").join(
            judged.table.select(judged_as="query_id", doc_id="doc_id", grade="grade"),
            on="judged_as",
            maintain_order="left",
        )
        judged_tasks = keyed.filter(pl.col("judged_as").is_in(queries.implode()))[SEQUENCE].unique()
        queries_with_grades = set(grades["query_id"].unique())
        task_rows = table.filter(pl.col(SEQUENCE).is_in(judged_tasks.implode()))
        qrels = Qrels(
            grades.select("query_id", "doc_id", "grade"),
            judged.name,
            unjudged=tuple(
                task_rows.filter(~pl.col("query_id").is_in(queries_with_grades))["query_id"]
            ),
        )
        return cls(task_rows.sort(SEQUENCE, "position"), qrels, _answers(run))

    @property
    def names(self) -> pl.Series:
        """The tasks, each once, in byte order."""
        return self.table[SEQUENCE].unique().sort()

    @cached_property
    def index(self) -> JudgmentIndex:
        """The index of the judgments of each ranking."""
        return JudgmentIndex.of(self.judgments)


def _task_rows(task_table: TagsLike | None, run: Run, judged: pl.Series) -> pl.DataFrame:
    """The rows of `Tasks.table`, before judgments are known."""
    if task_table is not None:
        run_queries = run.query_ids
        ids = pl.concat([judged, run_queries]).unique().sort().alias("query_id")
        return _rename_columns(
            read_tags(task_table, ids),
            str(task_table) if isinstance(task_table, str) else "sequences",
        )
    if run.queries is not None and SEQUENCE in run.queries.columns:
        return _rename_columns(run.queries, run.place.label)
    run_queries = run.query_ids
    ids = run_queries.filter(run_queries.is_in(judged.implode()))
    single_tasks = pl.DataFrame({"query_id": ids, SEQUENCE: ids, "position": [1.0] * len(ids)})
    query_table = run.queries
    if query_table is not None:
        cost_columns = [name for name in ("tokens", "latency_ms") if name in query_table.columns]
        single_tasks = single_tasks.join(
            query_table.select("query_id", *cost_columns), on="query_id", how="left"
        )
    return _rename_columns(single_tasks, run.place.label)


def _rename_columns(table: pl.DataFrame, label: str) -> pl.DataFrame:
    """Rename and cast the columns of a table of tasks; rows without a position keep their order."""
    lower = {name.strip().lower(): name for name in reversed(table.columns)}
    column_of = {
        column: next((lower[name] for name in names if name in lower), None)
        for column, names in _NAMES.items()
    }
    if column_of[SEQUENCE] is None:
        problem = (
            f"no column of tasks among {', '.join(table.columns)}; name one sequence, session, "
            "conversation or topic."
        )
        raise InputError(problem, source=label, code="missing-column")
    expressions = [
        pl.col("query_id"),
        pl.col(str(column_of[SEQUENCE])).cast(pl.String).alias(SEQUENCE),
    ]
    for column in ("position", "tokens"):
        name = column_of[column]
        expressions.append(
            pl.lit(None).alias(column) if name is None else pl.col(name).alias(column)
        )
    latency = pl.col("latency_ms") if "latency_ms" in table.columns else pl.lit(None)
    frame = table.select(*expressions, latency.alias("latency_ms")).drop_nulls(SEQUENCE)
    for name in ("position", "tokens"):
        number = frame[name].cast(pl.Float64, strict=False)
        is_invalid = frame[name].is_not_null() & ~number.is_finite().fill_null(value=False)
        if is_invalid.any():
            cell_text = frame[name].filter(is_invalid)[0]
            problem = f"{name} '{cell_text}' is not a number."
            raise InputError(problem, source=label, code="not-a-number")
        frame = frame.with_columns(number)
    row = pl.int_range(1, pl.len() + 1).over(SEQUENCE).cast(pl.Float64)
    frame = frame.with_columns(pl.coalesce("position", row).alias("position"))
    return frame.cast({name: dtype for name, dtype in _SCHEMA.items() if name in frame.columns})


def _answers(run: Run) -> pl.DataFrame:
    """The answers of tasks, from the run's queries."""
    schema: dict[str, Any] = {
        SEQUENCE: pl.String,
        "cited": pl.List(pl.String),
        "answered": pl.Float64,
    }
    queries = run.queries
    if queries is None or not {SEQUENCE, "cited", "answered"} <= set(queries.columns):
        return pl.DataFrame(schema=schema)
    rows = queries.select(*schema).cast({"answered": pl.Float64})
    return rows.group_by(SEQUENCE).agg(
        pl.col("cited").drop_nulls().first(), pl.col("answered").drop_nulls().first()
    )
