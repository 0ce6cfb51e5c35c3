"""Intent-aware metrics: rankings for queries of several subtopics, as of TREC's diversity tasks."""

from rankgate.measurement.metrics.facets.declare import FacetMetric
from rankgate.measurement.metrics.facets.faceted import Faceted

__all__ = ["FacetMetric", "Faceted"]
