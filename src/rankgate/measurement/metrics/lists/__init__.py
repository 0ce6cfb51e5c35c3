"""Metrics on lists beyond accuracy: coverage, evenness, novelty, diversity, fairness.

One file a family: kernels on `Listed` (the first K of each list as codes, and what is known of
items and users) or on `Sums` over lists, with their declarations. Each declares how partial
results are merged, so that the same code serves batches; see `rankgate.Accumulator`.
"""

from __future__ import annotations

from rankgate.measurement.metrics.lists.coverage_evenness import (
    Coverage,
    Entropy,
    Equality,
    Evenness,
    ExposureGini,
    FullLists,
    Gini,
    ItemsShown,
    ListCoverage,
    ListLength,
    Personalization,
)
from rankgate.measurement.metrics.lists.diversity import ILD, CategoryEntropy, Miscalibration
from rankgate.measurement.metrics.lists.exposure import (
    AWRF,
    EED,
    EEL,
    EER,
    ExposureMerit,
    ExposureOpportunity,
    ExposureParity,
)
from rankgate.measurement.metrics.lists.list_input import NONE, Listed, Sums
from rankgate.measurement.metrics.lists.list_metric import NEEDS, ListMetric
from rankgate.measurement.metrics.lists.novelty_surprise import (
    EFD,
    EPC,
    Novelty,
    Serendipity,
    Stability,
    TemporalDiversity,
    TemporalNovelty,
    Unexpectedness,
)
from rankgate.measurement.metrics.lists.popularity import (
    ACLT,
    APLT,
    IPSHits,
    PopREO,
    PopRSP,
    Popularity,
    PopularityLift,
    PopularityRank,
    TailShare,
)
from rankgate.measurement.metrics.lists.prefix_fairness import FAIR, NDKL, RKL, RND, RRD
from rankgate.measurement.metrics.lists.unfit_items import InventedShare, RepeatedShare, SeenShare

__all__ = ["ILD", "LIST_METRICS", "NEEDS", "NONE", "Coverage", "Gini", "ListMetric", "Listed", "Sums"]

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
    InventedShare,
    RepeatedShare,
    SeenShare,
)
"""Every metric on lists, in the order in which they are listed."""
