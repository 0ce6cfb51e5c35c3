"""Evaluate a run as trec_eval does, with its metrics, options, z-scores and output lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.id_match import IdRules
from rankgate.data.streams.source import open_source
from rankgate.measurement.evaluation.trec import trec_judgments
from rankgate.measurement.evaluation.trec.trec_columns import Column, parse_columns, relstrings
from rankgate.measurement.evaluation.trec.trec_judgments import (
    grades_as_preferences,
    group_values,
    preference_values,
    read_groups,
    read_preferences,
)
from rankgate.measurement.evaluation.trec.trec_words import AbsentQueryError, Relevance
from rankgate.measurement.metrics.metric_catalogue import METRICS_BY_TREC_NAME
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.scoring.scoring_job import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run, RunScores
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

    ZScores = Mapping[tuple[str, str], tuple[float, float]]


UNKNOWN = -1_000_000.0
"""The value that trec_eval prints if the file has no mean of a query and metric."""
_FIELDS = 4


def read_zscores(path: str | Path) -> ZScores:
    """Read mean and standard deviation by query and metric from ``query metric mean deviation``.

    Raises:
        InputError: a line does not have four fields, or a field is not a number.
    """
    input_file = open_source(path)
    mean_and_deviation = {}
    lines = (line for piece in input_file.chunks() for line in piece.decode().splitlines())
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            if len(fields) != _FIELDS:
                raise ValueError  # noqa: TRY301 - one error for both
            mean_and_deviation[fields[0], fields[1]] = float(fields[2]), float(fields[3])
        except ValueError:
            raise InputError(
                "expected 4 fields (query_id metric mean deviation), the last two being numbers.",
                source=input_file.label,
                line=number,
                code="wrong-field-count",
            ) from None
    return mean_and_deviation


def to_zscores(
    zscores: ZScores, label: str, query_ids: Sequence[str], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Convert values of a metric to z-scores; `UNKNOWN` if the file has no mean.

    A deviation of 0 gives 0 for a value equal to the mean. NaN in the file gives NaN.
    """
    out = np.full(len(values), UNKNOWN)
    for t, query in enumerate(query_ids):
        if (query, label) not in zscores:
            continue
        mean, deviation = zscores[query, label]
        if deviation:
            with np.errstate(invalid="ignore", over="ignore"):  # as in C, without a warning
                out[t] = (values[t] - mean) / deviation
        elif values[t] == mean:
            out[t] = 0.0
    return out


_GEOMETRIC_FLOOR = 0.00001  # the floor of a geometric mean
_RETRIEVED, _RELEVANT = "retrieved", "relevant"


@dataclass(frozen=True)
class TrecEvaluation:
    """The output of trec_eval, before rounding.

    Attributes:
        columns: the lines of a query's block and of the summary, in order.
        query_ids: the queries that have a block, in byte order.
        values: for each column its values, ``(T,)``, or strings; empty for ``runid``.
        summary: the summary of each column; None for ``relstring``.
    """

    columns: tuple[Column, ...]
    query_ids: tuple[str, ...]
    values: tuple[NDArray[np.float64] | Sequence[str], ...]
    summary: tuple[float | str | None, ...]

    def mean(self, label: str) -> float | str | None:
        """The summary of the column with this printed label."""
        return self.summary[[column.label for column in self.columns].index(label)]


