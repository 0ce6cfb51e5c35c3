"""Metrics on sampled candidates, estimated for all items: more rows of a scorecard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.metrics.ranking.reciprocal import RR
from rankgate.measurement.metrics.sampled import OF_RANK, estimates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.metrics.declare import Metric
    from rankgate.recommenders.scorecard_figures import Card
    from rankgate.recommenders.scorecard_systems import Systems

_NAME = re.compile(r"([A-Za-z]+)(@\d+)?")


def corrected_cards(
    systems: Systems, cards: Sequence[Card], metrics: Mapping[str, Metric]
) -> tuple[list[Card], dict[str, Metric], str]:
    """The cards with corrected values of each accuracy metric that has some.

    A value of a user is the estimate for the rank among all items that represents the user's rank
    among the sampled ones (Krichene and Rendle, KDD 2020); see `metrics.sampled`.

    Returns:
        the cards; the added metrics by label; and why there are none, where candidates are
        sampled and nothing can be corrected.
    """
    sample = re.fullmatch(r"sampled\((\d+)\)", systems.mark)
    wanted = {label: metric for label, metric in metrics.items() if _correctable(label, metric)}
    if sample is None or not wanted:
        return list(cards), {}, ""
    negatives, items = int(sample[1]), len(systems.catalogue.items)
    found = []
    for card, ranks in zip(cards, _ranks(systems), strict=True):
        if ranks is None or np.nanmax(ranks, initial=1) > negatives + 1 or negatives >= items:
            return (
                list(cards),
                {},
                (
                    "sampled metrics are not corrected: that needs one relevant item for each user "
                    "that every run ranks among all sampled items."
                ),
            )
        known = ~np.isnan(ranks)
        values, means = dict(card.values), dict(card.means)
        for label in wanted:
            own = np.full(len(ranks), np.nan)
            _, own[known] = estimates(ranks[known].astype(np.int64), label, items, negatives)
            name = _label(label, negatives)
            values[name], means[name] = own, float(np.nanmean(own))
        found.append(replace(card, values=values, means=means))
    return found, {_label(label, negatives): metric for label, metric in wanted.items()}, ""


def _label(label: str, negatives: int) -> str:
    return f"{label} corrected({negatives})"


def _correctable(label: str, metric: Metric) -> bool:
    """Whether a metric is one of `OF_RANK` with no other parameter than a cutoff."""
    return (
        metric.name in OF_RANK
        and _NAME.fullmatch(label) is not None
        and label.partition("@")[0] == metric.name
        and (metric.name != "P" or "@" in label)
    )


def _ranks(systems: Systems) -> list[NDArray[np.float64] | None]:
    """The rank of each user's relevant item in every run, ``(T,)``; None where one has none."""
    assert systems.catalogue.relevant is not None
    if (systems.catalogue.relevant.lengths[systems.judged] != 1).any():
        return [None] * len(systems.runs)
    items: list[NDArray[np.float64] | None] = []
    for values in systems.values_of("RR", RR):
        found = values[systems.judged]
        whole = (found > 0).all()
        with np.errstate(divide="ignore"):
            items.append(np.round(1 / values) if whole else None)
    return items
