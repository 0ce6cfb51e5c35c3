"""The verb ``evaluate``, whose result shows itself as tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.evaluation.documents.evaluation import counts, means, notices, rules
from rankgate.evaluation.evaluate import DEFAULT_METRICS
from rankgate.evaluation.evaluate import Evaluation as BaseEvaluation
from rankgate.evaluation.evaluate import evaluate as service_evaluate
from rankgate.evaluation.list_inputs import Beside
from rankgate.present import as_html
from rankgate.recommenders.tradeoff import tradeoff
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rankgate.data import Scores
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.overrides import Overrides


_KINDS = ("distributions", "cutoffs", "precision-recall")
_TRADEOFFS = ("scorecard", "pareto")


@dataclass(frozen=True)
class Evaluation(BaseEvaluation, Reported):
    """The values of one or more runs; the means in a table, every value in a frame."""

    @property
    def means(self) -> pl.DataFrame:
        """One row a run: ``run`` and a column for each metric; undefined means are null."""
        rows = [{"run": run.run, **run.means} for run in self.runs]
        schema = {"run": pl.String, **dict.fromkeys(self.metrics, pl.Float64)}
        return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))

    @property
    def values(self) -> pl.DataFrame:
        """Every value: ``run``, ``query_id``, ``metric``, ``value``, ``why``.

        Where bounds were asked for also ``low`` and ``high``, null for a metric without bounds.
        """
        return pl.concat([_table(run).select(_name(run), pl.all()) for run in self.runs])

    @property
    def bounds(self) -> pl.DataFrame:
        """Means with their bounds: ``run``, ``metric``, ``value``, ``low``, ``high``.

        ``low`` is with all unjudged documents irrelevant, ``high`` with all of the best grade;
        both are null where a metric admits none, or where they were not asked for.
        """
        rows = [
            (run.run, label, run.means[label], *(_mean(end, label) for end in (run.low, run.high)))
            for run in self.runs
            for label in self.metrics
        ]
        numbers = dict.fromkeys(["value", "low", "high"], pl.Float64)
        schema = {"run": pl.String, "metric": pl.String, **numbers}
        return pl.DataFrame(rows, schema, orient="row").with_columns(
            pl.col(pl.Float64).fill_nan(None)
        )

    def plot(self, kind: str = "distributions") -> Picture:
        """A picture of the runs.

        Args:
            kind: distributions; cutoffs, of metrics at several; precision-recall, of IPrec;
                scorecard and pareto, of several runs by several metrics.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        results: dict[str, Callable[[], Any]] = dict.fromkeys(_KINDS, lambda: self)
        return pictured(kind, results | dict.fromkeys(_TRADEOFFS, lambda: tradeoff(self)))

    def _repr_html_(self) -> str:
        return (
            as_html.table(means(self))
            + as_html.table(counts(self))
            + "".join(map(as_html.paragraph, (rules(self), *notices(self))))
        )


def evaluate(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - one of those, or several
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    bounds: bool = False,
    extra: Sequence[Metric] = (),
    columns: Mapping[str, str] | None = None,
    catalogue: int | Iterable[object] | None = None,
    train: Any = None,  # noqa: ANN401 - a path, a frame or a matrix
    items: Any = None,  # noqa: ANN401 - a path or a frame
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    obvious: Any = None,  # noqa: ANN401 - a run
    earlier: Mapping[str, Any] | None = None,
    drop_seen: bool = False,
    drawn: Mapping[str, Sequence[Any]] | None = None,
) -> Evaluation:
    """Score one run or several against judgments, by rankings and by what lists are like.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``,
            ``{query: {doc, …}}``; a matrix of grades (NumPy, SciPy, torch, jax, DLPack) with a
            row a query, or ``rankgate.Lists`` of items by number.
        runs: a run, as one of these, ``{query: [doc, …]}`` the best first; a list of runs;
            ``{name: run}``.
        metrics: names such as ``"nDCG@10"`` or ``"Coverage@10"``, or metrics such as
            ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow: a name, a TOML file, or what
            ``rankgate.convention`` gives.
        overrides: axes that are chosen otherwise: ``{"ties": "doc_id_asc", "nDCG.gain": "exp"}``,
            or as words, ``["nDCG.gain=exp"]``.
        bounds: also what each value would be if the unjudged documents were all irrelevant, and
            if they were all best.
        extra: metrics that can be named beside those of the house.
        columns: our column (``query_id``, ``doc_id``, ``grade``, ``score``) -> that of a frame,
            where it has no usual name.
        catalogue: how many items there are, numbered from 0, or their ids; those of training,
            items, judgments, matrices and lists are of the catalogue anyway.
        train: what systems learned from: a log, or a matrix in which 0 is nothing.
        items: a table of items.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        obvious: the run of an obvious system, such as the most popular items.
        earlier: for each run that of an earlier time, by name.
        drop_seen: whether items of training leave users' rankings.
        drawn: for a system that draws its rankings other runs of it, by name, for expected
            exposure (EEL, EED, EER).

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric, convention, axis or choice; a metric of lists that needs
            what was not given.

    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> result.means.row(0)
    ('run1', 0.5, 0.0)
    >>> result = evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR"], bounds=True)
    >>> result.bounds.row(0)
    ('run1', 'RR', 0.5, 0.5, 1.0)
    """
    beside = Beside(
        train=train, items=items, features=tuple(features), category=category, group=group,
        baseline=obvious, earlier=earlier, drop_seen=drop_seen, drawn=drawn,
    )  # fmt: skip
    told = service_evaluate(
        qrels, runs, metrics, convention, overrides=overrides, bounds=bounds, extra=extra,
        beside=beside, catalogue=catalogue, columns=columns,
    )  # fmt: skip
    return Evaluation(**{each.name: getattr(told, each.name) for each in fields(told)})


_KEYS = ["query_id", "metric"]


def _table(run: Scores) -> pl.DataFrame:
    """The values of a run with their bounds, if there are any."""
    table = run.table
    for name, ends in (("low", run.low), ("high", run.high)):
        if ends is not None:
            side = ends.table.select(*_KEYS, pl.col("value").alias(name))
            table = table.join(side, on=_KEYS, how="left", maintain_order="left")
    return table


def _name(run: Scores) -> pl.Series:
    return pl.Series("run", [run.run], dtype=pl.String).new_from_index(0, len(run.table))


def _mean(ends: Scores | None, label: str) -> float | None:
    return None if ends is None else ends.means.get(label)
