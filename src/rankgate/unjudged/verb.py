"""The verb ``holes``, whose result shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.evaluation.scored_system import DEPTH
from rankgate.metrics.names import DEFAULT_METRICS
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported
from rankgate.unjudged import document as report
from rankgate.unjudged import holes as service

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Hidden(service.Hidden, Reported):
    """What unjudged documents could make of a difference; shows itself as tables."""

    def plot(self, kind: str = "holes") -> Picture:
        """A picture of the difference as measured, as estimated, and at its ends.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"holes": lambda: self})

    def _repr_html_(self) -> str:
        return "".join(as_html.table(grid) for grid in report.grids(self))


def holes(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    baseline: Any,  # noqa: ANN401 - as above
    candidate: Any,  # noqa: ANN401 - as above
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
    depth: int = DEPTH,
    margin: float = 0.0,
    draws: int = service.DRAWS,
    seed: int = 0,
) -> Hidden:
    """Ask what the unjudged documents among the first of either list could hide.

    Args:
        qrels: judgments: a path, a frame, ``{query: {doc: grade}}``.
        baseline: a run.
        candidate: a run.
        metrics: names or metrics; those that look deeper than the lists are skipped and named.
        convention: whose rules the numbers follow.
        overrides: axes that are chosen otherwise.
        extra: metrics that can be named beside those of the house.
        depth: how far lists are looked at.
        margin: the loss that the decision allows; what flips is whether it is exceeded.
        draws: sets of grades that are drawn.
        seed: of the drawing.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names; no metric with a cutoff within the depth.

    >>> qrels = {"q": {"a": 1}}
    >>> told = holes(qrels, {"q": {"a": 2.0}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR@10"])
    >>> told.metrics.select("delta", "worst", "best").row(0)
    (-0.5, -0.5, 0.0)
    """
    told = service.holes(
        qrels, baseline, candidate, metrics, convention, overrides=overrides, extra=extra,
        depth=depth, margin=margin, draws=draws, seed=seed,
    )  # fmt: skip
    return Hidden(**{each.name: getattr(told, each.name) for each in fields(told)})
