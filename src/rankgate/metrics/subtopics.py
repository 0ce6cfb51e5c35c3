"""All metrics of subtopics."""

from rankgate.metrics.combined import DSharp, IntentAware
from rankgate.metrics.facets.declare import FacetMetric
from rankgate.metrics.facets.intents import APIA, PIA, StRecall
from rankgate.metrics.facets.novelty import NNRBP, NRBP, AlphaDCG, AlphaNDCG, ErrIA, NErrIA

FACET_METRICS: tuple[FacetMetric, ...] = (
    AlphaNDCG, AlphaDCG, ErrIA, NErrIA, NRBP, NNRBP, APIA, PIA, StRecall, IntentAware, DSharp,
)  # fmt: skip
"""Every metric of subtopics, in the order in which they are listed."""
