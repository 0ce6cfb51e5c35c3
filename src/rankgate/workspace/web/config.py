"""Settings of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.judging.models.endpoints import Endpoint
    from rankgate.store.store import Store
    from rankgate.workspace.web.oidc.settings import OidcSettings

METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder in which several processes count together; it is set
before prometheus_client is loaded."""


DEFAULT_UNPACKED_BYTES = 256 << 20
"""Bytes to which a compressed upload may unpack by default."""


@dataclass(frozen=True)
class ServerConfig:
    """The settings of a server.

    Attributes:
        store: where everything is.
        oidc: how people sign in by OpenID Connect; None is by password only.
        base: the path under which a proxy serves it, without a slash at the end.
        secure: True if people reach it by TLS, so that cookies are sent over nothing else.
        hosts: the only names by which it answers; empty is any.
        largest: bytes of a request without files.
        largest_upload: bytes of a request with files.
        largest_unpacked: bytes to which a compressed file may unpack.
        patience: seconds that a client may take to send its request.
        per_minute: requests of one session, token or address.
        proxied: True if a proxy in front of it sends requests of others.
        metrics_token: what a client of ``/metrics`` sends; empty is clients on this machine only.
        schedule: True if it runs jobs, checks alerts and sends messages by the clock.
        jobs: the folder of scheduled jobs' files; None is jobs without files only.
        link: the address by which people reach it, for links in messages; empty is unknown.
        allow_http: True if webhooks may be sent over plain HTTP.
        models: endpoints of language models that projects may use, by name.
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
