"""Types of arrays for annotations, so that modules with numeric code use the same names.

Import them only under ``if TYPE_CHECKING``, so that this module is never loaded at run time.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
