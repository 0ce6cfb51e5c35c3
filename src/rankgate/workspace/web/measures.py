"""Measurements of the server about itself, in Prometheus' format."""

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
from rankgate.store.counts import count_by_state, count_rows
from rankgate.workspace.web.checks import count_free_bytes
from rankgate.workspace.web.config import METRICS_FOLDER_VARIABLE

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from rankgate.store.store import Store

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_CACHE_SECONDS = 15.0


class ServerMetrics:
    """Requests of this process, or of all processes that share a folder, and what the store holds.

    Args:
        store: an open store.
    """

    def __init__(self, store: Store) -> None:
        self._shared = METRICS_FOLDER_VARIABLE in os.environ
        self._registry = CollectorRegistry()
        registry = None if self._shared else self._registry
        self._requests = Counter(
            "rankgate_requests",
            "Requests by route and status.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Histogram(
            "rankgate_request_seconds",
            "Seconds from a request to its response.",
            ("route",),
            registry=registry,
            buckets=_SECONDS_BUCKETS,
        )
        if self._shared:
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_StoreCollector(store))

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)


class _StoreCollector(Collector):
    """The figures of the store, read on request and kept for some seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._until = 0.0
        self._kept: tuple[Metric, ...] = ()

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that nothing is read at the registration."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """The figures."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._kept = tuple(self._read())
                self._until = time.monotonic() + _CACHE_SECONDS
            return self._kept

    def _read(self) -> Iterator[Metric]:
        rows = GaugeMetricFamily("rankgate_store_rows", "Rows of the store.", labels=("table",))
        states = GaugeMetricFamily(
            "rankgate_store_states",
            "Alerts, notifications and runs of jobs by their state.",
            labels=("table", "state"),
        )
        is_up = 1
        try:
            for name, state_counts in count_by_state(self._store).items():
                for state, count in state_counts.items():
                    states.add_metric((name, state), count)
            for name, count in count_rows(self._store).items():
                rows.add_metric((name,), count)
        except RankgateError:
            is_up = 0
        yield GaugeMetricFamily("rankgate_store_up", "Whether the database answers.", value=is_up)
        yield rows
        yield states
        free = GaugeMetricFamily("rankgate_disk_free_bytes", "Free space.", labels=("place",))
        for location, size in count_free_bytes(self._store).items():
            free.add_metric((location,), size)
        yield free
