"""All metrics of subtopics."""

from rankgate.measurement.metrics.combined import DSharp, IntentAware
from rankgate.measurement.metrics.facets.declare import FacetMetric
from rankgate.measurement.metrics.facets.intents import APIA, PIA, StRecall
from rankgate.measurement.metrics.facets.novelty import (
    NNRBP,
    NRBP,
    AlphaDCG,
    AlphaNDCG,
    ErrIA,
    NErrIA,
)

FACET_METRICS: tuple[FacetMetric, ...] = (
    AlphaNDCG,
    AlphaDCG,
    ErrIA,
    NErrIA,
    NRBP,
    NNRBP,
    APIA,
    PIA,
    StRecall,
    IntentAware,
    DSharp,
)
"""Every metric of subtopics, in the order in which they are listed."""
