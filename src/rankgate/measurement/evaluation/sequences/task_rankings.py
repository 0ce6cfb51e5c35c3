"""Build the input of metrics on sequences from the rankings of tasks and their passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.item_tables import read_described_table
from rankgate.data.qrels import Qrels
from rankgate.data.query_tags import read_tags, source_name
from rankgate.measurement.evaluation.metric_selection import SEQUENCE
from rankgate.measurement.metrics.sequences.sequence import NOTHING, Sequences
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.value_types import Schema
    from rankgate.data.collection import Collection
    from rankgate.data.id_match import IdRules
    from rankgate.data.input_types import TagsLike
    from rankgate.data.run import Duplicates, Run


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
        judgments: the judgments of each ranking: its own, or those of its task.
        answers: ``sequence``, ``cited`` (a list of ids, or null) and ``answered`` (or null).
    """

    table: pl.DataFrame
    judgments: Qrels
    answers: pl.DataFrame

    @classmethod
    def from_run(cls, judged: Qrels, run: Run, task_table: TagsLike | None) -> Tasks:
        """Find the tasks of a run from a table or from the run; otherwise each query is a task.

        Raises:
            InputError: the table has no column of tasks, or a position is not a number.
        """
        unjudged_queries = pl.Series("query_id", list(judged.unjudged), dtype=pl.String)
        queries = pl.concat([judged.table["query_id"], unjudged_queries]).unique().sort()
        table = _task_rows(task_table, run, queries, judged.ids)
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
            unjudged=tuple(task_rows.filter(~pl.col("query_id").is_in(queries_with_grades))["query_id"]),
        )
        return cls(task_rows.sort(SEQUENCE, "position"), qrels, _answers_of_tasks(run))

    @property
    def names(self) -> pl.Series:
        """The tasks, each once, in byte order."""
        return self.table[SEQUENCE].unique().sort()

    @cached_property
    def index(self) -> JudgmentIndex:
        """The index of the judgments of each ranking."""
        return JudgmentIndex.from_judgments(self.judgments)


def _task_rows(task_table: TagsLike | None, run: Run, judged: pl.Series, rules: IdRules) -> pl.DataFrame:
    """The rows of `Tasks.table`, before judgments are known."""
    if task_table is not None:
        run_queries = run.query_ids
        ids = pl.concat([judged, run_queries]).unique().sort().alias("query_id")
        label = source_name(task_table, "sequences")
        tables = "judgments and run", "the sequences"
        return _rename_columns(rules.fitting(read_tags(task_table, ids), ids, tables, label), label)
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
            f"no column of tasks among {', '.join(table.columns)}; name one sequence, session, conversation "
            "or topic."
        )
        raise InputError(problem, source=label, code="missing-column")
    expressions = [pl.col("query_id"), pl.col(str(column_of[SEQUENCE])).cast(pl.String).alias(SEQUENCE)]
    for column in ("position", "tokens"):
        name = column_of[column]
        expressions.append(pl.lit(None).alias(column) if name is None else pl.col(name).alias(column))
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


def _answers_of_tasks(run: Run) -> pl.DataFrame:
    """The answers of tasks, from the run's queries."""
    schema: Schema = {SEQUENCE: pl.String, "cited": pl.List(pl.String), "answered": pl.Float64}
    queries = run.queries
    if queries is None or not {SEQUENCE, "cited", "answered"} <= set(queries.columns):
        return pl.DataFrame(schema=schema)
    rows = queries.select(*schema).cast({"answered": pl.Float64})
    return rows.group_by(SEQUENCE).agg(
        pl.col("cited").drop_nulls().first(), pl.col("answered").drop_nulls().first()
    )


