"""The document of an evaluation (means, counts, convention, values per query), and its report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document_model import (
    Chart,
    Document,
    FoldedBlock,
    Grid,
    PlainRows,
    Section,
    Table,
    Warnings,
    make_printable,
    nonempty_blocks,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun, format_column, format_decimal
from rankgate.measurement.evaluation.evaluation_columns import WEIGHTED

if TYPE_CHECKING:
    from rankgate.core.present.base_result import ReportOptions
    from rankgate.core.present.document_model import Block
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


def evaluation_document(result: Scores, *, per_query: bool = False) -> Document:
    """Means and counts of every run; with ``per_query``, also every query of every run."""
    tables = [Table("", means(result)), *slices(result), Table("", counts(result))]
    tables += states(result)
    if result.weighted is not None:
        tables.insert(
            1, Table("means over the queries that these were drawn from", intervals(result.weighted))
        )
    query_tables = queries(result) if per_query else ()
    run_tables = [Table(run.run, grid) for run, grid in zip(result.runs, query_tables, strict=False)]
    warnings = Warnings.from_notices(result.notices)
    rows = PlainRows(*_rows(result, per_query=per_query))
    return made("", *run_tables, *tables, basis_line(result), warnings, rows=rows)


def _rows(result: Scores, *, per_query: bool) -> tuple[tuple[str, ...], list[tuple[str | float | None, ...]]]:
    """Headers and rows: one value per line, the mean of a run after its queries."""
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
        ends = [
            {} if bound is None or metric not in bound.values else bound.per_query(metric)
            for bound in bound_scores
        ]
        for query, value in run.per_query(metric).items():
            yield run.run, metric, query, value, *(end.get(query) for end in ends)
    yield (
        run.run,
        metric,
        ALL_QUERIES,
        run.means[metric],
        *(_bound_mean(bound, metric) for bound in bound_scores),
    )


def means(result: Scores) -> Grid:
    """One row per run, one column per metric."""
    columns = {"run": [run.run for run in result.runs]}
    for metric in result.metrics:
        columns[metric] = format_column(run.means[metric] for run in result.runs)
        ends = [[_bound_mean(run.low, metric), _bound_mean(run.high, metric)] for run in result.runs]
        if any(end is not None for pair in ends for end in pair):
            bound_texts = [[format_decimal(end) for end in pair] for pair in ends]
            cells = zip(columns[metric], bound_texts, strict=True)
            columns[metric] = [f"{value} [{low}, {high}]" for value, (low, high) in cells]
    return Grid.of(columns)


def _bound_mean(scores: RunScores | None, metric: str) -> float | None:
    """One end of the bounds of a mean; empty if there are no bounds."""
    return None if scores is None else scores.means.get(metric)


def intervals(table: pl.DataFrame) -> Grid:
    """One row per run and metric: the mean over the population, and its interval."""
    return WEIGHTED.grid(
        table,
        "run",
        "metric",
        "queries",
        "effective",
        "mean",
        ("low", "high"),
        headers={"low": f"{table['level'][0]:.0%} interval"},
        keys=2,
    )


def counts(result: Scores) -> Grid:
    """One row per run: numbers of queries by kind, ties, and shares of judged documents."""
    columns = {"run": [run.run for run in result.runs]}
    for name, header in COUNTS.items():
        columns[header] = [str(getattr(run.counts, name)) for run in result.runs]
    if any(run.counts.unrated for run in result.runs):
        columns["nobody\nrated"] = [str(run.counts.unrated) for run in result.runs]
    for k in result.runs[0].counts.judged_at:
        columns[f"judged@{k}"] = [format_decimal(run.counts.judged_at[k]) for run in result.runs]
    return Grid.of(columns)


def slices(result: Scores) -> Iterator[Table]:
    """One table per tag: a row for each value and run, a column per metric."""
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
    """One row for each run with queries that returned nothing: the number in each state."""
    runs_with_states = [run for run in result.runs if run.counts.states]
    if all(run.counts.states["ok"] == sum(run.counts.states.values()) for run in runs_with_states):
        return ()
    columns = {"run": [run.run for run in runs_with_states]}
    for state, header in STATES.items():
        columns[header] = [f"{run.counts.states[state]:,}" for run in runs_with_states]
    return (Table("states of queries", Grid.of(columns)),)


def queries(result: Scores) -> Iterator[Grid]:
    """One row per query for each run; the last table has all of them."""
    for run in result.runs:
        columns = {"query": [*run.query_ids, ALL_QUERIES]}
        for metric in result.metrics:
            columns[metric] = format_column([*run.per_query(metric).values(), run.means[metric]])
        yield Grid.of(columns)


def basis_line(result: Scores) -> str:
    """The judgments and the convention of the scores, on one line."""
    name, digits = result.convention["name"], result.convention["hash"]
    return f"judgments {result.qrels}, convention {name} ({digits})"


_MOST_ROWS = 500  # rows in a table of queries
_MOST_RUNS = 5  # most runs that are shown with queries
_SEARCHED_ROWS = 15  # rows in a table without a search field


def evaluation_report_document(result: Scores, options: ReportOptions) -> Document:
    """The best run and its means first, then all means, their charts, and the queries.

    Args:
        result: the evaluation.
        options: texts of queries.
    """
    sorted_result = best_first(result)
    first = Section("values", "All runs" if len(result.runs) > 1 else "Means", _means(sorted_result))
    queries = _queries(sorted_result, options)
    sections = [first, Section("queries", "Values by query", queries)] if queries else [first]
    lead = (sentence(sorted_result), basis_line(result))
    count = len(result.runs)
    title = f"Values of {count_noun(count, 'run')}" if count > _MOST_RUNS else result.heading
    return Document(title, lead=lead, sections=tuple(sections))


def best_first(result: Scores) -> Scores:
    """The runs in the order of their means by the first metric; runs without a mean come last."""
    metric = result.metrics[0]
    sign = 1 if metric in result.lower else -1
    runs_with_mean = [run for run in result.runs if run.means[metric] == run.means[metric]]
    runs_without_mean = tuple(run for run in result.runs if run not in runs_with_mean)
    runs_with_mean.sort(key=lambda run: sign * run.means[metric])
    return replace(result, runs=(*runs_with_mean, *runs_without_mean))


def sentence(result: Scores) -> str:
    """The means of a single run, or the best run by each metric."""
    count = count_noun(result.runs[0].counts.queries, "query")
    if len(result.runs) == 1:
        means = result.runs[0].means
        values = ", ".join(f"{metric} {format_decimal(means[metric])}" for metric in result.metrics)
        return f"Means over {count}: {values}."
    best: dict[str, list[str]] = {}
    for metric in result.metrics:
        leader = best_first(replace(result, metrics=(metric,))).runs[0]
        best.setdefault(leader.run, []).append(f"{metric} ({format_decimal(leader.means[metric])})")
    parts = [f"{make_printable(run)} by {', '.join(texts)}" for run, texts in best.items()]
    return f"The best of {count_noun(len(result.runs), 'run')} over {count}: {'; '.join(parts)}."


def _means(result: Scores) -> tuple[Block, ...]:
    has_several = len(result.runs) > 1
    heading = f"best {result.metrics[0]} first" if has_several else ""
    distribution = Chart("distributions", replace(result, metrics=result.metrics[:1]))
    charts = [Chart("scorecard", result), distribution] if has_several else [distribution]
    warnings = Warnings.from_notices(result.notices)
    return nonempty_blocks(
        (
            Table(heading, means(result)),
            *charts,
            Table("queries, ties and judged documents", counts(result)),
            *states(result),
            warnings,
        )
    )


def _queries(result: Scores, options: ReportOptions) -> tuple[Block, ...]:
    """A table for each run, if there are few; folded where there are several."""
    if len(result.runs) > _MOST_RUNS:
        return ()
    tables = [(run, _table(result, run, options)) for run in result.runs]
    filled_tables = [(run, table) for run, table in tables if table.grid.rows]
    if len(result.runs) == 1:
        return tuple(table for _, table in filled_tables)
    return tuple(
        FoldedBlock(
            f"run-{options.place}-{i}", run.run, (table,), format_decimal(run.means[result.metrics[0]])
        )
        for i, (run, table) in enumerate(filled_tables)
    )


def _table(result: Scores, run: RunScores, options: ReportOptions) -> Table:
    """The queries of a run, with the worst values of the first metric first."""
    values = {metric: run.per_query(metric) for metric in result.metrics}
    first = result.metrics[0]
    sign = -1 if first in result.lower else 1
    pairs = [(value, query) for query, value in values[first].items() if value is not None]
    queries = [query for _, query in sorted(pairs, key=lambda pair: (sign * pair[0], pair[1]))]
    first_queries = queries[:_MOST_ROWS]
    columns = {"query": first_queries}
    if options.queries:
        columns["text"] = [options.queries.get(query, "") for query in first_queries]
    for metric in result.metrics:
        columns[metric] = format_column(values[metric].get(query) for query in first_queries)
    left_columns = (0, 1) if options.queries else (0,)
    heading = f"{len(first_queries):,} of {count_noun(len(queries), 'query')}, the worst {first} first"
    return Table(heading, Grid.of(columns, left_columns), find=len(first_queries) > _SEARCHED_ROWS)
