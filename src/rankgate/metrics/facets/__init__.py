"""Intent-aware metrics: rankings for queries of several subtopics, as of TREC's diversity tasks."""

from rankgate.metrics.facets.combined import DSharp, IntentAware
from rankgate.metrics.facets.declare import FacetMetric
from rankgate.metrics.facets.faceted import Faceted
from rankgate.metrics.facets.intents import APIA, PIA, StRecall
from rankgate.metrics.facets.novelty import NNRBP, NRBP, AlphaDCG, AlphaNDCG, ErrIA, NErrIA

__all__ = ["FACET_METRICS", "FacetMetric", "Faceted"]

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
