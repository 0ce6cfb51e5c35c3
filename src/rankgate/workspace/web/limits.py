"""The limit on a client's requests: a bucket of requests that fills again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from multiprocessing import get_context

_MAX_CLIENTS = 10_000
"""The number of clients that are remembered; the least recent ones are forgotten."""

_PROBES = 8


class SharedRequestBuckets:
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
        self,
        per_minute: int,
        slots: int = _MAX_CLIENTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        context = get_context("spawn")
        self._size, self._slots, self._clock = float(per_minute), slots, clock
        self._keys = context.RawArray("Q", slots)
        self._left = context.RawArray("d", slots)
        self._at = context.RawArray("d", slots)

    def wait(self, client: str) -> int:
        """Seconds until the client may send the next request; 0 is now."""
        moment = self._clock()
        slot, is_known = self._slot(client)
        remaining, last_time = (
            (self._left[slot], self._at[slot]) if is_known else (self._size, moment)
        )
        remaining, seconds = _take_request(self._size, remaining, moment - last_time)
        self._left[slot], self._at[slot] = remaining, moment
        return seconds

    def _slot(self, client: str) -> tuple[int, bool]:
        key = int.from_bytes(blake2b(client.encode(), digest_size=8).digest()) or 1
        slots = [(key + offset) % self._slots for offset in range(_PROBES)]
        for candidate in slots:
            if self._keys[candidate] == key:
                return candidate, True
        slot = min(slots, key=self._at.__getitem__)
        self._keys[slot] = key
        return slot, False


def _take_request(size: float, remaining: float, seconds: float) -> tuple[float, int]:
    """The requests that remain in a bucket after one, and the seconds that the client waits."""
    rate = size / 60
    remaining = min(size, remaining + max(0.0, seconds) * rate)
    return max(0.0, remaining - 1), 0 if remaining >= 1 else max(1, round((1 - remaining) / rate))


class RequestBuckets:
    """A bucket for each client, which a request empties by one and a minute fills.

    Args:
        per_minute: how many requests.
        clock: the time in seconds, for tests.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = float(per_minute), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, client: str) -> int:
        """Seconds until the client may send the next request; 0 is now."""
        with self._lock:
            moment = self._clock()
            remaining, last_time = self._left.pop(client, (self._size, moment))
            remaining, seconds = _take_request(self._size, remaining, moment - last_time)
            self._left[client] = (remaining, moment)
            if len(self._left) > _MAX_CLIENTS:
                self._left.popitem(last=False)
        return seconds
