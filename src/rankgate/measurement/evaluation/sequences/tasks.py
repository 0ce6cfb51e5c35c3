"""Tasks: which rankings belong together, in which order, and by which judgments."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.tags import tags_of
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
    """Which rankings belong to which task.

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
    def of(cls, judged: Qrels, run: Run, given: TagsLike | None) -> Tasks:
        """The tasks of a run: as a table says, else as the run does; else each query is one.

        Raises:
            InputError: a table without a column of tasks, a position that is not a number.
        """
        bare = pl.Series("query_id", list(judged.unjudged), dtype=pl.String)
        queries = pl.concat([judged.table["query_id"], bare]).unique().sort()
        table = _given(given, run, queries)
        own = table["query_id"].is_in(queries.implode())
        by_task = pl.when(own).then("query_id").otherwise(SEQUENCE).alias("judged_as")
        keyed = table.select("query_id", SEQUENCE, by_task)
        lone = queries.filter(~queries.is_in(keyed["judged_as"].implode()))
        missing = pl.DataFrame({"query_id": lone, SEQUENCE: lone}).with_columns(position=1.0)
        table = pl.concat([table, missing.cast({"position": pl.Float64})], how="diagonal")
        keyed = pl.concat([keyed, missing.select("query_id", SEQUENCE, judged_as="query_id")])
        grades = keyed.select("query_id", "judged_as").join(
            judged.table.select(judged_as="query_id", doc_id="doc_id", grade="grade"),
            on="judged_as",
            maintain_order="left",
        )
        known = keyed.filter(pl.col("judged_as").is_in(queries.implode()))[SEQUENCE].unique()
        some = set(grades["query_id"].unique())
        kept = table.filter(pl.col(SEQUENCE).is_in(known.implode()))
        qrels = Qrels(
            grades.select("query_id", "doc_id", "grade"),
            judged.name,
            unjudged=tuple(kept.filter(~pl.col("query_id").is_in(some))["query_id"]),
        )
        return cls(kept.sort(SEQUENCE, "position"), qrels, _answers(run))

    @property
    def names(self) -> pl.Series:
        """The tasks, each once, in byte order."""
        return self.table[SEQUENCE].unique().sort()

    @cached_property
    def index(self) -> JudgmentIndex:
        """The judgments of each ranking, laid out."""
        return JudgmentIndex.of(self.judgments)


def _given(given: TagsLike | None, run: Run, judged: pl.Series) -> pl.DataFrame:
    """The rows of `Tasks.table`, before judgments are known."""
    if given is not None:
        ran = run.query_ids
        ids = pl.concat([judged, ran]).unique().sort().alias("query_id")
        return _shaped(tags_of(given, ids), str(given) if isinstance(given, str) else "sequences")
    if run.queries is not None and SEQUENCE in run.queries.columns:
        return _shaped(run.queries, run.place.label)
    ran = run.query_ids
    ids = ran.filter(ran.is_in(judged.implode()))
    alone = pl.DataFrame({"query_id": ids, SEQUENCE: ids, "position": [1.0] * len(ids)})
    more = run.queries
    if more is not None:
        known = [name for name in ("tokens", "latency_ms") if name in more.columns]
        alone = alone.join(more.select("query_id", *known), on="query_id", how="left")
    return _shaped(alone, run.place.label)


def _shaped(table: pl.DataFrame, label: str) -> pl.DataFrame:
    """A table of tasks with our columns and types; without a position, in the order of rows."""
    lower = {name.strip().lower(): name for name in reversed(table.columns)}
    found = {
        ours: next((lower[name] for name in names if name in lower), None)
        for ours, names in _NAMES.items()
    }
    if found[SEQUENCE] is None:
        problem = (
            f"no column of tasks among {', '.join(table.columns)}; name one sequence, session, "
            "conversation or topic."
        )
        raise InputError(problem, source=label, code="missing-column")
    chosen = [pl.col("query_id"), pl.col(str(found[SEQUENCE])).cast(pl.String).alias(SEQUENCE)]
    for ours in ("position", "tokens"):
        name = found[ours]
        chosen.append(pl.lit(None).alias(ours) if name is None else pl.col(name).alias(ours))
    latency = pl.col("latency_ms") if "latency_ms" in table.columns else pl.lit(None)
    frame = table.select(*chosen, latency.alias("latency_ms")).drop_nulls(SEQUENCE)
    for name in ("position", "tokens"):
        number = frame[name].cast(pl.Float64, strict=False)
        wrong = frame[name].is_not_null() & ~number.is_finite().fill_null(value=False)
        if wrong.any():
            shown = frame[name].filter(wrong)[0]
            problem = f"{name} '{shown}' is not a number."
            raise InputError(problem, source=label, code="not-a-number")
        frame = frame.with_columns(number)
    row = pl.int_range(1, pl.len() + 1).over(SEQUENCE).cast(pl.Float64)
    frame = frame.with_columns(pl.coalesce("position", row).alias("position"))
    return frame.cast({name: dtype for name, dtype in _SCHEMA.items() if name in frame.columns})


def _answers(run: Run) -> pl.DataFrame:
    """What is known of the answers of tasks."""
    schema: dict[str, Any] = {
        SEQUENCE: pl.String,
        "cited": pl.List(pl.String),
        "answered": pl.Float64,
    }
    known = run.queries
    if known is None or not {SEQUENCE, "cited", "answered"} <= set(known.columns):
        return pl.DataFrame(schema=schema)
    rows = known.select(*schema).cast({"answered": pl.Float64})
    return rows.group_by(SEQUENCE).agg(
        pl.col("cited").drop_nulls().first(), pl.col("answered").drop_nulls().first()
    )
