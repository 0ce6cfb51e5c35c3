"""Values that are expensive to make: each process keeps the last ones for some time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from rankgate.workspace.web.web_request import WebRequest


T = TypeVar("T")

_MAX_LIFETIME = 3_600.0
"""Seconds for which any value is kept, at most."""

_SHORTEST, _SHARE = 2.0, 50
"""Values that may change are kept for so many seconds at least, and times as long as they took."""

_MAX_PROJECTS = 1_000


@dataclass
class _ValueLock:
    """The lock of one value: the first request makes it, the others wait."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class Cache(Generic[T]):
    """Values by key, which do not change; the least recently used one is dropped first.

    Args:
        most: how many are kept.
        clock: the time in seconds, for tests.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._values: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._turns: dict[Hashable, _ValueLock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key; of requests at once the first makes it, and the others wait."""
        with self._lock:
            if (current := self._current(key)) is not None:
                return current[1]
            value_lock = self._turns.setdefault(key, _ValueLock())
            value_lock.waiting += 1
        try:
            with value_lock.lock:
                with self._lock:
                    if (current := self._current(key)) is not None:
                        return current[1]
                begin = self._clock()
                value = make()
                self._keep(key, value, begin)
            return value
        finally:
            with self._lock:
                value_lock.waiting -= 1
                if not value_lock.waiting:
                    del self._turns[key]

    def _current(self, key: Hashable) -> tuple[float, T] | None:
        """The time at which a value expires, and the value; None if it has to be made."""
        current = self._values.get(key)
        if current is None or self._clock() >= current[0]:
            return None
        self._values.move_to_end(key)
        return current

    def _keep(self, key: Hashable, value: T, begin: float) -> None:
        moment = self._clock()
        with self._lock:
            self._values[key] = (moment + self._lasting(moment - begin), value)
            self._values.move_to_end(key)
            for stale_key in [
                stale_key for stale_key, (end, _) in self._values.items() if end <= moment
            ]:
                del self._values[stale_key]
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def _lasting(self, making_seconds: float) -> float:  # noqa: ARG002 - for values that change
        """The seconds for which a value is kept, by the seconds that it took to make."""
        return _MAX_LIFETIME


class ProjectCache(Cache[T]):
    """One value for each project that may change: it may be some seconds old."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(_MAX_PROJECTS, clock)

    def of_project(self, request: WebRequest, make: Callable[[], T]) -> T:
        """The value of the request's project, made again if it is too old."""
        return self.get((request.store.name, request.project.id), make)

    def _lasting(self, making_seconds: float) -> float:
        return min(_MAX_LIFETIME, max(_SHORTEST, _SHARE * making_seconds))
