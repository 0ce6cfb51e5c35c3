"""The verb ``admit``, whose result shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.judging.admission import admit as service
from rankgate.judging.admission import document as report
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.judging.admission.demands import Demands
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention


@dataclass(frozen=True)
class Admitted(service.Admitted, Reported):
    """Whether a judge may stand beside people, and why; shows itself as tables."""

    @property
    def verdict(self) -> str:
        """Pass, fail or inconclusive."""
        return self.admission.verdict

    def plot(self, kind: str = "admission") -> Picture:
        """A picture of people's grades by the judge's.

        Raises:
            UsageError: no such picture of this result.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"admission": lambda: self})

    def _repr_html_(self) -> str:
        reasons = [f"{each.status}: {each.reason}" for each in self.admission.demands]
        tables = [
            as_html.paragraph(heading) + as_html.table(grid) for heading, grid in report.grids(self)
        ]
        return "".join(map(as_html.paragraph, [self.verdict, *reasons])) + "".join(tables)


def admit(
    people: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    judge: Any,  # noqa: ANN401 - as above
    runs: Sequence[Any] = (),
    metrics: str | Metric | Sequence[str | Metric] = service.METRICS,
    convention: str | Convention = "trec",
    *,
    demands: Demands = service.DEMANDS,
    scale: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Admitted:
    """Hold a judge's grades, of a language model or of clicks, against people's.

    Args:
        people: judgments by people: a path, a frame, ``{query: {doc: grade}}``.
        judge: judgments by the judge, of some of the same pairs.
        runs: systems whose order under both is looked at; three or more.
        metrics: under which it is.
        convention: whose rules the numbers follow.
        demands: what the judge must show.
        scale: the grades that were possible, such as ``"graded"`` or ``"0..4"``.
        resamples: replicates of the intervals of agreement.
        seed: of the replicates.

    Raises:
        InputError: data that cannot be read; no pair that both judged.
        UsageError: unknown names.

    >>> people = {f"q{i}": {"a": i % 3, "b": i % 2} for i in range(60)}
    >>> admit(people, people).verdict
    'pass'
    """
    told = service.admit(
        people, judge, runs, metrics, convention,
        demands=demands, scale=scale, resamples=resamples, seed=seed,
    )  # fmt: skip
    return Admitted(**{each.name: getattr(told, each.name) for each in fields(told)})
