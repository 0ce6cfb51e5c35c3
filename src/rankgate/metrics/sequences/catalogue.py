"""All metrics on sequences of rankings."""

from rankgate.metrics.sequences.agents import (
    CitationP,
    CitationR,
    EvidenceP,
    EvidenceR,
    EvidenceRate,
    FirstUseful,
    RefusalP,
    RefusalR,
)
from rankgate.metrics.sequences.contexts import UDCG, ContextP, ContextR, PositionP, Redundancy
from rankgate.metrics.sequences.declare import SequenceMetric
from rankgate.metrics.sequences.nuggets import NuggetR, SupportP, SupportR

SEQUENCE_METRICS: tuple[SequenceMetric, ...] = (
    ContextP, ContextR, Redundancy, PositionP, UDCG, NuggetR, SupportP, SupportR,
    EvidenceR, EvidenceP, EvidenceRate, FirstUseful, CitationP, CitationR, RefusalP, RefusalR,
)  # fmt: skip
"""Every metric on sequences, in the order in which they are listed."""
