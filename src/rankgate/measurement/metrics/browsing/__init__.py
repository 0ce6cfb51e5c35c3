"""Metrics of the C/W/L framework: how users go on, what they gain and what it costs them."""

from rankgate.measurement.metrics.browsing.browsing_metrics import (
    BPM,
    BPMD,
    CWL_P,
    CWL_RBP,
    CWL_RR,
    CWL_SDCG,
    IFT,
    INSQ,
    INST,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    NPV,
    SET,
    TBG,
    TrAP,
    UMeasure,
)
from rankgate.measurement.metrics.browsing.browsing_model import BrowsingMetric, user_model

__all__ = ["BROWSING_METRICS", "BrowsingMetric", "user_model"]

BROWSING_METRICS: tuple[BrowsingMetric, ...] = (
    INST,
    INSQ,
    BPM,
    BPMD,
    IFT,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    TBG,
    UMeasure,
    TrAP,
    CWL_P,
    CWL_RBP,
    CWL_RR,
    CWL_SDCG,
    NPV,
    SET,
)
"""Every metric of the framework, in the order in which they are listed."""