_BEST = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Passages:
    """The lengths of passages, and the documents that contain them.

    Attributes:
        table: ``doc_id``, ``source`` (the document of the passage; itself if unknown), and
            ``tokens`` if a column of lengths is named.
        label: the source of the table, for errors.
        whole: True if judgments are for documents, not for passages.
    """

    table: pl.DataFrame
    label: str
    whole: bool = False

    @classmethod
    def from_collection(cls, collection: Collection, judged: Qrels) -> Passages | None:
        """The passages of a collection; None if it names no column of passages.

        Raises:
            InputError: the table cannot be read, or a length is not a number of 0 or more.
            UsageError: a column or the table does not exist.
        """
        if collection.items.length is None and collection.items.document is None:
            return None
        if collection.items.table is None:
            raise UsageError(
                "length and document name columns of a table; give it, as --items passages.csv.",
                code="missing-input",
            )
        item_table = read_described_table(collection.items.table)
        ids = item_table.ids.alias("doc_id")
        columns = [ids, ids.alias("source")]
        if collection.items.document is not None:
            documents = item_table.description(collection.items.document).cast(pl.String)
            columns[1] = documents.fill_null(ids).alias("source")
        if collection.items.length is not None:
            lengths = item_table.numbers(collection.items.length)
            if (lengths < 0).any():
                row = int((lengths < 0).fill_null(value=False).arg_max() or 0)
                problem = f"{collection.items.length} {lengths[row]} of '{ids[row]}' is less than 0."
                raise item_table.place.error(problem, row, "not-a-number")
            columns.append(lengths.alias("tokens"))
        table = pl.DataFrame(columns)
        parts = table.filter(pl.col("source") != pl.col("doc_id"))["source"]
        judges_documents = bool(judged.table["doc_id"].is_in(parts.implode()).any())
        return cls(table, item_table.place.label, judges_documents)

    def judged(self, qrels: Qrels) -> Qrels:
        """Map judgments of passages to documents, with the best grade of their passages."""
        if not self.whole:
            return qrels
        table = self._sources(qrels.table).group_by(_BEST, maintain_order=True)
        return replace(qrels, table=table.agg(pl.col("grade").max()))

    def ranked(self, run: Run, duplicates: Duplicates) -> Run:
        """Map rankings to documents if judgments are for documents, each at its best passage.

        Args:
            run: rankings of passages.
            duplicates: the rule for a passage that is ranked twice.
        """
        if not self.whole:
            return run
        table = self._sources(run.whole(duplicates).frame)
        best = table.group_by(_BEST, maintain_order=True).agg(pl.col("score").max())
        return replace(run, pieces=lambda: iter([best]), rankings=None)

    def described(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with ``source`` and, if lengths are known, ``tokens``.

        Raises:
            InputError: a retrieved document has no length.
        """
        described_rows = rows.join(self.table, on="doc_id", how="left", maintain_order="left")
        described_rows = described_rows.with_columns(pl.coalesce("source", "doc_id"))
        if "tokens" in described_rows.columns and described_rows["tokens"].null_count():
            doc = described_rows.filter(pl.col("tokens").is_null())["doc_id"][0]
            problem = f"no length of '{doc}', which was retrieved; a budget needs every length."
            raise InputError(problem, source=self.label, code="missing-lengths")
        return described_rows

    def _sources(self, table: pl.DataFrame) -> pl.DataFrame:
        document_of = self.table.select("doc_id", "source")
        joined = table.join(document_of, on="doc_id", how="left", maintain_order="left")
        return joined.with_columns(pl.coalesce("source", "doc_id").alias("doc_id")).drop("source")


_CELLS = 1 << 22


@dataclass(frozen=True)
class TaskRows:
    """The rankings of tasks as tables.

    Attributes:
        tasks: the tasks of the rankings.
        rows: ``query_id``, ``rank``, ``doc_id``, ``source``, ``grade``, ``score``, and ``tokens``
            where lengths are known.
        values: the value of each ranking, ``query_id`` to value, by the name of the metric.
    """

    tasks: Tasks
    rows: pl.DataFrame
    values: Mapping[str, Mapping[str, float]]

    def blocks(self) -> Iterator[tuple[slice, Sequences]]:
        """Blocks of tasks of limited size: positions among the names of tasks, and the input."""
        names = self.tasks.names
        code = pl.DataFrame({SEQUENCE: names}).with_row_index("g")
        table = self.tasks.table.join(code, on=SEQUENCE, maintain_order="left")
        table = table.with_columns(pl.int_range(pl.len()).over("g").alias("q"))
        rows = self.rows.join(table.select("query_id", "g", "q"), on="query_id")
        rows = rows.sort("g", "q", "rank").with_columns(
            (pl.col("doc_id") == pl.col("query_id")).alias("same")
        )
        rows = rows.with_columns(pl.int_range(pl.len()).over("g", "q").alias("k"))
        pool = _pool(self.tasks, table)
        rows = _code_documents(rows)
        widest = _size(rows["k"]) * _size(table["q"])
        step = max(1, _CELLS // widest)
        for begin in range(0, len(names), step):
            end = min(begin + step, len(names))
            within = pl.col("g").is_between(begin, end - 1)
            local_code = (pl.col("g").cast(pl.Int64) - begin).alias("g")
            block_rows, calls, judged = (
                table_part.filter(within).with_columns(local_code) for table_part in (rows, table, pool)
            )
            yield slice(begin, end), self._block(block_rows, calls, judged, names[begin:end])

    def _block(
        self, rows: pl.DataFrame, table: pl.DataFrame, pool: pl.DataFrame, names: pl.Series
    ) -> Sequences:
        G = len(names)
        Q, K = _size(table["q"]), _size(rows["k"])
        cells = tuple(rows[name].to_numpy() for name in ("g", "q", "k"))
        places = tuple(table[name].to_numpy() for name in ("g", "q"))
        ids = table["query_id"].to_list()
        codes = dict(zip(rows["doc_id"].to_list(), rows["doc"].to_list(), strict=True))
        best = pool.filter(pl.col("grade") >= 0).sort("g", "grade", descending=[False, True])
        return Sequences(
            doc=_array((G, Q, K), cells, rows["doc"], NOTHING),
            grade=_array((G, Q, K), cells, rows["grade"], np.nan),
            source=_array((G, Q, K), cells, rows["source_code"], NOTHING),
            calls=np.bincount(places[0], minlength=G),
            ideal=_ragged(best, G, "grade", 0.0),
            judged=np.bincount(best["g"].to_numpy(), minlength=G),
            position=_array((G, Q), places, table["position"], np.nan),
            score=_array((G, Q, K), cells, rows["score"], 0.0),
            same=_array((G, Q, K), cells, rows["same"], False),  # noqa: FBT003 - the padding
            tokens=_array((G, Q, K), cells, rows["tokens"], 0.0) if "tokens" in rows.columns else None,
            spent=_array((G, Q), places, table["tokens"], np.nan),
            seconds=_array((G, Q), places, table["latency_ms"] / 1000, np.nan),
            letters=names.str.len_chars().to_numpy().astype(np.int64),
            right=_has_right_id(best, names),
            **_answer_arrays(self.tasks.answers, names, pool, codes),
            values={
                name: _array(
                    (G, Q),
                    places,
                    pl.Series([value_of_query.get(query_id) for query_id in ids], dtype=pl.Float64),
                    np.nan,
                )
                for name, value_of_query in self.values.items()
            },
        )


def _has_right_id(best: pl.DataFrame, names: pl.Series) -> NDArray[np.bool_]:
    """``(G,)``, True if the id of a task is one of its relevant documents."""
    matches = best.filter((pl.col("grade") >= 1) & (names.gather(best["g"]) == best["doc_id"]))
    is_right = np.zeros(len(names), bool)
    is_right[matches["g"].to_numpy()] = True
    return is_right


def _size(places: pl.Series) -> int:
    """The number of cells for positions from 0; at least one."""
    return 1 + int(places.to_numpy().max(initial=0))


def _pool(tasks: Tasks, table: pl.DataFrame) -> pl.DataFrame:
    """All judged documents of each task with their best grade: ``g``, ``doc_id``, ``grade``."""
    owner = table.select("query_id", "g")
    grouped = tasks.judgments.table.join(owner, on="query_id").group_by("g", "doc_id")
    return grouped.agg(pl.col("grade").max())


def _code_documents(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with documents as numbers."""
    names = pl.concat([rows["doc_id"], rows["source"].alias("doc_id")]).unique().sort()
    ids = pl.DataFrame({"doc_id": names}).with_row_index("doc")
    ids = ids.with_columns(pl.col("doc").cast(pl.Int64))
    sources = ids.rename({"doc_id": "source", "doc": "source_code"})
    return rows.join(ids, on="doc_id", maintain_order="left").join(
        sources, on="source", maintain_order="left"
    )


def _answer_arrays(
    answers: pl.DataFrame, names: pl.Series, pool: pl.DataFrame, codes: Mapping[str, int]
) -> dict[str, Any]:
    """The answers of tasks; the codes of documents that were never shown are below `NOTHING`."""
    if answers.is_empty():
        return {}
    tasks = pl.DataFrame({SEQUENCE: names}).with_row_index("g")
    tasks = tasks.join(answers, on=SEQUENCE, how="left", maintain_order="left")
    cited = (
        tasks.select(pl.col("g").cast(pl.Int64), pl.col("cited").list.unique(maintain_order=True))
        .explode("cited")
        .drop_nulls()
    )
    graded = cited.join(
        pool, left_on=["g", "cited"], right_on=["g", "doc_id"], how="left", maintain_order="left"
    )
    unseen = {doc: -2 - i for i, doc in enumerate(graded["cited"].unique().to_list())}
    code = [codes.get(doc, unseen[doc]) for doc in graded["cited"].to_list()]
    graded = graded.with_columns(pl.Series("doc", code, dtype=pl.Int64))
    return {
        "cited": _ragged(graded, len(names), "doc", NOTHING),
        "cited_grade": _ragged(graded, len(names), "grade", np.nan),
        "answered": tasks["answered"].to_numpy().astype(np.float64),
    }


def _array(
    shape: tuple[int, ...], cells: tuple[NDArray[Any], ...], values: pl.Series, empty: float
) -> NDArray[Any]:
    """Put values into cells of an array; all other cells stay empty."""
    cell_values = values.to_numpy()
    out = np.full(shape, empty, dtype=np.result_type(cell_values.dtype, type(empty)))
    out[cells] = cell_values
    return out


def _ragged(rows: pl.DataFrame, G: int, name: str, empty: float) -> NDArray[Any]:
    """One row per task, values in the order of rows, padded."""
    owner = rows["g"].to_numpy()
    lengths = np.bincount(owner, minlength=G)
    column = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return _array((G, max(1, int(lengths.max(initial=0)))), (owner, column), rows[name], empty)
