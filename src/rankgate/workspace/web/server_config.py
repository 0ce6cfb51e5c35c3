"""The settings of a server, and its logs.

Logs are JSON lines with the number of the request, and without secrets.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.engines.project_engines import EngineAccess

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.judging.models.model_queue import Endpoint
    from rankgate.store.store import Store
    from rankgate.workspace.web.oidc_users import OidcSettings


METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder for joint counts of several processes; it must be set
before prometheus_client is loaded."""


DEFAULT_UNPACKED_BYTES = 256 << 20
"""The default of the largest unpacked size of an upload in bytes."""


@dataclass(frozen=True)
class ServerConfig:
    """The settings of a server.

    Attributes:
        store: the store of the server.
        oidc: the settings of sign-in by OpenID Connect; None allows only passwords.
        base: the path prefix behind a proxy, without a slash at the end.
        secure: True if people reach the server by TLS, so that cookies are sent only over TLS.
        hosts: the accepted host names; empty means any.
        largest: the largest size in bytes of a request without files.
        largest_upload: the largest size in bytes of a request with files.
        largest_unpacked: the largest unpacked size in bytes of a compressed file.
        patience: the seconds within which a client must send its request.
        per_minute: the number of requests per minute of a session, token or address.
        proxied: True if a proxy forwards the requests of clients.
        metrics_token: the token of clients of ``/metrics``; empty allows only clients on this
            machine.
        schedule: True if the server runs jobs, checks alerts and sends messages on a schedule.
        jobs: the folder of scheduled jobs' files; None allows only jobs without files.
        link: the public address for links in messages; empty if unknown.
        allow_http: True if webhooks may be sent over plain HTTP.
        models: the endpoints of language models that projects may use, by name.
        engines: the hosts and secrets that engines of projects may use.
    """

    store: Store
    oidc: OidcSettings | None = None
    base: str = ""
    secure: bool = False
    hosts: frozenset[str] = frozenset()
    largest: int = 1_000_000
    largest_upload: int = 200_000_000
    largest_unpacked: float = DEFAULT_UNPACKED_BYTES
    patience: float = 30.0
    per_minute: int = 1_200
    proxied: bool = False
    metrics_token: str = field(default="", repr=False)
    schedule: bool = False
    jobs: Path | None = None
    link: str = ""
    allow_http: bool = False
    models: Mapping[str, Endpoint] = field(default_factory=dict)
    engines: EngineAccess = EngineAccess()


REQUEST_NUMBER: ContextVar[str] = ContextVar("rankgate_request", default="")
"""The number of the current request."""

DETAILS_KEY = "rankgate"
"""The key of ``extra`` whose values become keys of a log line."""


class JsonLines(logging.Formatter):
    """A log formatter with one JSON object per line: time, level, logger, message and more."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a log record as a line of JSON."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Json] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if number := REQUEST_NUMBER.get():
            line["request"] = number
        line |= getattr(record, DETAILS_KEY, {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def json_logging() -> JsonObject:
    """The logging settings for `logging.config.dictConfig`, for every process of the server."""
    handler = {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "rankgate.workspace.web.server_config.JsonLines"}},
        "handlers": {"lines": handler},
        "root": {"handlers": ["lines"], "level": "WARNING"},
        "loggers": {"rankgate": {"level": "INFO"}},
    }
