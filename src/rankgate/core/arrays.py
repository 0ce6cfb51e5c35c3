"""The types of arrays, for annotations: whole modules of numbers name them the same.

Import them where types are checked only (``if TYPE_CHECKING``), so that nothing loads this module.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
