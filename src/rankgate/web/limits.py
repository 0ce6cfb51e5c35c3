"""How often a client may ask: a bucket of requests that fills again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST = 10_000
"""Clients that are remembered; those who asked least lately are forgotten."""


class Buckets:
    """A bucket a client, which a request empties by one and a minute fills.

    Args:
        per_minute: how many requests.
        clock: the time in seconds, for tests.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = float(per_minute), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, client: str) -> int:
        """Seconds after which the client may ask again; 0 is now."""
        rate = self._size / 60
        with self._lock:
            moment = self._clock()
            left, at = self._left.pop(client, (self._size, moment))
            left = min(self._size, left + (moment - at) * rate)
            self._left[client] = (max(0.0, left - 1), moment)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
        return 0 if left >= 1 else max(1, round((1 - left) / rate))
