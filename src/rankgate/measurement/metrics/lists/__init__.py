"""Metrics on lists beyond accuracy: coverage, evenness, novelty, diversity, fairness.

One file a family: kernels on `Listed` (the first K of each list as codes, and what is known of
items and users) or on `Sums` over lists, with their declarations. Every one says how partial
results become one, so that the same code serves batches; see `rankgate.Accumulator`.
"""

from __future__ import annotations

from rankgate.measurement.metrics.lists.calibration import CategoryEntropy, Miscalibration
from rankgate.measurement.metrics.lists.coverage import (
    Coverage,
    FullLists,
    ItemsShown,
    ListCoverage,
    ListLength,
)
from rankgate.measurement.metrics.lists.declare import NEEDS, ListMetric
from rankgate.measurement.metrics.lists.diversity import ILD
from rankgate.measurement.metrics.lists.evenness import (
    Entropy,
    Equality,
    Evenness,
    ExposureGini,
    Gini,
)
from rankgate.measurement.metrics.lists.expected import EED, EEL, EER
from rankgate.measurement.metrics.lists.exposure import (
    AWRF,
    ExposureMerit,
    ExposureOpportunity,
    ExposureParity,
)
from rankgate.measurement.metrics.lists.listed import NONE, Listed, Sums
from rankgate.measurement.metrics.lists.novelty import EFD, EPC, Novelty
from rankgate.measurement.metrics.lists.personalization import Personalization
from rankgate.measurement.metrics.lists.popularity import (
    ACLT,
    APLT,
    PopREO,
    PopRSP,
    Popularity,
    PopularityLift,
    PopularityRank,
    TailShare,
)
from rankgate.measurement.metrics.lists.prefixes import FAIR, NDKL, RKL, RND, RRD
from rankgate.measurement.metrics.lists.propensity import IPSHits
from rankgate.measurement.metrics.lists.surprise import (
    Serendipity,
    Stability,
    TemporalDiversity,
    TemporalNovelty,
    Unexpectedness,
)

__all__ = [
    "ILD",
    "LIST_METRICS",
    "NEEDS",
    "NONE",
    "Coverage",
    "Gini",
    "ListMetric",
    "Listed",
    "Sums",
]

LIST_METRICS: tuple[ListMetric, ...] = (
    Coverage,
    ItemsShown,
    ListCoverage,
    FullLists,
    ListLength,
    Gini,
    ExposureGini,
    Equality,
    Entropy,
    Evenness,
    Personalization,
    ILD,
    CategoryEntropy,
    Novelty,
    EPC,
    EFD,
    Serendipity,
    Unexpectedness,
    Miscalibration,
    Popularity,
    PopularityRank,
    ACLT,
    APLT,
    TailShare,
    PopularityLift,
    PopREO,
    PopRSP,
    IPSHits,
    TemporalDiversity,
    TemporalNovelty,
    Stability,
    AWRF,
    ExposureParity,
    ExposureMerit,
    ExposureOpportunity,
    EEL,
    EED,
    EER,
    RND,
    RKL,
    RRD,
    NDKL,
    FAIR,
)
"""Every metric on lists, in the order in which they are listed."""
