"""Public verbs, and results that show themselves in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate import services
from rankgate.report import as_html, explanation
from rankgate.report.evaluation import counts, means, rules
from rankgate.services import DEFAULT_METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention


@dataclass(frozen=True)
class Evaluation(services.Evaluation):
    """The values of one or more runs; the means in a table, every value in a frame."""

    @property
    def means(self) -> pl.DataFrame:
        """One row a run: ``run`` and a column for each metric; undefined means are null."""
        rows = [{"run": run.run, **run.means} for run in self.runs]
        schema = {"run": pl.String, **dict.fromkeys(self.metrics, pl.Float64)}
        return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))

    @property
    def values(self) -> pl.DataFrame:
        """Every value: ``run``, ``query_id``, ``metric``, ``value``, ``why``."""
        tables = [run.table.insert_column(0, pl.lit(run.run).alias("run")) for run in self.runs]
        return pl.concat(tables)

    def _repr_html_(self) -> str:
        return (
            as_html.table(means(self))
            + as_html.table(counts(self))
            + as_html.paragraph(rules(self))
        )


def evaluate(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - one of those, or several
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
) -> Evaluation:
    """Score one run or several against judgments.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``.
        runs: a run: a path, a frame, ``{query: {doc: score}}``; a list of runs; ``{name: run}``.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric or convention.

    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> result.means.row(0)
    ('run1', 0.5, 0.0)
    """
    result = services.evaluate(qrels, runs, metrics, convention)
    return Evaluation(result.qrels, result.convention, result.metrics, result.runs)


@dataclass(frozen=True)
class Explanation(services.Explanation):
    """How one value of one query came about; shows itself as tables."""

    def _repr_html_(self) -> str:
        tables = as_html.table(explanation.ranking(self)) + as_html.table(explanation.ideal(self))
        return f"{tables}{as_html.paragraph(self.formula)}"


def explain(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    run: Any,  # noqa: ANN401 - as above
    query: str,
    metric: str | Metric,
    convention: str | Convention = "trec",
) -> Explanation:
    """Show how the value of one metric for one query came about, document by document.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        query: the id of the query.
        metric: one metric or its name.
        convention: whose rules the number follows.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: a query without judgments, an unknown metric or convention.

    >>> explain({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "q", "RR").value
    0.5
    """
    told = services.explain(qrels, run, query, metric, convention, depth=None)
    return Explanation(**{each.name: getattr(told, each.name) for each in fields(told)})
