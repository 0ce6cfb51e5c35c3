"""Propensity-weighted hits, against the popularity bias of logs."""

from typing import Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged import total
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import Floats, Listed, among, over, taken


def ips_hits(
    listed: Listed,
    *,
    cap: Annotated[float, Range(1)] = 10_000.0,
    normalised: bool = False,
) -> Floats:
    """Hits, each over the chance that an interaction is with its item, ``(T,)``.

        IPSHits@K = Σ_{i relevant and shown} min( cap, Σ_j seen_j / seen_i )

    Args:
        listed: the lists; an item that nobody is known to know weighs nothing.
        cap: the most that a hit weighs, so that one rare item does not decide.
        normalised: over what all relevant items of the user weigh (SNIPS).

    Returns:
        NaN for users without relevant items.

    >>> shown = Listed(np.array([[0, 1]]), 2, relevant=np.array([[0]]), seen=np.array([1, 3]))
    >>> ips_hits(shown)
    array([4.])
    """
    assert listed.seen is not None
    assert isinstance(listed.relevant, np.ndarray)
    seen = listed.seen.astype(np.float64)
    weight = np.nan_to_num(np.minimum(over(np.full(seen.shape, seen.sum()), seen), cap))
    hits = total(taken(weight, listed.items) * among(listed.items, listed.relevant))
    wanted = total(taken(weight, listed.relevant))
    if normalised:
        return over(hits, wanted)
    return np.where((listed.relevant >= 0).any(axis=-1), hits, np.nan)


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
