"""``rankgate serve``: the pages for rating, and the REST API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import click

from rankgate.core.console.declared_options import own_options
from rankgate.core.declare import Range
from rankgate.core.errors import UsageError, require
from rankgate.core.present.number_formats import count_noun

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("serve")
@own_options("store URL", "host", "port", "certificate", "key", kinds={"certificate": _FILE, "key": _FILE})
@own_options(
    "behind_proxy", "proxies ADDRESS --proxy", "base", "names HOST --name", "oidc", kinds={"oidc": _FILE}
)
@own_options("workers", "llm FILE.toml", kinds={"llm": click.Path(dir_okay=False, path_type=Path)})
@own_options("log_format", "schedule")
@click.option(
    "--jobs",
    envvar="RANKGATE_JOBS",
    metavar="FOLDER",
    type=_FOLDER,
    help="Files of scheduled jobs: in FOLDER/PROJECT their engines, queries, judgments and policies.",
)
@own_options("allow_http", "engine_hosts HOST[:PORT] --engine-host", "engine_secrets NAME --engine-secret")
@own_options("engine_programs", "engine_rate X")
def serve_command(
    *,
    store: str | None = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Range(0, 65_535)] = 8765,
    certificate: Path | None = None,
    key: Path | None = None,
    behind_proxy: bool = False,
    proxies: tuple[str, ...] = (),
    base: str = "",
    names: tuple[str, ...] = (),
    oidc: Path | None = None,
    workers: Annotated[int, Range(1, 64)] = 1,
    llm: Path | None = None,
    log_format: Literal["text", "json"] = "text",
    schedule: bool = True,
    jobs: Path | None,
    allow_http: bool = False,
    engine_hosts: tuple[str, ...] = (),
    engine_secrets: tuple[str, ...] = (),
    engine_programs: bool = False,
    engine_rate: Annotated[float, Range(0, exclusive=True)] | None = None,
) -> None:
    """Start the web server: the dashboard, the pages where people rate, and the REST API.

    A missing store is created. The first start prints a link that works once: who opens it
    becomes the admin. With --log-format json no link is printed, because logs are kept: add the
    admin with rankgate store user add.

    \b
    rankgate serve --store judging.db
    rankgate serve --store postgresql://rankgate@db/judging --host 0.0.0.0 --behind-proxy
    \f

    Options:
        store: URL of the store, or a SQLite file.
        host: Address to listen on.
        port: Port; 0 is any that is free.
        certificate: Certificate for TLS (PEM).
        key: Key of the certificate (PEM).
        behind_proxy: A proxy in front of it does TLS.
        proxies: Address or network of the proxy that may set X-Forwarded headers [default: this
            machine]; may be given several times.
        base: Path of the server behind a proxy, as /judging.
        names: Accepted host name; may be given several times.
        oidc: TOML file with a table [oidc]: sign-in by OpenID Connect.
        workers: Processes that serve, about one a core.
        llm: Endpoints of language models that projects may use: a table each, with url, protocol,
            key_from, models, prices and concurrency.
        log_format: The log: warnings, or JSON lines with one for each request.
        schedule: Run scheduled jobs, check alerts and send messages.
        allow_http: Webhooks may be sent over plain HTTP to other machines.
        engine_hosts: A host that engines of projects may connect to; may be given several times
            [default: none].
        engine_secrets: An environment variable that engines of projects may use, such as the key of
            a search engine; may be given several times.
        engine_programs: Engines of projects may be programs and Python functions of this machine:
            managers of projects can then run anything here.
        engine_rate: Queries a second that an engine of a project gets at most [default: no limit].
    """
    require(
        "the server needs more packages",
        "starlette",
        "uvicorn",
        "jinja2",
        "markdown_it",
        "multipart",
        "nh3",
        "prometheus_client",
        "pyotp",
        "segno",
        "snowballstemmer",
        "apscheduler",
        "sqlalchemy",
        "alembic",
        "argon2",
        "cryptography",
    )
    from rankgate.store.people.stored_secrets import KEY_VARIABLE
    from rankgate.workspace.web.oidc_users import read_oidc_settings
    from rankgate.workspace.web.server import (
        check_proxies,
        first_link,
        has_admin,
        make_config,
        open_listener,
        open_or_create_store,
        protect_secrets,
        serve,
    )

    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key go together.", code="missing-input")
    from rankgate.engines.project_engines import EngineAccess

    jobs = None if jobs is None else jobs.resolve()
    engines = EngineAccess(
        frozenset(host.lower() for host in engine_hosts),
        frozenset(engine_secrets),
        engine_programs,
        jobs,
        engine_rate,
    )
    provider = read_oidc_settings(oidc)
    trusted = check_proxies(proxies, behind_proxy=behind_proxy)
    with open_or_create_store(store) as open_store:
        config = make_config(
            open_store,
            host,
            certificate=certificate,
            behind_proxy=behind_proxy,
            base=base,
            names=names,
            oidc=provider,
            llm=llm,
            schedule=schedule,
            jobs=jobs,
            allow_http=allow_http,
            engines=engines,
        )
        listener = open_listener(host, port)
        host_text = f"[{host}]" if ":" in host else host
        scheme = "https" if certificate else "http"
        address = f"{scheme}://{host_text}:{listener.getsockname()[1]}{base}"
        click.echo(f"{open_store.name} is served at {address} (end with Ctrl+C)", err=True)
        if behind_proxy and not names:
            click.echo(
                "warning: without --name all host names are accepted; give the name that people use", err=True
            )
        if log_format == "json":  # logs are collected and kept, so they must not contain the link
            if not has_admin(open_store):
                click.echo(
                    "The store has no admin yet; add an admin with: rankgate store user add NAME --admin",
                    err=True,
                )
        elif link := first_link(open_store):
            click.echo(f"Become its admin, once, within a day: {address}{link}", err=True)
        if count := protect_secrets(open_store):
            click.echo(
                f"warning: {count_noun(count, 'second factor is', 'second factors are')} stored without "
                f"encryption; set {KEY_VARIABLE} to encrypt them",
                err=True,
            )
        serve(
            config,
            listener,
            certificate=certificate,
            key=key,
            proxies=trusted,
            workers=workers,
            json_logs=log_format == "json",
        )
