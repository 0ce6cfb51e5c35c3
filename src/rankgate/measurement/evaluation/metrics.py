"""Every metric that can be named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.measurement.evaluation.metric import MetricDetails
from rankgate.measurement.metrics.catalogue import CATALOGUE
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.names import of_plugins
from rankgate.measurement.metrics.preferences import PREFERENCE_METRICS
from rankgate.measurement.metrics.sampling import SAMPLE_METRICS
from rankgate.measurement.metrics.sequences.catalogue import SEQUENCE_METRICS
from rankgate.measurement.metrics.subtopics import FACET_METRICS

if TYPE_CHECKING:
    import polars as pl


COLUMNS = ("name", "title", "formula", "higher_is_better", "source")


@dataclass(frozen=True)
class Metrics(Result):
    """Every metric that can be named.

    Attributes:
        metrics: the details of each.
    """

    kind: ClassVar[str] = "metrics"
    document_from: ClassVar[str] = (
        "rankgate.measurement.evaluation.documents.metrics:metrics_document"
    )

    metrics: tuple[MetricDetails, ...]

    def __len__(self) -> int:
        """The number of metrics."""
        return len(self.metrics)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The details that tables show, by `COLUMNS`."""
        return [tuple(getattr(details, name) for name in COLUMNS) for details in self.metrics]

    def _table(self) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(self.rows, COLUMNS, orient="row")


def metrics() -> Metrics:
    """Every built-in metric, by what it sees, and those of plug-ins."""
    plugin_metrics = of_plugins().by_name.values()
    all_metrics = (
        *CATALOGUE,
        *FACET_METRICS,
        *PREFERENCE_METRICS,
        *SAMPLE_METRICS,
        *LIST_METRICS,
        *SEQUENCE_METRICS,
        *plugin_metrics,
    )
    return Metrics(tuple(map(MetricDetails.of, all_metrics)))
