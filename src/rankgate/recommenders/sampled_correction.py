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
    from rankgate.recommenders.scorecard_systems import ScorecardSystems

_NAME = re.compile(r"([A-Za-z]+)(@\d+)?")


def correct_cards(
    systems: ScorecardSystems, cards: Sequence[Card], metrics: Mapping[str, Metric]
) -> tuple[list[Card], dict[str, Metric], str]:
    """The cards with corrected values of each accuracy metric that has some.

    A value of a user is the estimate for the rank among all items that represents the user's rank
    among the sampled ones (Krichene and Rendle, KDD 2020); see `metrics.sampled`.

    Returns:
        the cards; the added metrics by label; and the reason why there are none, where candidates
        are sampled and correction is impossible.
    """
    sample = re.fullmatch(r"sampled\((\d+)\)", systems.mark)
    correctable = {
        label: metric for label, metric in metrics.items() if _is_correctable(label, metric)
    }
    if sample is None or not correctable:
        return list(cards), {}, ""
    negatives, item_count = int(sample[1]), len(systems.catalogue.items)
    corrected = []
    for card, ranks in zip(cards, _ranks(systems), strict=True):
        if ranks is None or np.nanmax(ranks, initial=1) > negatives + 1 or negatives >= item_count:
            return (
                list(cards),
                {},
                (
                    "sampled metrics are not corrected: that needs one relevant item for each user "
                    "that every run ranks among all sampled items."
                ),
            )
        has_rank = ~np.isnan(ranks)
        values, means = dict(card.values), dict(card.means)
        for label in correctable:
            user_values = np.full(len(ranks), np.nan)
            _, user_values[has_rank] = estimates(
                ranks[has_rank].astype(np.int64), label, item_count, negatives
            )
            name = _label(label, negatives)
            values[name], means[name] = user_values, float(np.nanmean(user_values))
        corrected.append(replace(card, values=values, means=means))
    return (
        corrected,
        {_label(label, negatives): metric for label, metric in correctable.items()},
        "",
    )


def _label(label: str, negatives: int) -> str:
    return f"{label} corrected({negatives})"


def _is_correctable(label: str, metric: Metric) -> bool:
    """True if a metric is one of `OF_RANK` with no other parameter than a cutoff."""
    return (
        metric.name in OF_RANK
        and _NAME.fullmatch(label) is not None
        and label.partition("@")[0] == metric.name
        and (metric.name != "P" or "@" in label)
    )


def _ranks(systems: ScorecardSystems) -> list[NDArray[np.float64] | None]:
    """The rank of each user's relevant item in every run, ``(T,)``; None where one has none."""
    assert systems.catalogue.relevant is not None
    if (systems.catalogue.relevant.lengths[systems.judged] != 1).any():
        return [None] * len(systems.runs)
    ranks_by_run: list[NDArray[np.float64] | None] = []
    for values in systems.values_of("RR", RR):
        reciprocal_ranks = values[systems.judged]
        has_all_ranks = (reciprocal_ranks > 0).all()
        with np.errstate(divide="ignore"):
            ranks_by_run.append(np.round(1 / values) if has_all_ranks else None)
    return ranks_by_run
