"""The verb ``explain``, whose result shows itself as tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.explanation.documents import explanation
from rankgate.explanation.explain import explain as service_explain
from rankgate.explanation.explanation import Explanation as BaseExplanation
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Explanation(BaseExplanation, Reported):
    """How one value of one query came about; shows itself as tables."""

    def plot(self, kind: str = "explain") -> Picture:
        """A picture of what each document adds.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"explain": lambda: self})

    def _repr_html_(self) -> str:
        tables = as_html.table(explanation.ranking(self)) + as_html.table(explanation.ideal(self))
        return f"{tables}{as_html.paragraph(self.formula)}"


def explain(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    run: Any,  # noqa: ANN401 - as above
    query: str,
    metric: str | Metric,
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    depth: int | None = None,
    extra: Sequence[Metric] = (),
) -> Explanation:
    """Show how the value of one metric for one query came about, document by document.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        query: the id of the query.
        metric: one metric or its name.
        convention: whose rules the number follows, as ``evaluate`` takes it.
        overrides: axes that are chosen otherwise, as ``evaluate`` takes them.
        depth: how many documents to show of each list, those that matter first; None is all.
        extra: metrics that can be named beside those of the house.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: a query without judgments; an unknown metric, convention, axis or choice.

    >>> qrels, run = {"q": {"a": 1}}, {"q": {"b": 1.0, "a": 1.0}}
    >>> explain(qrels, run, "q", "RR").value
    0.5
    >>> explain(qrels, run, "q", "RR", overrides={"ties": "doc_id_asc"}).value
    1.0
    """
    told = service_explain(
        qrels, run, query, metric, convention, overrides=overrides, depth=depth, extra=extra
    )
    return Explanation(**{each.name: getattr(told, each.name) for each in fields(told)})
