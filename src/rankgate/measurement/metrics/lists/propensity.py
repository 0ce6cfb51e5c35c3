"""Propensity-weighted hits, against the popularity bias of logs."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import (
    Floats,
    Listed,
    is_in_row,
    safe_ratio,
    take_rows,
)


def ips_hits(
    lists: Listed,
    *,
    cap: Annotated[float, Range(1)] = 10_000.0,
    normalised: bool = False,
) -> Floats:
    """Hits, each over the chance that an interaction is with its item, ``(T,)``.

        IPSHits@K = Σ_{i relevant and shown} min( cap, Σ_j seen_j / seen_i )

    Args:
        lists: the lists; an item that nobody is known to know weighs nothing.
        cap: the most that a hit weighs, so that one rare item does not decide.
        normalised: over what all relevant items of the user weigh (SNIPS).

    Returns:
        NaN for users without relevant items.

    >>> shown = Listed(np.array([[0, 1]]), 2, relevant=np.array([[0]]), seen=np.array([1, 3]))
    >>> ips_hits(shown)
    array([4.])
    """
    assert lists.seen is not None
    assert isinstance(lists.relevant, np.ndarray)
    seen_counts = lists.seen.astype(np.float64)
    weight = np.nan_to_num(
        np.minimum(safe_ratio(np.full(seen_counts.shape, seen_counts.sum()), seen_counts), cap)
    )
    hits = total(take_rows(weight, lists.items) * is_in_row(lists.items, lists.relevant))
    relevant_weight = total(take_rows(weight, lists.relevant))
    if normalised:
        return safe_ratio(hits, relevant_weight)
    return np.where((lists.relevant >= 0).any(axis=-1), hits, np.nan)


IPSHits = ListMetric(
    "IPSHits",
    ips_hits,
    title="Hits, each over the chance that an interaction is with its item.",
    formula="IPSHits@K = Σ_{i relevant and shown} min( cap, Σ_j seen_j / seen_i )",
    aliases=("ips_hit_rate",),
    high=None,
    needs=("seen", "relevant"),
    source="Schnabel et al., ICML 2016, arXiv:1602.05352; RecPack (IPSHitRateK, SNIPSHitRateK)",
    sees="which relevant items are shown, and how popular they were",
    blind_to="the order within a list",
)
