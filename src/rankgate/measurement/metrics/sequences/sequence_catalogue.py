"""All metrics on sequences of rankings."""

from rankgate.measurement.metrics.sequences.agent_metrics import (
    CitationP,
    CitationR,
    EvidenceP,
    EvidenceR,
    EvidenceRate,
    FirstUseful,
    RefusalP,
    RefusalR,
)
from rankgate.measurement.metrics.sequences.call_metrics import (
    CallMatch,
    CallP,
    CallR,
    RedundantCalls,
    SuccessCost,
)
from rankgate.measurement.metrics.sequences.context_metrics import (
    UDCG,
    ContextP,
    ContextR,
    NuggetR,
    PositionP,
    Redundancy,
    SupportP,
    SupportR,
)
from rankgate.measurement.metrics.sequences.sequence import SequenceMetric
from rankgate.measurement.metrics.sequences.session_metrics import (
    Best,
    ExpectedSessionNDCG,
    NSessionDCG,
    SessionDCG,
    SessionRBP,
    Variance,
    Worst,
)
from rankgate.measurement.metrics.sequences.suggestion_metrics import (
    CorrectionAccuracy,
    CorrectionP,
    CorrectionR,
    FalseAlarm,
    KeystrokesSaved,
    MinKeystrokes,
    PrefixRR,
)

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
    CallMatch,
    CallP,
    CallR,
    RedundantCalls,
    SuccessCost,
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
