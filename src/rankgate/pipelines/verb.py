"""The verb ``stages``, whose result shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.comparison.paired import Way
from rankgate.pipelines import stages as service
from rankgate.pipelines.documents import stages as report
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Pipeline(service.Pipeline, Reported):
    """The stages of a ranking; tables are Polars frames, and it shows itself as tables."""

    @property
    def sentence(self) -> str:
        """Which stage is the bottleneck now, in words."""
        return report.sentence(self)

    def plot(self, kind: str = "stages") -> Picture:
        """A picture of the stages with their ceilings.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"stages": lambda: self})

    def _repr_html_(self) -> str:
        parts = [as_html.paragraph(report.title(self)), as_html.paragraph(self.sentence)]
        for heading, grid in report.grids(self):
            parts += [as_html.paragraph(heading)] if heading else []
            parts.append(as_html.table(grid))
        return "".join([*parts, *map(as_html.paragraph, self.warnings)])


def stages(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - runs in the order of the stages, or {name: run}
    metrics: str | Metric | Sequence[str | Metric] = service.METRICS,
    convention: str | Convention = "trec",
    *,
    target: str | Metric | None = None,
    depth: int = service.DEPTH,
    labels: Mapping[float, str] | None = None,
    test: str = "t",
    interval: str = "t",
    level: float = 0.95,
    correction: str = "holm",
    resamples: int = 100_000,
    seed: int = 0,
    unequal: str = "refuse",
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
) -> Pipeline:
    """Follow a ranking through its stages, from the first retrieval to the last reranker.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``.
        runs: the run after each stage, the first first, or ``{name: run}``.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow.
        target: the metric whose ceiling is told; else the first nDCG with a cutoff.
        depth: how many documents of a stage are the candidates of the next.
        labels: the names of grades, as ``{3: "Exact"}``.
        test: t, randomization, wilcoxon, sign or bootstrap.
        interval: t, bca, percentile or basic.
        level: of the intervals.
        correction: holm, bonferroni, bh or none, over all steps and metrics.
        resamples: of tests and intervals that draw.
        seed: of the drawing.
        unequal: what queries are that one of two stages lacks: refuse, zero or drop.
        overrides: axes of the convention that are chosen otherwise.
        extra: metrics that can be named beside those of the house.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names; no metric with a ceiling; queries that one stage lacks.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> first = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    >>> second = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> told = stages(qrels, [first, second], ["nDCG@10"])
    >>> told.ceilings.select("kind", "ceiling").rows()
    [('retrieves', 1.0), ('reranks', 1.0)]
    >>> told.sentence
    'Nothing is lost: the last stage has the best nDCG@10 there is.'
    """
    told = service.stages(
        qrels, runs, metrics, convention, target=target, depth=depth, labels=labels,
        way=Way(test, interval, level, resamples=resamples, seed=seed), correction=correction,
        unequal=unequal, overrides=overrides, extra=extra,
    )  # fmt: skip
    return Pipeline(**{each.name: getattr(told, each.name) for each in fields(told)})
