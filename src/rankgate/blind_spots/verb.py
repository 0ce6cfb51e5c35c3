"""The verb ``blindspots``, whose result shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.blind_spots import blindspots as service
from rankgate.blind_spots import document as report
from rankgate.evaluation.evaluate import DEFAULT_METRICS
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Blindness(service.Blindness, Reported):
    """What metrics see of a change and of those that rankings undergo; shows itself as tables."""

    def plot(self, kind: str = "blindspots") -> Picture:
        """A picture of the profile.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"blindspots": lambda: self})

    def _repr_html_(self) -> str:
        parts = [
            as_html.paragraph(heading) + as_html.table(grid) for heading, grid in report.grids(self)
        ]
        return "".join(parts) + "".join(map(as_html.paragraph, report.sentences(self)))


def blindspots(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    baseline: Any,  # noqa: ANN401 - as above
    candidate: Any = None,  # noqa: ANN401 - as above
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
    depth: int = 10,
    page: int = 10,
) -> Blindness:
    """Find what the chosen metrics do not see.

    Args:
        qrels: judgments: a path, a frame, ``{query: {doc: grade}}``.
        baseline: the run that is changed.
        candidate: the run that it was changed to; without it only the profile is made.
        metrics: names or metrics.
        convention: whose rules the numbers follow.
        overrides: axes that are chosen otherwise.
        extra: metrics that can be named beside those of the house.
        depth: how far the lists of both runs are compared.
        page: the end of the page, which the changes of the profile go by.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown metric or convention.

    >>> qrels = {"q": {"a": 1, "b": 1}}
    >>> old, new = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> blindspots(qrels, old, new, ["RR", "nDCG@10"]).seen.select("metric", "moved").rows()
    [('RR', 0), ('nDCG@10', 1)]
    """
    told = service.blindspots(
        qrels, baseline, candidate, metrics, convention,
        overrides=overrides, extra=extra, depth=depth, k=page,
    )  # fmt: skip
    return Blindness(**{each.name: getattr(told, each.name) for each in fields(told)})
