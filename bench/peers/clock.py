"""The clock of the contestants whose data is in memory before they begin."""

from __future__ import annotations

import json
import time
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TIMES = 5


def timed(evaluate: Callable[[], Mapping[str, float]]) -> None:
    """Evaluate once to warm up and five times by the clock; print means and seconds."""
    means, seconds = evaluate(), []
    for _ in range(_TIMES):
        begin = time.perf_counter()
        evaluate()
        seconds.append(time.perf_counter() - begin)
    result = {"mean": dict(means), "best": min(seconds), "median": median(seconds)}
    result["longest"] = max(seconds)
    print(json.dumps(result))