def trec_eval(
    qrels: QrelsLike,
    run: RunLike,
    metrics: Sequence[str] = ("official",),
    *,
    complete: bool = False,
    level: int = 1,
    judged_only: bool = False,
    documents: int = 0,
    depth: int | None = None,
    te9: bool = False,
    relevance: Relevance = "qrels",
    zscores: str | Path | None = None,
) -> TrecEvaluation:
    """Evaluate a run as trec_eval 10 does, or as trec_eval 9.

    Args:
        qrels: judgments; a file is parsed as in trec_eval.
        run: the run; ``-`` is standard input.
        metrics: trec_eval's names and nicknames, with parameters after a dot.
        complete: queries that the run lacks count, with 0 (its ``-c``).
        level: the smallest grade that counts as relevant (``-l``).
        judged_only: documents without a judgment leave the ranking (``-J``).
        documents: documents in the collection, for ``utility`` (``-N``).
        depth: documents of each ranking that count; None is all (``-M``).
        te9: as trec_eval 9: scores as 32-bit floats, its recall points, its metrics.
        relevance: the format of the judgments (``-R``): grades (``qrels``), preferences
            (``prefs``), grades as preferences (``qrels_prefs``), or grades by several groups of
            judges (``qrels_jg``).
        zscores: a file with mean and standard deviation of each query and metric among other
            runs; values become z-scores (``-Z``).

    Raises:
        InputError: trec_eval would not read a file, or the files have no query in common.
        DuplicateError: a document appears twice for an evaluated query.
        UsageError: a metric is unknown, or the run lacks a query and ``complete`` is false
            (trec_eval 10 also stops; trec_eval 9 leaves such queries out).
    """
    requested_columns = parse_columns(metrics, level=level, documents=documents, te9=te9, relevance=relevance)
    used_convention = replace(
        CONVENTIONS["trec9" if te9 else "trec"],
        missing="leave_out" if te9 else "zero",
        depth=depth,
        judged_only=judged_only,
    )
    tagged = any(column.kind == "runid" for column in requested_columns)
    ranking = trec_judgments.read_ranking(run, te9=te9, tagged=tagged)
    if relevance == "qrels":
        query_values = _values_by_grades(
            qrels, ranking, requested_columns, used_convention, level=level, complete=complete
        )
    else:
        query_values = _values_by_preferences(relevance, qrels, ranking, requested_columns, used_convention)
    if zscores is not None:
        requested_columns, query_values = _to_zscores(read_zscores(zscores), requested_columns, query_values)
    if query_values.absent.any() and not complete:
        earlier_values = query_values.until(int(query_values.absent.argmax()))
        raise AbsentQueryError(
            query_values.query_ids[len(earlier_values.query_ids)],
            TrecEvaluation(tuple(requested_columns), earlier_values.query_ids, earlier_values.values, ()),
        )
    missing_count = query_values.lacking if complete else 0
    summary = [
        _summary(*column_and_values, missing_count)
        for column_and_values in zip(requested_columns, query_values.values, strict=True)
    ]
    for i, column in enumerate(requested_columns):
        if column.kind == "runid":
            summary[i] = ranking.tag or ranking.name
        elif column.name == "num_rel" and query_values.relevant is not None:
            summary[i] = query_values.relevant
    return TrecEvaluation(requested_columns, query_values.query_ids, query_values.values, tuple(summary))


@dataclass(frozen=True)
class _QueryValues:
    """The values of queries before the summary.

    Attributes:
        query_ids: queries with values.
        values: for each column its values, as in `TrecEvaluation`.
        absent: ``(T,)``, True for queries that are not in the run.
        lacking: judged queries without values.
        relevant: the value of ``num_rel`` in the summary, if it differs from the sum.
    """

    query_ids: tuple[str, ...]
    values: tuple[NDArray[np.float64] | Sequence[str], ...]
    absent: NDArray[np.bool_]
    lacking: int = 0
    relevant: float | None = None

    def until(self, end: int) -> _QueryValues:
        """The values of the first queries, up to a position."""
        return replace(
            self,
            query_ids=self.query_ids[:end],
            values=tuple(column_values[:end] for column_values in self.values),
        )


def _values_by_grades(
    qrels: QrelsLike,
    run: Run,
    requested_columns: Sequence[Column],
    how: Convention,
    *,
    level: int,
    complete: bool,
) -> _QueryValues:
    """The values with ordinary judgments."""
    te9 = how.missing == "leave_out"
    judgments = IdRules(accept=True).qrels(trec_judgments.read_judgments(qrels, te9=te9))
    index = JudgmentIndex.from_judgments(judgments)
    all_metrics = [*_keyed_metrics(requested_columns), *_needed_metrics(level)]
    # trec_eval 10 completes a run without any judged query by zeros
    scores = _score(index, run, all_metrics, how, strict=te9 or not complete)
    empty = how.judged_only or how.depth == 0
    values = tuple(_values(i, column, scores, empty=empty) for i, column in enumerate(requested_columns))
    return _QueryValues(
        tuple(scores.query_ids.to_list()),
        values,
        scores.why[_RETRIEVED] == MISSING,
        len(index.query_ids) - len(scores.query_ids),
        # independent of the level
        float(np.count_nonzero(index.grades > 0)) if complete else None,
    )


