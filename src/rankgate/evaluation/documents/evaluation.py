"""An evaluation in every form: the means, what stands behind them, and single queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.candidates import mark_in
from rankgate.present import as_csv, as_json, as_latex, as_markdown, as_text
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import column, decimal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.data import Scores
    from rankgate.evaluation.evaluate import Evaluation

ALL = "all"
"""What stands in place of a query where a value is over all of them."""

COUNTS = {
    "queries": "queries",
    "missing": "missing",
    "zero_result": "zero-\nresult",
    "without_relevant": "without\nrelevant",
    "unknown_queries": "unknown\nqueries",
    "ties_broken": "ties\nbroken",
}
"""The counts beside every mean, and their heads."""


def render(result: Evaluation, form: str, *, per_query: bool = False) -> str:
    """The result in one of `FORMS`, ending with a newline."""
    return FORMS[form](result, per_query)


def _text(result: Evaluation, per_query: bool) -> str:  # noqa: FBT001 - as every form takes it
    foot = "\n".join([rules(result), *notices(result)])
    parts = [as_text.fitted(means(result)), as_text.fitted(counts(result)), foot]
    if per_query:
        named = zip(result.runs, queries(result), strict=True)
        told = [f"{printable(run.run)}\n{as_text.fitted(grid)}" for run, grid in named]
        parts = [*told, *parts]
    return "\n\n".join(parts) + "\n"


def _markdown(result: Evaluation, per_query: bool) -> str:  # noqa: FBT001
    parts = [as_markdown.table(means(result)), as_markdown.table(counts(result))]
    parts += [as_markdown.escaped(line) for line in (rules(result), *notices(result))]
    if per_query:
        for run, grid in zip(result.runs, queries(result), strict=True):
            parts += [f"**{as_markdown.escaped(run.run)}**", as_markdown.table(grid)]
    return "\n\n".join(parts) + "\n"


def _latex(result: Evaluation, per_query: bool) -> str:  # noqa: FBT001
    counted = counts(result).flat
    lines = [rules(result), *notices(result)]
    for name, *cells in counted.rows:
        named = zip(counted.head[1:], cells, strict=True)
        told = ", ".join(f"{head} {cell}" for head, cell in named)
        lines.append(f"{printable(name)}: {told}")
    parts = [*(f"% {line}" for line in lines), as_latex.table(means(result))]
    if per_query:
        for run, grid in zip(result.runs, queries(result), strict=True):
            parts += ["", f"% {printable(run.run)}", as_latex.table(grid)]
    return "\n".join(parts) + "\n"


def _json(result: Evaluation, per_query: bool) -> str:  # noqa: FBT001
    return as_json.dumped(result.to_dict(per_query=per_query))


def _csv(result: Evaluation, per_query: bool) -> str:  # noqa: FBT001
    bounds = any(run.low is not None for run in result.runs)

    def rows() -> Iterator[tuple[str | float | None, ...]]:
        for run in result.runs:
            for metric in result.metrics:
                each = run.per_query(metric) if per_query else {}
                sides = [_per_query(side, metric) for side in (run.low, run.high) if bounds]
                for query, value in each.items():
                    yield run.run, metric, query, value, *(side.get(query) for side in sides)
                ends = [_end(side, metric) for side in (run.low, run.high) if bounds]
                yield run.run, metric, ALL, run.means[metric], *ends

    head = ("run", "metric", "query_id", "value", *(("low", "high") if bounds else ()))
    return as_csv.written(head, rows())


def _per_query(scores: Scores | None, metric: str) -> dict[str, float | None]:
    known = scores is not None and metric in scores.values
    return scores.per_query(metric) if scores is not None and known else {}


FORMS = {
    "table": _text,
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
"""The forms of an evaluation, by the name that ``--format`` takes."""


def means(result: Evaluation) -> Grid:
    """One row a run, one column a metric."""
    columns = {"run": [run.run for run in result.runs]}
    for metric in result.metrics:
        columns[metric] = column(run.means[metric] for run in result.runs)
        ends = [[_end(run.low, metric), _end(run.high, metric)] for run in result.runs]
        if any(end is not None for pair in ends for end in pair):
            told = [[decimal(end) for end in pair] for pair in ends]
            mine = zip(columns[metric], told, strict=True)
            columns[metric] = [f"{value} [{low}, {high}]" for value, (low, high) in mine]
    return Grid.of(columns)


def _end(scores: Scores | None, metric: str) -> float | None:
    """One end of the bounds of a mean, if there is one."""
    return None if scores is None else scores.means.get(metric)


def counts(result: Evaluation) -> Grid:
    """One row a run: how many queries there were of each kind, ties, and how much was judged."""
    columns = {"run": [run.run for run in result.runs]}
    for name, head in COUNTS.items():
        columns[head] = [str(getattr(run.counts, name)) for run in result.runs]
    for k in result.runs[0].counts.judged_at:
        columns[f"judged@{k}"] = [decimal(run.counts.judged_at[k]) for run in result.runs]
    return Grid.of(columns)


def queries(result: Evaluation) -> Iterator[Grid]:
    """For each run one row a query, and all of them together in the last."""
    for run in result.runs:
        columns = {"query": [*run.query_ids, ALL]}
        for metric in result.metrics:
            columns[metric] = column([*run.per_query(metric).values(), run.means[metric]])
        yield Grid.of(columns)


def rules(result: Evaluation) -> str:
    """Whose judgments and whose rules stand behind the numbers, in a line."""
    name, digits = result.convention["name"], result.convention["hash"]
    return f"judgments {printable(result.qrels)}, convention {name} ({digits})"


def notices(result: Evaluation) -> list[str]:
    """What a reader must know of the numbers, a line each."""
    lines, name = sampled(result), result.convention["name"]
    if zeros := result.runs[0].counts.zeros_relevant:
        lines.append(
            f"{zeros:,} judgments of grade 0 count as relevant, as every judged item does in "
            f"{name}; remove them, or set for each metric what is relevant, such as "
            "--set P.rel=1 and --set nDCG.gain=binary"
        )
    for run in result.runs:
        if count := run.counts.against_scores:
            lines.append(
                f"{printable(run.run)}: {count} of {run.counts.queries} queries are ranked by the "
                f"order of their rows, as {name} does, and their scores say "
                "otherwise; sort the file by score if the order means nothing"
            )
    return lines


def sampled(result: Evaluation) -> list[str]:
    """That candidates were sampled, in a line, where the name of the judgments says so."""
    mark = mark_in(result.qrels)
    return [f"{mark} candidates: never compare these figures with exact ones"] if mark else []
