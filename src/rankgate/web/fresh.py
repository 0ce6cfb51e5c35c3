"""Values of a project that are kept for a moment, as every rater's page needs them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from rankgate.web.asked import Asked

T = TypeVar("T")

_FRESH = 2.0
"""Seconds for which a value is kept, at least."""

_SHARE = 50
"""A value is kept for so many times as long as it took to find."""


class Fresh(Generic[T]):
    """One value a project; each process has its own, which may be some seconds old."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[float, T]] = {}
        self._lock = threading.Lock()

    def get(self, asked: Asked, find: Callable[[], T]) -> T:
        """The value of the request's project, found again if it is too old."""
        key = (asked.store.name, asked.project.id)
        begin = time.monotonic()
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and begin < kept[0]:
            return kept[1]
        value = find()
        end = time.monotonic()
        with self._lock:
            self._kept[key] = (end + max(_FRESH, _SHARE * (end - begin)), value)
        return value
