"""Preferences of a group with as many documents not relevant as relevant (trec_eval's Rnonrel)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.measurement.metrics.judged import Flags
    from rankgate.measurement.metrics.preferences.preferred import Group


def balanced_counts(group: Group, retrieved: int, within: bool) -> tuple[int, int]:  # noqa: FBT001
    """Preferences fulfilled and preferences, as trec_eval counts them.

    It adds the missing documents to all that are relevant even where only those retrieved
    count, and compares the lowest class with itself; its values are reproduced.

    Args:
        group: the preferences.
        retrieved: how many documents are.
        within: only preferences of two documents retrieved.
    """
    m, levels = retrieved, group.level
    end = m if within else len(levels)
    relevant, is_nonrelevant = levels > 0, levels <= 0
    relevant_count, nonrelevant_count = int(relevant[:end].sum()), int(is_nonrelevant[:end].sum())
    prefers = group.prefers[:end, :end]
    if relevant_count < nonrelevant_count:
        return _first_counts(
            group, prefers, m, relevant_count if group.classes else int(relevant.sum())
        )
    missing_count = relevant_count - nonrelevant_count
    fulfilled = int(_fulfilled(prefers, m).sum()) + int(relevant[:m].sum()) * missing_count
    return fulfilled, int(prefers.sum()) + int(relevant.sum()) * missing_count


def _first_counts(group: Group, prefers: Flags, m: int, keep: int) -> tuple[int, int]:
    """The counts where only the first documents that are not relevant are kept."""
    level = group.level[: len(prefers)]
    is_nonrelevant = level <= 0
    if not group.classes:
        is_included = ~(is_nonrelevant & (np.cumsum(is_nonrelevant) > keep))
        prefers = prefers & is_included[:, None] & is_included[None, :]
        return int(_fulfilled(prefers, m).sum()), int(prefers.sum())
    lowest = level == np.nanmin(group.level)
    is_lowest_kept = lowest & (np.cumsum(lowest) <= keep)
    is_above_lowest = ~lowest & ~np.isnan(level)
    pairs = prefers & is_above_lowest[:, None] & is_above_lowest[None, :]
    pairs |= (is_above_lowest | lowest)[:, None] & is_lowest_kept[
        None, :
    ]  # the lowest class also with itself
    return int(_fulfilled(pairs, m).sum()), int(pairs.sum())


def _fulfilled(prefers: Flags, m: int) -> Flags:
    is_fulfilled: Flags = np.triu(prefers[:m], 1)
    return is_fulfilled
