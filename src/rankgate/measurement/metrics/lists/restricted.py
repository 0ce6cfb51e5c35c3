"""Restrict lists to a part of the catalogue."""

from dataclasses import replace
from typing import Any

import numpy as np

from rankgate.measurement.metrics.lists.listed import NONE, Codes, Flags, Listed
from rankgate.measurement.metrics.lists.ragged import Ragged

_BLOCK = 1 << 20  # codes that move at one time: histories of many users are large


def restrict_lists(lists: Listed, is_included: Flags) -> Listed:
    """The same lists without the other items; the remaining ones move up.

    Args:
        lists: the lists, cut where they are to be cut.
        is_included: ``(I,)``, True for items of that part.

    >>> shown = restrict_lists(Listed(np.array([[0, 2, 1]]), 3), np.array([False, True, True]))
    >>> shown.items.tolist(), shown.catalogue
    ([[1, 0, -1]], 2)
    """
    codes = np.where(is_included, np.cumsum(is_included) - 1, NONE).astype(np.int32)

    def moved(matrix: Codes | Ragged | None) -> Codes | Ragged | None:
        if matrix is None:
            return None
        if isinstance(matrix, Ragged):
            return matrix.mapped(codes)
        new_matrix: Codes = np.empty_like(matrix)
        step = max(1, _BLOCK // max(1, matrix[:1].size))
        for begin in range(0, len(matrix), step):
            chunk = matrix[begin : begin + step]
            new_codes = np.where(chunk != NONE, codes[chunk], NONE)
            order = np.argsort(new_codes == NONE, axis=-1, kind="stable")
            new_matrix[begin : begin + step] = np.take_along_axis(new_codes, order, axis=-1)
        return new_matrix

    matrices = ("items", "relevant", "history", "baseline", "earlier", "before", "drawn")
    tables = ("seen", "features", "categories", "groups")
    new_fields: dict[str, Any] = {name: moved(getattr(lists, name)) for name in matrices}
    for name in tables:
        table = getattr(lists, name)
        new_fields[name] = None if table is None else table[is_included]
    new_fields["tables"] = {need: table[is_included] for need, table in lists.tables.items()}
    if lists.similarities is not None:
        new_fields["similarities"] = lists.similarities[np.ix_(is_included, is_included)]
    return replace(lists, catalogue=int(np.count_nonzero(is_included)), **new_fields)
