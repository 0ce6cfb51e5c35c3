"""Restrict lists to a part of the catalogue."""

from dataclasses import replace
from typing import Any

import numpy as np

from rankgate.measurement.metrics.lists.listed import NONE, Codes, Flags, Listed
from rankgate.measurement.metrics.lists.ragged import Ragged

_BLOCK = 1 << 20  # codes that move at one time: histories of many users are large


def restricted(listed: Listed, kept: Flags) -> Listed:
    """The same lists without the other items; those that are left move up.

    Args:
        listed: the lists, cut where they are to be cut.
        kept: ``(I,)``, which items there are.

    >>> shown = restricted(Listed(np.array([[0, 2, 1]]), 3), np.array([False, True, True]))
    >>> shown.items.tolist(), shown.catalogue
    ([[1, 0, -1]], 2)
    """
    codes = np.where(kept, np.cumsum(kept) - 1, NONE).astype(np.int32)

    def moved(matrix: Codes | Ragged | None) -> Codes | Ragged | None:
        if matrix is None:
            return None
        if isinstance(matrix, Ragged):
            return matrix.mapped(codes)
        found: Codes = np.empty_like(matrix)
        step = max(1, _BLOCK // max(1, matrix[:1].size))
        for begin in range(0, len(matrix), step):
            part = matrix[begin : begin + step]
            own = np.where(part != NONE, codes[part], NONE)
            up = np.argsort(own == NONE, axis=-1, kind="stable")
            found[begin : begin + step] = np.take_along_axis(own, up, axis=-1)
        return found

    matrices = ("items", "relevant", "history", "baseline", "earlier", "before", "drawn")
    tables = ("seen", "features", "categories", "groups")
    changed: dict[str, Any] = {name: moved(getattr(listed, name)) for name in matrices}
    for name in tables:
        table = getattr(listed, name)
        changed[name] = None if table is None else table[kept]
    if listed.similarities is not None:
        changed["similarities"] = listed.similarities[np.ix_(kept, kept)]
    return replace(listed, catalogue=int(np.count_nonzero(kept)), **changed)
