"""Document of an evaluation: means, counts, convention, and values per query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import UNDEFINED, format_column, format_decimal

if TYPE_CHECKING:
    from rankgate.data import RunScores
    from rankgate.measurement.evaluation.scores import Scores

ALL_QUERIES = "all"
"""The name of the mean among the queries."""

COUNTS = {
    "queries": "queries",
    "missing": "missing",
    "zero_result": "zero-\nresult",
    "without_relevant": "without\nrelevant",
    "unknown_queries": "unknown\nqueries",
    "ties_broken": "ties\nbroken",
}
"""The counts next to every mean, and their heads."""


STATES = {"ok": "ok", "zero": "zero-\nresult", "failed": "failed", "not_run": "not run"}
"""The states of queries that a snapshot keeps, and their heads."""


def document(result: Scores, *, per_query: bool = False) -> Document:
    """Means and counts of every run; with ``per_query``, also every query of every run."""
    tables = [Table("", means(result)), *slices(result), Table("", counts(result))]
    tables += states(result)
    if result.weighted is not None:
        tables.insert(
            1,
            Table("means over the queries that these were drawn from", intervals(result.weighted)),
        )
    query_tables = queries(result) if per_query else ()
    run_tables = [
        Table(run.run, grid) for run, grid in zip(result.runs, query_tables, strict=False)
    ]
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    rows = PlainRows(*_rows(result, per_query=per_query))
    return made("", *run_tables, *tables, basis_line(result), warnings, rows=rows)


def _rows(
    result: Scores, *, per_query: bool
) -> tuple[tuple[str, ...], list[tuple[str | float | None, ...]]]:
    """Headers and rows: a value a line, the mean of a run after its queries."""
    bounds = any(run.low is not None for run in result.runs)
    headers = ("run", "metric", "query_id", "value", *(("low", "high") if bounds else ()))
    return headers, list(
        chain.from_iterable(
            _rows_of_run(run, metric, bounds=bounds, per_query=per_query)
            for run in result.runs
            for metric in result.metrics
        )
    )


def _rows_of_run(
    run: RunScores, metric: str, *, bounds: bool, per_query: bool
) -> Iterator[tuple[str | float | None, ...]]:
    bound_scores = (run.low, run.high) if bounds else ()
    if per_query:
        ends = [_per_query(bound, metric) for bound in bound_scores]
        for query, value in run.per_query(metric).items():
            yield run.run, metric, query, value, *(end.get(query) for end in ends)
    yield (
        run.run,
        metric,
        ALL_QUERIES,
        run.means[metric],
        *(_bound_mean(bound, metric) for bound in bound_scores),
    )


def _per_query(scores: RunScores | None, metric: str) -> dict[str, float | None]:
    return {} if scores is None or metric not in scores.values else scores.per_query(metric)


def means(result: Scores) -> Grid:
    """One row a run, one column a metric."""
    columns = {"run": [run.run for run in result.runs]}
    for metric in result.metrics:
        columns[metric] = format_column(run.means[metric] for run in result.runs)
        ends = [
            [_bound_mean(run.low, metric), _bound_mean(run.high, metric)] for run in result.runs
        ]
        if any(end is not None for pair in ends for end in pair):
            bound_texts = [[format_decimal(end) for end in pair] for pair in ends]
            cells = zip(columns[metric], bound_texts, strict=True)
            columns[metric] = [f"{value} [{low}, {high}]" for value, (low, high) in cells]
    return Grid.of(columns)


def _bound_mean(scores: RunScores | None, metric: str) -> float | None:
    """One end of the bounds of a mean, if there is one."""
    return None if scores is None else scores.means.get(metric)


def intervals(table: pl.DataFrame) -> Grid:
    """One row a run and metric: the mean over the population, and its interval."""
    from rankgate.core.present.figures import format_number

    rows = [
        (
            row["run"],
            row["metric"],
            str(row["queries"]),
            format_number(row["effective"], 1),
            format_decimal(row["mean"]),
            UNDEFINED
            if row["low"] is None
            else f"[{format_decimal(row['low'])}, {format_decimal(row['high'])}]",
        )
        for row in table.iter_rows(named=True)
    ]
    level = f"{table['level'][0]:.0%} interval"
    headers = ("run", "metric", "queries", "effective\nqueries", "mean", level)
    return Grid(headers, tuple(rows), frozenset({0, 1}))


def counts(result: Scores) -> Grid:
    """One row a run: numbers of queries by kind, ties, and shares of judged documents."""
    columns = {"run": [run.run for run in result.runs]}
    for name, header in COUNTS.items():
        columns[header] = [str(getattr(run.counts, name)) for run in result.runs]
    for k in result.runs[0].counts.judged_at:
        columns[f"judged@{k}"] = [format_decimal(run.counts.judged_at[k]) for run in result.runs]
    return Grid.of(columns)


def slices(result: Scores) -> Iterator[Table]:
    """One table a tag: a row for each of its values and each run, a column a metric."""
    if result.slices is None:
        return
    for (tag,), rows in result.slices.group_by("tag", maintain_order=True):
        pairs = rows.group_by("value", "run", maintain_order=True).agg(pl.col("n").max())
        columns = {str(tag): pairs["value"].to_list(), "n": [str(n) for n in pairs["n"]]}
        if len(result.runs) > 1:
            columns["run"] = pairs["run"].to_list()
        for metric in result.metrics:
            metric_rows = rows.filter(pl.col("metric") == metric)
            joined = pairs.join(metric_rows, ["value", "run"], how="left", maintain_order="left")
            columns[metric] = format_column(joined["mean"].to_list())
        yield Table(f"by {tag}", Grid.of(columns))


def states(result: Scores) -> tuple[Table, ...]:
    """One row a run with queries that returned nothing: the number in each state."""
    runs_with_states = [run for run in result.runs if run.counts.states]
    if all(run.counts.states["ok"] == sum(run.counts.states.values()) for run in runs_with_states):
        return ()
    columns = {"run": [run.run for run in runs_with_states]}
    for state, header in STATES.items():
        columns[header] = [f"{run.counts.states[state]:,}" for run in runs_with_states]
    return (Table("states of queries", Grid.of(columns)),)


def queries(result: Scores) -> Iterator[Grid]:
    """For each run one row a query, and all of them together in the last."""
    for run in result.runs:
        columns = {"query": [*run.query_ids, ALL_QUERIES]}
        for metric in result.metrics:
            columns[metric] = format_column([*run.per_query(metric).values(), run.means[metric]])
        yield Grid.of(columns)


def basis_line(result: Scores) -> str:
    """The judgments and the convention behind the numbers, in a line."""
    name, digits = result.convention["name"], result.convention["hash"]
    return f"judgments {result.qrels}, convention {name} ({digits})"
