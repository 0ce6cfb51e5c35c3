"""Document of an evaluation: means, counts, convention, and values per query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import UNDEFINED, column, decimal

if TYPE_CHECKING:
    from rankgate.data import Scores
    from rankgate.measurement.evaluation.evaluation import Evaluation

ALL = "all"
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


def document(result: Evaluation, *, per_query: bool = False) -> Document:
    """Means and counts of every run; every query of every run too, if asked for."""
    tables = [Table("", means(result)), *slices(result), Table("", counts(result))]
    tables += states(result)
    if result.weighted is not None:
        tables.insert(1, Table("means over the queries that these were drawn from",
                               intervals(result.weighted)))  # fmt: skip
    each = queries(result) if per_query else ()
    named = [Table(run.run, grid) for run, grid in zip(result.runs, each, strict=False)]
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    rows = PlainRows(*_rows(result, per_query=per_query))
    return made("", *named, *tables, rules(result), warnings, rows=rows)


def _rows(
    result: Evaluation, *, per_query: bool
) -> tuple[tuple[str, ...], list[tuple[str | float | None, ...]]]:
    """Head and rows: a value a line, the mean of a run after its queries."""
    bounds = any(run.low is not None for run in result.runs)
    head = ("run", "metric", "query_id", "value", *(("low", "high") if bounds else ()))
    return head, list(
        chain.from_iterable(
            _of_run(run, metric, bounds=bounds, per_query=per_query)
            for run in result.runs
            for metric in result.metrics
        )
    )


def _of_run(
    run: Scores, metric: str, *, bounds: bool, per_query: bool
) -> Iterator[tuple[str | float | None, ...]]:
    bound_scores = (run.low, run.high) if bounds else ()
    if per_query:
        ends = [_per_query(each, metric) for each in bound_scores]
        for query, value in run.per_query(metric).items():
            yield run.run, metric, query, value, *(end.get(query) for end in ends)
    yield run.run, metric, ALL, run.means[metric], *(_end(each, metric) for each in bound_scores)


def _per_query(scores: Scores | None, metric: str) -> dict[str, float | None]:
    return {} if scores is None or metric not in scores.values else scores.per_query(metric)


def means(result: Evaluation) -> Grid:
    """One row a run, one column a metric."""
    columns = {"run": [run.run for run in result.runs]}
    for metric in result.metrics:
        columns[metric] = column(run.means[metric] for run in result.runs)
        ends = [[_end(run.low, metric), _end(run.high, metric)] for run in result.runs]
        if any(end is not None for pair in ends for end in pair):
            shown = [[decimal(end) for end in pair] for pair in ends]
            both = zip(columns[metric], shown, strict=True)
            columns[metric] = [f"{value} [{low}, {high}]" for value, (low, high) in both]
    return Grid.of(columns)


def _end(scores: Scores | None, metric: str) -> float | None:
    """One end of the bounds of a mean, if there is one."""
    return None if scores is None else scores.means.get(metric)


def intervals(table: pl.DataFrame) -> Grid:
    """One row a run and metric: the mean over the population, and its interval."""
    from rankgate.core.present.figures import number

    rows = [
        (row["run"], row["metric"], str(row["queries"]), number(row["effective"], 1),
         decimal(row["mean"]),
         UNDEFINED if row["low"] is None else f"[{decimal(row['low'])}, {decimal(row['high'])}]")
        for row in table.iter_rows(named=True)
    ]  # fmt: skip
    level = f"{table['level'][0]:.0%} interval"
    head = ("run", "metric", "queries", "effective\nqueries", "mean", level)
    return Grid(head, tuple(rows), frozenset({0, 1}))


def counts(result: Evaluation) -> Grid:
    """One row a run: how many queries there were of each kind, ties, and how much was judged."""
    columns = {"run": [run.run for run in result.runs]}
    for name, head in COUNTS.items():
        columns[head] = [str(getattr(run.counts, name)) for run in result.runs]
    for k in result.runs[0].counts.judged_at:
        columns[f"judged@{k}"] = [decimal(run.counts.judged_at[k]) for run in result.runs]
    return Grid.of(columns)


def slices(result: Evaluation) -> Iterator[Table]:
    """One table a tag: a row for each of its values and each run, a column a metric."""
    if result.slices is None:
        return
    for (tag,), rows in result.slices.group_by("tag", maintain_order=True):
        pairs = rows.group_by("value", "run", maintain_order=True).agg(pl.col("n").max())
        columns = {str(tag): pairs["value"].to_list(), "n": [str(n) for n in pairs["n"]]}
        if len(result.runs) > 1:
            columns["run"] = pairs["run"].to_list()
        for metric in result.metrics:
            own = rows.filter(pl.col("metric") == metric)
            found = pairs.join(own, ["value", "run"], how="left", maintain_order="left")
            columns[metric] = column(found["mean"].to_list())
        yield Table(f"by {tag}", Grid.of(columns))


def states(result: Evaluation) -> tuple[Table, ...]:
    """One row a run whose queries did not all return something: how many are in each state."""
    known = [run for run in result.runs if run.counts.states]
    if all(run.counts.states["ok"] == sum(run.counts.states.values()) for run in known):
        return ()
    columns = {"run": [run.run for run in known]}
    for state, head in STATES.items():
        columns[head] = [f"{run.counts.states[state]:,}" for run in known]
    return (Table("states of queries", Grid.of(columns)),)


def queries(result: Evaluation) -> Iterator[Grid]:
    """For each run one row a query, and all of them together in the last."""
    for run in result.runs:
        columns = {"query": [*run.query_ids, ALL]}
        for metric in result.metrics:
            columns[metric] = column([*run.per_query(metric).values(), run.means[metric]])
        yield Grid.of(columns)


def rules(result: Evaluation) -> str:
    """The judgments and the convention behind the numbers, in a line."""
    name, digits = result.convention["name"], result.convention["hash"]
    return f"judgments {result.qrels}, convention {name} ({digits})"
