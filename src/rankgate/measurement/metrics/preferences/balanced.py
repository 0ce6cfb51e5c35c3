"""Preferences of a group with as many documents not relevant as relevant (trec_eval's Rnonrel)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.measurement.metrics.judged import Flags
    from rankgate.measurement.metrics.preferences.preferred import Group


def balanced(group: Group, retrieved: int, within: bool) -> tuple[int, int]:  # noqa: FBT001
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
    relevant, other = levels > 0, levels <= 0
    wanted, found = int(relevant[:end].sum()), int(other[:end].sum())
    prefers = group.prefers[:end, :end]
    if wanted < found:
        return _first(group, prefers, m, wanted if group.classes else int(relevant.sum()))
    missing = wanted - found
    fulfilled = int(_fulfilled(prefers, m).sum()) + int(relevant[:m].sum()) * missing
    return fulfilled, int(prefers.sum()) + int(relevant.sum()) * missing


def _first(group: Group, prefers: Flags, m: int, keep: int) -> tuple[int, int]:
    """The counts where only the first documents that are not relevant are kept."""
    level = group.level[: len(prefers)]
    other = level <= 0
    if not group.classes:
        kept = ~(other & (np.cumsum(other) > keep))
        prefers = prefers & kept[:, None] & kept[None, :]
        return int(_fulfilled(prefers, m).sum()), int(prefers.sum())
    lowest = level == np.nanmin(group.level)
    chosen = lowest & (np.cumsum(lowest) <= keep)
    above = ~lowest & ~np.isnan(level)
    pairs = prefers & above[:, None] & above[None, :]
    pairs |= (above | lowest)[:, None] & chosen[None, :]  # the lowest class also with itself
    return int(_fulfilled(pairs, m).sum()), int(pairs.sum())


def _fulfilled(prefers: Flags, m: int) -> Flags:
    found: Flags = np.triu(prefers[:m], 1)
    return found
