"""Values as z-scores of other runs, ``-Z``: standard deviations above their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import InputError
from rankgate.data.streams.source import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    ZScores = Mapping[tuple[str, str], tuple[float, float]]

UNKNOWN = -1_000_000.0
"""The value that trec_eval prints if the file has no mean of a query and metric."""
_FIELDS = 4


def read_zscores(path: str | Path) -> ZScores:
    """Read mean and standard deviation by query and metric: ``query metric mean deviation``.

    Raises:
        InputError: a line that has not four fields, or a number that is not one.
    """
    input_file = open_source(path)
    mean_and_deviation = {}
    lines = (line for piece in input_file.chunks() for line in piece.decode().splitlines())
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            if len(fields) != _FIELDS:
                raise ValueError  # noqa: TRY301 - one error for both
            mean_and_deviation[fields[0], fields[1]] = float(fields[2]), float(fields[3])
        except ValueError:
            raise InputError(
                "expected 4 fields (query_id metric mean deviation), the last two being numbers.",
                source=input_file.label,
                line=number,
                code="wrong-field-count",
            ) from None
    return mean_and_deviation


def to_zscores(
    zscores: ZScores, label: str, query_ids: Sequence[str], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Convert values of a metric to z-scores; `UNKNOWN` without a mean in the file.

    A deviation of 0 gives 0 for a value equal to the mean. NaN in the file gives NaN.
    """
    out = np.full(len(values), UNKNOWN)
    for t, query in enumerate(query_ids):
        if (query, label) not in zscores:
            continue
        mean, deviation = zscores[query, label]
        if deviation:
            with np.errstate(invalid="ignore", over="ignore"):  # as in C, without a word
                out[t] = (values[t] - mean) / deviation
        elif values[t] == mean:
            out[t] = 0.0
    return out
