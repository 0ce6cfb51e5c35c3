"""The web application with every route, on Starlette."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route as Mounted

from rankgate.judging.models.model_queue import ModelQueue
from rankgate.workspace.records.schedule.scheduler import Scheduler
from rankgate.workspace.web.endpoint import Endpoint, ReplyForm, wants_json
from rankgate.workspace.web.monitoring import METRICS_PATH, RequestObserver, ServerMetrics, metrics_endpoint
from rankgate.workspace.web.openapi import has_json_twin
from rankgate.workspace.web.pages.step_pages import following_step
from rankgate.workspace.web.rendering import to_json
from rankgate.workspace.web.routes import ROUTES
from rankgate.workspace.web.security import RequestBuckets, add_security_headers
from rankgate.workspace.web.value_cache import ValueCache

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rankgate.workspace.web.security import SharedRequestBuckets
    from rankgate.workspace.web.server_config import ServerConfig


_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OPERATION_PATHS = frozenset({"/health", "/health/live", METRICS_PATH})
"""Pages for monitoring, which are also available under this machine's local names."""


def create_application(config: ServerConfig, shared_buckets: SharedRequestBuckets | None = None) -> Starlette:
    """Create the application of a store.

    Args:
        config: the settings of the server.
        shared_buckets: the request counts shared with other processes.
    """
    buckets = shared_buckets or RequestBuckets(config.per_minute)
    cache = ValueCache()
    routes_by_name = {route.name: route for route in ROUTES}
    mounted_routes = []
    for route in ROUTES:
        twins: list[tuple[str, ReplyForm]] = [(route.path, "html")]
        if route.scope is not None and has_json_twin(route):
            twins.insert(0, (f"{route.path}.json", "json"))
        if route.tabular:
            twins.insert(0, (f"{route.path}.csv", "csv"))
        for path, form in twins:
            endpoint = Endpoint(route, routes_by_name, config, cache, buckets, form, following_step)
            mounted_routes.append(Mounted(path, endpoint.__call__, methods=[route.method]))
    measures = ServerMetrics(config.store)
    mounted_routes.append(Mounted(METRICS_PATH, metrics_endpoint(config, buckets, measures), methods=["GET"]))
    observed = Middleware(RequestObserver, config=config, measures=measures)
    hosts = Middleware(_HostCheck, config=config)

    async def missing(request: Request, error: Exception) -> Response:  # noqa: ARG001
        return _plain_refusal(request, 404, "not-found", "This page does not exist.", config)

    async def other_method(request: Request, error: Exception) -> Response:
        answer = _plain_refusal(
            request, 405, "other-method", "This page does not accept this method.", config
        )
        answer.headers.update(getattr(error, "headers", None) or {})
        return answer

    application = Starlette(
        routes=mounted_routes,
        middleware=[observed, hosts],
        exception_handlers={404: missing, 405: other_method},
        lifespan=_lifespan(config),
    )
    if config.models:
        application.state.models = ModelQueue(config.store, config.models)
        application.state.models.start()
    return application


def _lifespan(config: ServerConfig) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Start and stop the scheduler with the server (``lifespan`` of uvicorn)."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:  # noqa: ARG001
        scheduler = Scheduler(
            config.store,
            config.jobs,
            config.link,
            allow_http=config.allow_http,
            environment=config.engines.to_environment(),
        )
        if config.schedule:
            scheduler.start()
        yield
        if config.schedule:
            await to_thread.run_sync(scheduler.stop)

    return lifespan


def _plain_refusal(request: Request, status: int, code: str, message: str, config: ServerConfig) -> Response:
    """Refuse a request before it reaches a route, with JSON for programs."""
    response: Response = PlainTextResponse(message, status)
    if wants_json(request) or request.url.path.endswith(".json"):
        error = {"error": {"code": code, "message": message}}
        response = Response(to_json(error), status, media_type="application/json")
    return add_security_headers(response, config)


class _HostCheck:
    """Middleware that accepts only the server's own host names, against DNS rebinding.

    A proxy may send paths with or without its own path prefix.
    """

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app, self.config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.config.hosts:
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            allowed_names = _LOCAL_NAMES if scope["path"] in _OPERATION_PATHS else frozenset()
            if name.lower() not in self.config.hosts | allowed_names:
                refusal = PlainTextResponse("This server does not answer to this host name.", 421)
                await add_security_headers(refusal, self.config)(scope, receive, send)
                return
        base = self.config.base
        if base and scope["type"] == "http" and scope["path"].startswith(f"{base}{base}/"):
            scope = {**scope, "path": scope["path"].removeprefix(base)}
        await self.app(scope, receive, send)
