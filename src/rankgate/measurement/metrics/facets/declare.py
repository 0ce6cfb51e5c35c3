"""Declare a metric of subtopics."""

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.views import SUBTOPICS, View


@dataclass(frozen=True, repr=False)
class FacetMetric(Metric):
    """A metric whose kernel takes a `Faceted` block; everything else is inherited from `Metric`."""

    sees: str = "which subtopics each document answers, and its rank"
    blind_to: str = "how well it answers them beyond the level rel; unjudged documents"
    view: View = SUBTOPICS
