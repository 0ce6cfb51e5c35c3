"""A page of an evaluation: which run is best, all means, their spread over queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Folded, Section, Table, Warnings, solid
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import column, decimal
from rankgate.measurement.evaluation.documents import evaluation

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.data import Scores
    from rankgate.measurement.evaluation.evaluation import Evaluation

_ROWS = 500  # of a table of queries
_RUNS = 5  # whose queries are shown
_LONG = 15  # rows from which on a table is searched
_DISTRIBUTIONS = "rankgate.measurement.evaluation.charts.distributions:draw"
_SCORECARD = "rankgate.measurement.evaluation.charts.tradeoff:scorecard"


def document(result: Evaluation, options: ReportOptions) -> Document:
    """The best run and its means first, then all means, their charts, and the queries.

    Args:
        result: the evaluation.
        options: texts of queries.
    """
    ordered = best_first(result)
    first = Section("values", "All runs" if len(result.runs) > 1 else "Means", _means(ordered))
    queries = _queries(ordered, options)
    sections = [first, Section("queries", "Values by query", queries)] if queries else [first]
    lead = (sentence(ordered), evaluation.rules(result))
    count = len(result.runs)
    title = f"Values of {count} runs" if count > _RUNS else result.heading
    return Document(title, lead=lead, sections=tuple(sections))


def best_first(result: Evaluation) -> Evaluation:
    """The runs in the order of their means of the first metric, those without one last."""
    metric = result.metrics[0]
    sign = 1 if metric in result.lower else -1
    known = [run for run in result.runs if run.means[metric] == run.means[metric]]
    others = tuple(run for run in result.runs if run not in known)
    known.sort(key=lambda run: sign * run.means[metric])
    return replace(result, runs=(*known, *others))


def sentence(result: Evaluation) -> str:
    """The means of one run; of several the best by each metric."""
    count = f"{result.runs[0].counts.queries:,} queries"
    if len(result.runs) == 1:
        means = result.runs[0].means
        values = ", ".join(f"{metric} {decimal(means[metric])}" for metric in result.metrics)
        return f"Means over {count}: {values}."
    best: dict[str, list[str]] = {}
    for metric in result.metrics:
        leader = best_first(replace(result, metrics=(metric,))).runs[0]
        best.setdefault(leader.run, []).append(f"{metric} ({decimal(leader.means[metric])})")
    parts = [f"{printable(run)} by {', '.join(words)}" for run, words in best.items()]
    return f"The best of {len(result.runs)} runs over {count}: {'; '.join(parts)}."


def _means(result: Evaluation) -> tuple[Block, ...]:
    several = len(result.runs) > 1
    heading = f"best {result.metrics[0]} first" if several else ""
    spread = Chart(_DISTRIBUTIONS, replace(result, metrics=result.metrics[:1]))
    charts = [Chart(_SCORECARD, result), spread] if several else [spread]
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return solid((
        Table(heading, evaluation.means(result)), *charts,
        Table("queries, ties and judged documents", evaluation.counts(result)),
        *evaluation.states(result), warnings,
    ))  # fmt: skip


def _queries(result: Evaluation, options: ReportOptions) -> tuple[Block, ...]:
    """A table for each run, if there are few; folded where there are several."""
    if len(result.runs) > _RUNS:
        return ()
    tables = [(run, _table(result, run, options)) for run in result.runs]
    known = [(run, table) for run, table in tables if table.grid.rows]
    if len(result.runs) == 1:
        return tuple(table for _, table in known)
    return tuple(
        Folded(f"run-{options.place}-{i}", run.run, (table,), decimal(run.means[result.metrics[0]]))
        for i, (run, table) in enumerate(known)
    )


def _table(result: Evaluation, run: Scores, options: ReportOptions) -> Table:
    """The queries of a run, the worst by the first metric first."""
    values = {metric: run.per_query(metric) for metric in result.metrics}
    first = result.metrics[0]
    sign = -1 if first in result.lower else 1
    known = [(value, query) for query, value in values[first].items() if value is not None]
    queries = [query for _, query in sorted(known, key=lambda each: (sign * each[0], each[1]))]
    shown = queries[:_ROWS]
    columns = {"query": shown}
    if options.queries:
        columns["text"] = [options.queries.get(query, "") for query in shown]
    for metric in result.metrics:
        columns[metric] = column(values[metric].get(query) for query in shown)
    left = (0, 1) if options.queries else (0,)
    heading = f"{len(shown):,} of {len(queries):,} queries, the worst {first} first"
    return Table(heading, Grid.of(columns, left), find=len(shown) > _LONG)
