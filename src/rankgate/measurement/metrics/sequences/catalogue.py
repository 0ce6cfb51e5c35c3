"""All metrics on sequences of rankings."""

from rankgate.measurement.metrics.sequences.agents import (
    CitationP,
    CitationR,
    EvidenceP,
    EvidenceR,
    EvidenceRate,
    FirstUseful,
    RefusalP,
    RefusalR,
)
from rankgate.measurement.metrics.sequences.contexts import (
    UDCG,
    ContextP,
    ContextR,
    PositionP,
    Redundancy,
)
from rankgate.measurement.metrics.sequences.declare import SequenceMetric
from rankgate.measurement.metrics.sequences.nuggets import NuggetR, SupportP, SupportR
from rankgate.measurement.metrics.sequences.sessions import (
    ExpectedSessionNDCG,
    NSessionDCG,
    SessionDCG,
    SessionRBP,
)
from rankgate.measurement.metrics.sequences.suggestions import (
    CorrectionAccuracy,
    CorrectionP,
    CorrectionR,
    FalseAlarm,
    KeystrokesSaved,
    MinKeystrokes,
    PrefixRR,
)
from rankgate.measurement.metrics.sequences.variations import Best, Variance, Worst

SEQUENCE_METRICS: tuple[SequenceMetric, ...] = (
    ContextP,
    ContextR,
    Redundancy,
    PositionP,
    UDCG,
    NuggetR,
    SupportP,
    SupportR,
    EvidenceR,
    EvidenceP,
    EvidenceRate,
    FirstUseful,
    CitationP,
    CitationR,
    RefusalP,
    RefusalR,
    SessionDCG,
    NSessionDCG,
    SessionRBP,
    ExpectedSessionNDCG,
    Worst,
    Best,
    Variance,
    PrefixRR,
    KeystrokesSaved,
    MinKeystrokes,
    CorrectionAccuracy,
    CorrectionP,
    CorrectionR,
    FalseAlarm,
)
"""Every metric on sequences, in the order in which they are listed."""
