"""A cache of expensive values: each application keeps the most recent values for some time."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, TypeVar, cast

import polars as pl

T = TypeVar("T")

_MAX_LIFETIME = 3_600.0
"""The largest number of seconds for which a value is kept."""

_SHORTEST, _SHARE = 2.0, 50
"""Changing values are kept for at least this many seconds, and this many times their cost."""

_MAX_BYTES = 96 << 20
"""The largest total size of all values in bytes."""


@dataclass
class _ValueLock:
    """The lock of a value: the first request computes the value, and other requests wait."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


@dataclass(frozen=True)
class _StoredValue:
    """A value with its expiry time and its size in bytes."""

    value: Any
    end: float
    size: int


class ValueCache:
    """A cache of values by key, which drops the least recently used values first.

    A key begins with the name of the kind of value; for constant content, the key contains its
    hash.

    Args:
        max_bytes: the largest total size of all values, by `estimate_bytes`.
        clock: the time in seconds, for tests.
    """

    def __init__(self, max_bytes: int = _MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes, self._clock = max_bytes, clock
        self._values: OrderedDict[Hashable, _StoredValue] = OrderedDict()
        self._bytes = 0
        self._turns: dict[Hashable, _ValueLock] = {}
        self._lock = threading.Lock()

    def get(
        self, key: Hashable, make: Callable[[], T], *, changes: bool = False, shortest: float = _SHORTEST
    ) -> T:
        """The value of a key; the first of simultaneous requests computes it, and the others wait.

        Args:
            key: the name of the kind of value, and its identifier.
            make: a function that computes the value.
            changes: True if the value may change later; it is then kept for a time that depends on
                its cost.
            shortest: the shortest time in seconds for which a changing value is kept.
        """
        with self._lock:
            if (current := self._current(key)) is not None:
                return cast("T", current.value)
            value_lock = self._turns.setdefault(key, _ValueLock())
            value_lock.waiting += 1
        try:
            with value_lock.lock:
                with self._lock:
                    if (current := self._current(key)) is not None:
                        return cast("T", current.value)
                begin = self._clock()
                value = make()
                seconds = self._clock() - begin
                lifetime = max(shortest, _SHARE * seconds) if changes else _MAX_LIFETIME
                self._keep(key, value, min(_MAX_LIFETIME, lifetime))
            return value
        finally:
            with self._lock:
                value_lock.waiting -= 1
                if not value_lock.waiting:
                    del self._turns[key]

    def _current(self, key: Hashable) -> _StoredValue | None:
        """The cached value of a key; None if the value must be computed."""
        current = self._values.get(key)
        if current is None or self._clock() >= current.end:
            return None
        self._values.move_to_end(key)
        return current

    def _keep(self, key: Hashable, value: object, lifetime: float) -> None:
        moment, size = self._clock(), estimate_bytes(key) + estimate_bytes(value)
        with self._lock:
            stale_keys = [name for name, stored in self._values.items() if stored.end <= moment]
            for stale_key in {key, *stale_keys} & self._values.keys():
                self._bytes -= self._values.pop(stale_key).size
            if size > self._max_bytes:  # such a large value would remove all other values
                return
            self._values[key] = _StoredValue(value, moment + lifetime, size)
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= self._values.popitem(last=False)[1].size


def estimate_bytes(value: object) -> int:
    """The size of a value with its parts in bytes; shared parts count each time."""
    if isinstance(value, pl.DataFrame):
        return int(value.estimated_size())
    parts: Any = ()
    if isinstance(value, Mapping):
        parts = (*value.keys(), *value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    elif is_dataclass(value) and not isinstance(value, type):
        parts = vars(value).values()
    return sys.getsizeof(value) + sum(map(estimate_bytes, parts))
