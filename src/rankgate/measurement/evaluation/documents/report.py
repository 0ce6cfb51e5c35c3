"""Report of an evaluation: the best run, all means, and values by query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    Chart,
    Document,
    FoldedBlock,
    Section,
    Table,
    Warnings,
    nonempty_blocks,
)
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_column, format_decimal
from rankgate.measurement.evaluation.documents import evaluation

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.data import RunScores
    from rankgate.measurement.evaluation.scores import Scores

_MOST_ROWS = 500  # of a table of queries
_MOST_RUNS = 5  # most runs whose queries are shown
_SEARCHED_ROWS = 15  # most rows of a table without a search field
_DISTRIBUTIONS = "rankgate.measurement.evaluation.charts.distributions:draw"
_SCORECARD = "rankgate.measurement.evaluation.charts.tradeoff:scorecard"


def document(result: Scores, options: ReportOptions) -> Document:
    """The best run and its means first, then all means, their charts, and the queries.

    Args:
        result: the evaluation.
        options: texts of queries.
    """
    sorted_result = best_first(result)
    first = Section(
        "values", "All runs" if len(result.runs) > 1 else "Means", _means(sorted_result)
    )
    queries = _queries(sorted_result, options)
    sections = [first, Section("queries", "Values by query", queries)] if queries else [first]
    lead = (sentence(sorted_result), evaluation.basis_line(result))
    count = len(result.runs)
    title = f"Values of {count} runs" if count > _MOST_RUNS else result.heading
    return Document(title, lead=lead, sections=tuple(sections))


def best_first(result: Scores) -> Scores:
    """The runs in the order of their means of the first metric, those without one last."""
    metric = result.metrics[0]
    sign = 1 if metric in result.lower else -1
    runs_with_mean = [run for run in result.runs if run.means[metric] == run.means[metric]]
    runs_without_mean = tuple(run for run in result.runs if run not in runs_with_mean)
    runs_with_mean.sort(key=lambda run: sign * run.means[metric])
    return replace(result, runs=(*runs_with_mean, *runs_without_mean))


def sentence(result: Scores) -> str:
    """The means of one run; of several the best by each metric."""
    count = f"{result.runs[0].counts.queries:,} queries"
    if len(result.runs) == 1:
        means = result.runs[0].means
        values = ", ".join(f"{metric} {format_decimal(means[metric])}" for metric in result.metrics)
        return f"Means over {count}: {values}."
    best: dict[str, list[str]] = {}
    for metric in result.metrics:
        leader = best_first(replace(result, metrics=(metric,))).runs[0]
        best.setdefault(leader.run, []).append(f"{metric} ({format_decimal(leader.means[metric])})")
    parts = [f"{make_printable(run)} by {', '.join(texts)}" for run, texts in best.items()]
    return f"The best of {len(result.runs)} runs over {count}: {'; '.join(parts)}."


def _means(result: Scores) -> tuple[Block, ...]:
    has_several = len(result.runs) > 1
    heading = f"best {result.metrics[0]} first" if has_several else ""
    distribution = Chart(_DISTRIBUTIONS, replace(result, metrics=result.metrics[:1]))
    charts = [Chart(_SCORECARD, result), distribution] if has_several else [distribution]
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return nonempty_blocks(
        (
            Table(heading, evaluation.means(result)),
            *charts,
            Table("queries, ties and judged documents", evaluation.counts(result)),
            *evaluation.states(result),
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
            f"run-{options.place}-{i}",
            run.run,
            (table,),
            format_decimal(run.means[result.metrics[0]]),
        )
        for i, (run, table) in enumerate(filled_tables)
    )


def _table(result: Scores, run: RunScores, options: ReportOptions) -> Table:
    """The queries of a run, the worst by the first metric first."""
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
    heading = f"{len(first_queries):,} of {len(queries):,} queries, the worst {first} first"
    return Table(heading, Grid.of(columns, left_columns), find=len(first_queries) > _SEARCHED_ROWS)