def _values_by_preferences(
    relevance: Relevance, qrels: QrelsLike, run: Run, requested_columns: Sequence[Column], how: Convention
) -> _QueryValues:
    """The values with preferences, or with judgments by several groups."""
    te9 = how.missing == "leave_out"
    if relevance == "qrels_jg":
        metrics = [() if column.name == "num_q" else column.metrics for column in requested_columns]
        result = group_values(read_groups(_path(qrels)), run, metrics, how)
    else:
        preferences = read_preferences(_path(qrels)) if relevance == "prefs" else None
        judgments = preferences or grades_as_preferences(qrels, te9=te9)
        plain = [
            replace(column, metrics=()) if column.name == "num_q" else column for column in requested_columns
        ]
        result = preference_values(judgments, run, plain, depth=how.depth, te9=te9)
    query_ids, values, present = result
    if not present.any():
        raise InputError("no query of the run is judged.", code="queries-differ")
    rows = np.flatnonzero(present) if te9 else np.arange(len(query_ids))
    return _QueryValues(
        tuple(query_ids[i] for i in rows),
        tuple(column_values[rows] for column_values in values),
        ~present[rows],
        len(query_ids) - len(rows),
    )


def _path(qrels: QrelsLike) -> str | Path:
    if isinstance(qrels, str | Path):
        return qrels
    raise UsageError(
        "preferences and judgments by groups are read from files; give a path.", code="invalid-syntax"
    )


def _to_zscores(
    zscores: ZScores, requested_columns: Sequence[Column], query_values: _QueryValues
) -> tuple[tuple[Column, ...], _QueryValues]:
    """Convert values to z-scores; strings are unchanged."""
    new_columns, values = [], []
    for column, value in zip(requested_columns, query_values.values, strict=True):
        plain = column.kind in ("runid", "relstring") or isinstance(value, list)
        new_columns.append(column if plain else replace(column, prefix="Z", kind="number"))
        unchanged = plain or column.name == "num_q"
        values.append(
            value
            if unchanged
            else to_zscores(zscores, column.label, query_values.query_ids, np.asarray(value))
        )
    return tuple(new_columns), replace(query_values, values=tuple(values))


def _keyed_metrics(requested_columns: Sequence[Column]) -> list[tuple[str, Metric]]:
    """Every metric to compute, with its own key."""
    return [
        (f"{i}.{j}", metric)
        for i, column in enumerate(requested_columns)
        for j, metric in enumerate(column.metrics)
    ]


def _needed_metrics(level: int) -> list[tuple[str, Metric]]:
    """The metrics that every query needs: documents retrieved, and relevant."""
    return [
        (_RETRIEVED, METRICS_BY_TREC_NAME["num_ret"]),
        (_RELEVANT, METRICS_BY_TREC_NAME["num_rel"](rel=level)),
    ]


def _score(
    index: JudgmentIndex, run: Run, metrics: Sequence[tuple[str, Metric]], how: Convention, *, strict: bool
) -> RunScores:
    """Score the run; a repeated document is an error only in an evaluated query."""
    try:
        return score(index, run, metrics, how, strict=strict)
    except DuplicateError as error:
        judged = index.query_ids.implode()

        def pieces() -> Iterator[pl.DataFrame]:
            for frame in run.pieces():
                yield frame.filter(pl.col("query_id").is_in(judged))

        try:
            return score(index, replace(run, pieces=pieces), metrics, how, strict=strict)
        except DuplicateError:
            raise error from None  # this error has line numbers of the complete file


