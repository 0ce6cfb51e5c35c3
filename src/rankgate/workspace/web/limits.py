"""How often a client may ask: a bucket of requests that fills again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from multiprocessing import get_context

_MOST = 10_000
"""Clients that are remembered; those who asked least lately are forgotten."""

_PROBES = 8


class SharedBuckets:
    """Buckets that several processes share, in memory of a fixed size.

    A client's bucket is in one of a few slots that the hash of its name gives; where they are all
    taken, the client who asked least lately is forgotten. Between processes nothing is locked: at
    worst a request that came at the same moment as another is not counted.

    Args:
        per_minute: how many requests.
        slots: how many clients are remembered.
        clock: the time in seconds, the same in all processes, for tests.
    """

    def __init__(
        self, per_minute: int, slots: int = _MOST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        context = get_context("spawn")
        self._size, self._slots, self._clock = float(per_minute), slots, clock
        self._keys = context.RawArray("Q", slots)
        self._left = context.RawArray("d", slots)
        self._at = context.RawArray("d", slots)

    def wait(self, client: str) -> int:
        """Seconds after which the client may ask again; 0 is now."""
        moment = self._clock()
        slot, known = self._slot(client)
        left, at = (self._left[slot], self._at[slot]) if known else (self._size, moment)
        left, seconds = _taken(self._size, left, moment - at)
        self._left[slot], self._at[slot] = left, moment
        return seconds

    def _slot(self, client: str) -> tuple[int, bool]:
        key = int.from_bytes(blake2b(client.encode(), digest_size=8).digest()) or 1
        places = [(key + each) % self._slots for each in range(_PROBES)]
        for each in places:
            if self._keys[each] == key:
                return each, True
        slot = min(places, key=self._at.__getitem__)
        self._keys[slot] = key
        return slot, False


def _taken(size: float, left: float, seconds: float) -> tuple[float, int]:
    """What is left of a bucket after a request, and how long the client waits."""
    rate = size / 60
    left = min(size, left + max(0.0, seconds) * rate)
    return max(0.0, left - 1), 0 if left >= 1 else max(1, round((1 - left) / rate))


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
        with self._lock:
            moment = self._clock()
            left, at = self._left.pop(client, (self._size, moment))
            left, seconds = _taken(self._size, left, moment - at)
            self._left[client] = (left, moment)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
        return seconds
