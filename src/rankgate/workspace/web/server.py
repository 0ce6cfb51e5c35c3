"""The server process: first start, settings, socket and workers.

The first start creates a missing store and prints the link for its first admin.
"""

from __future__ import annotations

import ipaddress
import math
import os
import signal
import socket
import threading
import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError, require
from rankgate.data.streams.source import read_limit
from rankgate.judging.models.model_queue import read_endpoints
from rankgate.store.people import invitations, second_factors, users
from rankgate.store.store import Store
from rankgate.workspace.web.security import SharedRequestBuckets
from rankgate.workspace.web.server_config import (
    DEFAULT_UNPACKED_BYTES,
    METRICS_FOLDER_VARIABLE,
    ServerConfig,
    json_logging,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from starlette.applications import Starlette


def open_or_create_store(url: str | None) -> Store:
    """Open a store; a missing SQLite file is created.

    Raises:
        UsageError: the store cannot be opened.
    """
    from rankgate.store.database import address, file_of

    path = file_of(address(url))
    if path is not None and not path.exists():
        return Store.create(url)
    return Store.open(url)


def first_link(store: Store) -> str | None:
    """The path of the link that creates the first admin; None if an admin exists."""
    with store.write() as connection:
        secret = _invite_first_admin(connection)
    return None if secret is None else f"/invitations/{secret}"


def has_admin(store: Store) -> bool:
    """True if the store has an admin."""
    with store.read() as connection:
        return any(user.admin for user in users.list_users(connection))


def protect_secrets(store: Store) -> int:
    """Encrypt stored secrets with the key of the environment; return the number without encryption.

    Raises:
        UsageError: a key is missing or not valid.
    """
    with store.write() as connection:
        return second_factors.reseal_secrets(connection)


def _invite_first_admin(connection: Connection) -> str | None:
    """The secret of a link that creates the admin of a store without users; None with users.

    Links of earlier starts become invalid.
    """
    if any(user.admin for user in users.list_users(connection)):
        return None
    for invitation in invitations.list_open(connection):
        if invitation.admin:
            invitations.revoke(connection, invitation.id)
    return invitations.invite(connection, admin=True, lifetime=timedelta(days=1))[1]


METRICS_TOKEN_VARIABLE = "RANKGATE_METRICS_TOKEN"  # noqa: S105 - the variable's name
"""The environment variable with the token that a client of ``/metrics`` sends."""

UNPACKED_VARIABLE = "RANKGATE_MAX_UPLOAD_MB"
"""The environment variable with the largest unpacked size of an upload in megabytes."""

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def is_local(host: str) -> bool:
    """True if only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_config(
    store: Store,
    host: str,
    *,
    certificate: Path | None,
    behind_proxy: bool,
    base: str,
    names: tuple[str, ...],
    llm: Path | None = None,
    **settings: Any,
) -> ServerConfig:
    """Create the settings of a server; ``settings`` are other fields of `ServerConfig`.

    Raises:
        UsageError: the connection is not protected; the key of an endpoint is missing.
        InputError: the file of endpoints cannot be read.
    """
    if not (is_local(host) or certificate or behind_proxy):
        raise UsageError(
            f"{host} can be reached by others, and passwords would be sent as they are; give --certificate "
            "and --key, or --behind-proxy if a proxy does TLS.",
            code="insecure-address",
        )
    if base and (not base.startswith("/") or base.endswith("/")):
        problem = f"the path {base!r} must begin with a slash and not end with one, as in /judging."
        raise UsageError(problem, code="invalid-path")
    is_local_only = is_local(host) and not behind_proxy and not names
    hosts = LOCAL_NAMES | {host} if is_local_only else frozenset(name.lower() for name in names)
    models = {} if llm is None else read_endpoints(llm)
    unpacked = read_limit(UNPACKED_VARIABLE, DEFAULT_UNPACKED_BYTES >> 20) * (1 << 20)
    secure = bool(certificate) or behind_proxy
    return ServerConfig(
        store,
        base=base,
        secure=secure,
        hosts=hosts,
        models=models,
        proxied=behind_proxy,
        metrics_token=os.environ.get(METRICS_TOKEN_VARIABLE, ""),
        largest_unpacked=unpacked or math.inf,
        link=f"https://{names[0]}{base}" if names and secure else "",
        **settings,
    )


def check_proxies(addresses: tuple[str, ...], *, behind_proxy: bool) -> tuple[str, ...]:
    """The addresses and networks whose ``X-Forwarded-*`` headers are trusted.

    Raises:
        UsageError: an address is invalid; there are addresses without a proxy.
    """
    if addresses and not behind_proxy:
        raise UsageError("--proxy goes with --behind-proxy.", code="missing-input")
    for address in addresses:
        try:
            ipaddress.ip_network(address, strict=False)
        except ValueError:
            problem = f"--proxy {address!r} is not an address or a network, as in 10.0.0.0/24."
            raise UsageError(problem, code="invalid-address") from None
    return addresses or (("127.0.0.1", "::1") if behind_proxy else ())


def open_listener(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 selects a free port.

    Raises:
        UsageError: the address is in use, or does not belong to this machine.
    """
    try:
        listener = socket.create_server((host, port), backlog=2048)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --port.", code="cannot-listen"
        ) from None
    # Connections inherit it. asyncio leaves it off for sockets of `create_server`, and the body of
    # an answer would wait 40 ms until the client acknowledges the headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _create_worker_application(
    config: ServerConfig, parent: int, shared_buckets: SharedRequestBuckets
) -> Starlette:
    """Create the application in a worker process, which ends when the main process has died."""
    from rankgate.workspace.web.app import create_application

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    return create_application(config, shared_buckets)


def serve(
    config: ServerConfig,
    listener: socket.socket,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    proxies: tuple[str, ...] = (),
    workers: int = 1,
    json_logs: bool = False,
) -> None:
    """Serve requests until interrupted.

    Args:
        config: the settings.
        listener: the listening socket.
        certificate: the certificate file for TLS.
        key: the key file of the certificate.
        proxies: the addresses or networks whose ``X-Forwarded-*`` headers are trusted.
        workers: the number of processes; a dead process is replaced.
        json_logs: True if the log is JSON lines, with a line for each request.

    Raises:
        MissingExtraError: the extra ``serve`` is not installed.
    """
    require("the server needs more packages", "starlette", "uvicorn")
    import uvicorn
    from uvicorn.config import LOGGING_CONFIG
    from uvicorn.supervisors import Multiprocess

    from rankgate.workspace.web.app import create_application
    from rankgate.workspace.web.header_timeout import PatientProtocol

    application = partial(create_application, config)
    if workers > 1:
        shared_buckets = SharedRequestBuckets(config.per_minute)
        application = partial(_create_worker_application, config, os.getpid(), shared_buckets)
    settings = uvicorn.Config(
        application,
        factory=True,
        workers=workers,
        access_log=False,  # paths of invitations are secrets
        log_level="warning",
        log_config=dict(json_logging()) if json_logs else LOGGING_CONFIG,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        root_path=config.base,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        limit_concurrency=2_000,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
        timeout_worker_healthcheck=60,  # by default a busy worker is killed after 5 s
        h11_max_incomplete_event_size=32_768,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
    )
    if workers > 1:
        with TemporaryDirectory(prefix="rankgate-metrics-") as folder:
            os.environ[METRICS_FOLDER_VARIABLE] = (
                folder  # the worker processes write their request counts to this folder
            )
            Multiprocess(settings, sockets=[listener]).run()
    else:
        uvicorn.Server(settings).run(sockets=[listener])
