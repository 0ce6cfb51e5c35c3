"""The application: every route, on Starlette."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route as Mounted

from rankgate.judging.models.queue import ModelQueue
from rankgate.workspace.records.schedule.scheduler import Scheduler
from rankgate.workspace.web.endpoint import Endpoint, Form, wants_json
from rankgate.workspace.web.headers import secured
from rankgate.workspace.web.limits import Buckets
from rankgate.workspace.web.measures import Measures
from rankgate.workspace.web.metrics import PATH, metrics
from rankgate.workspace.web.observed import Observed
from rankgate.workspace.web.openapi import twin
from rankgate.workspace.web.render import plain
from rankgate.workspace.web.routes import ROUTES

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rankgate.workspace.web.config import Config
    from rankgate.workspace.web.limits import SharedBuckets


_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_OPERATION = frozenset({"/health", "/health/live", PATH})
"""Pages that also answer by the names of this machine, which those who watch over it use."""


def create(config: Config, shared: SharedBuckets | None = None) -> Starlette:
    """The application of a store.

    Args:
        config: the settings.
        shared: counts requests together with other processes.
    """
    buckets = shared or Buckets(config.per_minute)
    named = {each.name: each for each in ROUTES}
    mounted = []
    for route in ROUTES:
        twins: list[tuple[str, Form]] = [(route.path, "html")]
        if route.scope is not None and twin(route):
            twins.insert(0, (f"{route.path}.json", "json"))
        if route.tabular:
            twins.insert(0, (f"{route.path}.csv", "csv"))
        for path, form in twins:
            endpoint = Endpoint(route, named, config, buckets, form)
            mounted.append(Mounted(path, endpoint.__call__, methods=[route.method]))
    measures = Measures(config.store)
    mounted.append(Mounted(PATH, metrics(config, buckets, measures), methods=["GET"]))
    observed = Middleware(Observed, config=config, measures=measures)
    hosts = Middleware(_Hosts, config=config)

    async def missing(request: Request, error: Exception) -> Response:  # noqa: ARG001
        return _plain(request, 404, "not-found", "There is no such page.", config)

    async def other_method(request: Request, error: Exception) -> Response:
        answer = _plain(request, 405, "other-method", "This page takes another method.", config)
        answer.headers.update(getattr(error, "headers", None) or {})
        return answer

    made = Starlette(
        routes=mounted,
        middleware=[observed, hosts],
        exception_handlers={404: missing, 405: other_method},
        lifespan=_lifespan(config),
    )
    if config.models:
        made.state.models = ModelQueue(config.store, config.models)
        made.state.models.start()
    return made


def _lifespan(config: Config) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """What begins and ends with the server, where it asks for it (``lifespan`` of uvicorn)."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:  # noqa: ARG001
        scheduler = Scheduler(config.store, config.jobs, config.link, allow_http=config.allow_http)
        if config.schedule:
            scheduler.start()
        yield
        if config.schedule:
            await to_thread.run_sync(scheduler.stop)

    return lifespan


def _plain(request: Request, status: int, code: str, words: str, config: Config) -> Response:
    """A refusal before any route: as JSON for programs."""
    response: Response = PlainTextResponse(words, status)
    if wants_json(request) or request.url.path.endswith(".json"):
        error = {"error": {"code": code, "message": words}}
        response = Response(plain(error), status, media_type="application/json")
    return secured(response, config)


class _Hosts:
    """Answers by its own names only, so that a foreign name cannot be made to point here.

    A proxy may send paths with its own path in front, or without.
    """

    def __init__(self, app: ASGIApp, config: Config) -> None:
        self.app, self.config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.config.hosts:
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            own = _LOCAL if scope["path"] in _OPERATION else frozenset()
            if name.lower() not in self.config.hosts | own:
                wrong = PlainTextResponse("This server does not answer by this name.", 421)
                await secured(wrong, self.config)(scope, receive, send)
                return
        base = self.config.base
        if base and scope["type"] == "http" and scope["path"].startswith(f"{base}{base}/"):
            scope = {**scope, "path": scope["path"].removeprefix(base)}
        await self.app(scope, receive, send)
