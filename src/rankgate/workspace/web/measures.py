"""What the server counts about itself, as Prometheus reads it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from rankgate.core.errors import RankgateError
from rankgate.store.counts import by_state, counted
from rankgate.workspace.web.checks import disk_free
from rankgate.workspace.web.config import SHARED

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from rankgate.store.store import Store

MEDIA = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_FRESH = 15.0


class Measures:
    """Requests of this process, or of all processes that share a folder, and what the store holds.

    Args:
        store: an open store.
    """

    def __init__(self, store: Store) -> None:
        self._shared = SHARED in os.environ
        self._registry = CollectorRegistry()
        own = None if self._shared else self._registry
        self._requests = Counter(
            "rankgate_requests", "Requests by route and status.", ("method", "route", "status"),
            registry=own,
        )  # fmt: skip
        self._seconds = Histogram(
            "rankgate_request_seconds", "Seconds from a request to its response.", ("route",),
            registry=own, buckets=_SECONDS,
        )  # fmt: skip
        if self._shared:
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_StoreFigures(store))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)


class _StoreFigures(Collector):
    """What the store holds, read when it is asked for and kept for some seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._until = 0.0
        self._kept: tuple[Metric, ...] = ()

    def describe(self) -> Iterable[Metric]:
        """Nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The figures."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._kept = tuple(self._read())
                self._until = time.monotonic() + _FRESH
            return self._kept

    def _read(self) -> Iterator[Metric]:
        rows = GaugeMetricFamily("rankgate_store_rows", "Rows of the store.", labels=("table",))
        states = GaugeMetricFamily(
            "rankgate_store_states", "Alerts, notifications and runs of jobs by their state.",
            labels=("table", "state"),
        )  # fmt: skip
        up = 1
        try:
            for name, found in by_state(self._store).items():
                for state, count in found.items():
                    states.add_metric((name, state), count)
            for name, count in counted(self._store).items():
                rows.add_metric((name,), count)
        except RankgateError:
            up = 0
        yield GaugeMetricFamily("rankgate_store_up", "Whether the database answers.", value=up)
        yield rows
        yield states
        free = GaugeMetricFamily("rankgate_disk_free_bytes", "Free space.", labels=("place",))
        for place, size in disk_free(self._store).items():
            free.add_metric((place,), size)
        yield free