def _values(i: int, column: Column, scores: RunScores, *, empty: bool) -> NDArray[np.float64] | list[str]:
    """The values of a column, with trec_eval 10's values for queries that the run lacks.

    For these trec_eval 10 evaluates a ranking of one unjudged document, which judged-only
    evaluation removes. Then it sets values that would show that document to 0, but only for names
    without parameters.
    """
    metric_values = [scores.values[f"{i}.{j}"] for j in range(len(column.metrics))]
    absent = scores.why[_RETRIEVED] == MISSING
    written = column.label != column.name
    if column.kind == "relstring":
        lengths = np.minimum(scores.values[_RETRIEVED], column.length)
        lengths[absent] = min(column.length, written and not empty)
        return relstrings(metric_values, lengths.astype(int).tolist())
    if not metric_values:
        return []
    value = (
        np.sum(metric_values, axis=0) / len(metric_values)
        if len(metric_values) > 1
        else metric_values[0].copy()
    )
    parameters = dict(column.metrics[0].given)
    if empty and column.name in ("iprec_at_recall", "11pt_avg"):
        none_needed = parameters.get("recall", 0) * scores.values[_RELEVANT] < 0.5  # rounds to 0
        value[absent & none_needed] = np.nan
    elif not empty and written and column.name == "utility":
        value[absent] += parameters["noise"] - parameters["avoided"]
    elif not empty and written and column.name == "rbp_resid":
        value[absent] = 1
    return np.where(np.isnan(value), -np.nan, value)  # the sign of 0/0 in C


def _summary(
    column: Column, values: NDArray[np.float64] | Sequence[str], missing_count: int
) -> float | str | None:
    """The summary of a column; queries without a block that count have the value 0."""
    if not column.metrics or column.kind == "relstring":
        return None
    aggregate = column.metrics[0].aggregate
    queries = len(values) + missing_count
    if column.name == "num_q":
        return float(queries)
    if aggregate == "geometric":
        logs = np.cumsum(np.log(np.maximum(values, _GEOMETRIC_FLOOR)))
        return float(np.exp((logs[-1] + missing_count * np.log(_GEOMETRIC_FLOOR)) / queries))
    added = float(np.cumsum(values)[-1])
    return added if aggregate == "sum" else added / queries


_QUERY_MARK = "\0"  # placeholder for the query in a template; no field of a file contains it
_FORMS = {"number": "%6.4f", "count": "%d", "relstring": "'%s'", "runid": "%s"}


def render(result: TrecEvaluation, *, per_query: bool = False, summary: bool = True) -> Iterator[str]:
    """Render the block of each query, if ``per_query``, and the summary, piece by piece."""
    if per_query:
        yield from _blocks(result)
    if summary:
        printed = [
            (column, value)
            for column, value in zip(result.columns, result.summary, strict=True)
            if column.in_summary
        ]
        template = _template([column for column, _ in printed])
        yield _fill_template(template, tuple(value for _, value in printed), "all")


def _blocks(result: TrecEvaluation) -> Iterator[str]:
    printed = [
        (column, list(values))
        for column, values in zip(result.columns, result.values, strict=True)
        if column.per_query
    ]
    template = _template([column for column, _ in printed])
    rows = zip(*(values for _, values in printed), strict=True) if printed else ()
    for query, row in zip(result.query_ids, rows, strict=False):
        yield _fill_template(template, row, query)


def _template(columns: list[Column]) -> str:
    lines = (
        f"{column.prefix}{column.label:<22}\t{_QUERY_MARK}\t".replace("%", "%%") + f"{_FORMS[column.kind]}\n"
        for column in columns
    )
    return "".join(lines)


def _fill_template(template: str, row: tuple[object, ...], query: str) -> str:
    text = template % row
    if any(_is_negative_nan(value) for value in row):
        lines = zip(text.split("\n"), row, strict=False)
        text = "".join(
            (line.removesuffix("   nan") + "  -nan" if _is_negative_nan(value) else line) + "\n"
            for line, value in lines
        )
    return text.replace(_QUERY_MARK, query)


def _is_negative_nan(value: object) -> bool:
    """NaN with its sign bit set: C prints ``-nan`` for it, Python ``nan``."""
    return isinstance(value, float) and math.isnan(value) and math.copysign(1, value) < 0
