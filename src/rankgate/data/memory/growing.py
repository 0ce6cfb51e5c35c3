"""An array that grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class GrowingArray:
    """An array that grows in place; joining pieces would hold the memory twice."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self.values = np.empty(0, dtype)

    def add(self, values: NDArray[Any]) -> None:
        """Put values at the end."""
        size = len(self.values)
        self.values.resize(size + len(values), refcheck=False)  # no other array shares its memory
        self.values[size:] = values
