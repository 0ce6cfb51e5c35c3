"""Health checks, metrics and request logs of the server.

Health checks cover the database, the version of its schema, and the free disk space. ``/metrics``
has metrics in Prometheus' format, only for clients on this machine or with a token. Every request
is numbered, timed, counted and logged.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response

from rankgate.core.errors import RankgateError
from rankgate.core.present.number_formats import count_noun
from rankgate.store import store as versions
from rankgate.store.blobs.blob_folders import Folder
from rankgate.store.database import file_of
from rankgate.store.records.series import list_latest_values
from rankgate.store.store_integrity import count_by_state, count_rows
from rankgate.workspace.web.endpoint import Endpoint
from rankgate.workspace.web.security import add_security_headers
from rankgate.workspace.web.server_config import DETAILS_KEY, METRICS_FOLDER_VARIABLE, REQUEST_NUMBER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from prometheus_client.metrics_core import Metric
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rankgate.core.value_types import Json
    from rankgate.store.store import Store
    from rankgate.workspace.web.security import RequestBuckets, SharedRequestBuckets
    from rankgate.workspace.web.server_config import ServerConfig


MIN_FREE_BYTES = 100_000_000
"""The bytes that must be free at each location where the store writes."""


def check_health(store: Store) -> dict[str, str]:
    """The result of each check: ``ok``, or a problem without addresses and paths."""
    results = {"database": "ok", "migrations": "ok", "disk": "ok"}
    try:
        with store.read() as connection:
            if versions.version(connection) != versions.newest_version():
                results["migrations"] = "the store is of another version than the program"
    except RankgateError:
        results["database"] = results["migrations"] = "the database does not answer"
    for location, free in count_free_bytes(store).items():
        if free < MIN_FREE_BYTES:
            results["disk"] = f"{count_noun(free, 'byte is', 'bytes are')} free for the {location}"
    return results


def count_free_bytes(store: Store) -> dict[str, int]:
    """The free bytes by location: the SQLite ``database``, and the folder of ``blobs``."""
    paths: dict[str, Path] = {}
    if (file := file_of(store.url)) is not None:
        paths["database"] = file.parent
    if isinstance(store.blobs, Folder):
        paths["blobs"] = store.blobs.folder
    free_bytes = {}
    for name, path in paths.items():
        existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        with suppress(OSError):  # the folder of blobs is created with the first blob
            free_bytes[name] = shutil.disk_usage(existing).free
    return free_bytes


MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_CACHE_SECONDS = 15.0
_MAX_SERIES = 10_000
_HISTORY = {
    "value": "Latest mean of a metric, or value of a KPI.",
    "value_low": "Lower bound of the 95 % interval of a value.",
    "value_high": "Upper bound of the 95 % interval of a value.",
    "count": "Queries or units behind a value.",
}


class ServerMetrics:
    """Request counts of this process, or of all processes that share a folder, and row counts.

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
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class _StoreCollector(Collector):
    """A collector of the store's row counts, which are cached for some seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._until = 0.0
        self._kept: tuple[Metric, ...] = ()

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registration does not read the store."""
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
        yield GaugeMetricFamily("rankgate_store_up", "The state of the database.", value=is_up)
        yield rows
        yield states
        free = GaugeMetricFamily("rankgate_disk_free_bytes", "Free space.", labels=("place",))
        for location, size in count_free_bytes(self._store).items():
            free.add_metric((location,), size)
        yield free
        if is_up:
            yield from self._read_history()

    def _read_history(self) -> Iterator[Metric]:
        """The latest figures of the history: no queries, no documents."""
        with self._store.read(once=True) as connection:
            latest_values = list_latest_values(connection, _MAX_SERIES)
        labels = ("project", "metric", "system")
        gauges = {
            name: GaugeMetricFamily(f"rankgate_{name}", description, labels=labels)
            for name, description in _HISTORY.items()
        }
        for latest in latest_values:
            numbers = (latest.value, latest.low, latest.high, latest.n)
            for gauge, number in zip(gauges.values(), numbers, strict=True):
                if number is not None:
                    gauge.add_metric((latest.project, latest.metric, latest.system), number)
        description = "1 for the verdict that came with a system's latest figures."
        verdicts = GaugeMetricFamily("rankgate_verdict", description, labels=("project", "system", "verdict"))
        labels_of_verdicts = {(latest.project, latest.system, latest.verdict) for latest in latest_values}
        for project, system, verdict in labels_of_verdicts:
            if verdict is not None:
                verdicts.add_metric((project, system, verdict), 1)
        yield from gauges.values()
        yield verdicts


METRICS_PATH = "/metrics"


def metrics_endpoint(
    config: ServerConfig, buckets: RequestBuckets | SharedRequestBuckets, measures: ServerMetrics
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint ``/metrics``, for direct clients on this machine or clients with the token."""

    async def answer(request: Request) -> Response:
        client = request.client.host if request.client else ""
        if wait := buckets.wait(client):
            busy = PlainTextResponse(f"Try again in {wait} s.", 429, {"retry-after": str(wait)})
            return add_security_headers(busy, config)
        if not _is_allowed(request, client, config):
            return add_security_headers(PlainTextResponse("This page does not exist.", 404), config)
        content = await to_thread.run_sync(measures.text)
        return add_security_headers(Response(content, headers={"content-type": MEDIA_TYPE}), config)

    return answer


def _is_allowed(request: Request, client: str, config: ServerConfig) -> bool:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if config.metrics_token:
        token = credentials.strip() if scheme.lower() == "bearer" else ""
        return hmac.compare_digest(token.encode(), config.metrics_token.encode())
    if config.proxied or "x-forwarded-for" in request.headers:
        return False  # a proxy on this machine forwards requests of other clients
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False


_LOG = logging.getLogger("rankgate.access")
_NUMBER_PATTERN = re.compile(r"[A-Za-z0-9._-]{8,64}")
_UNKNOWN_ROUTE = "(no route)"


class RequestObserver:
    """The outermost middleware, which numbers, times, counts and logs requests.

    The log and the metrics contain the route's path with parameters in braces, because paths of
    invitations are secrets. Query strings and bodies are left out.
    """

    def __init__(self, app: ASGIApp, config: ServerConfig, measures: ServerMetrics) -> None:
        self.app, self.config, self.measures = app, config, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and record the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        number = self._number(scope)
        begin = time.perf_counter()
        status = 500

        async def send_observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", number.encode())]
            await send(message)

        context_token = REQUEST_NUMBER.set(number)
        try:
            await self.app(scope, receive, send_observed)
        finally:
            seconds = time.perf_counter() - begin
            route = _route_path(scope)
            method = scope["method"] if route != _UNKNOWN_ROUTE else "other"
            self.measures.request(method, route, status, seconds)
            details: dict[str, Json] = {
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(1000 * seconds, 1),
                "client": scope["client"][0] if scope["client"] else "",
            }
            _LOG.info("%s %s %d", scope["method"], route, status, extra={DETAILS_KEY: details})
            REQUEST_NUMBER.reset(context_token)

    def _number(self, scope: Scope) -> str:
        """The request number from the proxy, if there is a proxy; otherwise a new number."""
        proxy_number: str = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        if self.config.proxied and _NUMBER_PATTERN.fullmatch(proxy_number):
            return proxy_number
        return secrets.token_hex(8)


def _route_path(scope: Scope) -> str:
    """The path of the route that handled the request, with parameters in braces."""
    owner = getattr(scope.get("endpoint"), "__self__", None)
    if isinstance(owner, Endpoint):
        return owner.route.path
    return "/metrics" if scope.get("endpoint") is not None else _UNKNOWN_ROUTE
