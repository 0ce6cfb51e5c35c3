"""``rankgate serve``: the pages for rating, and the REST API."""

from __future__ import annotations

from pathlib import Path

import click

from rankgate.core.errors import UsageError, require
from rankgate.core.present.number_formats import count_noun


@click.command("serve")
@click.option("--store", "store", help="URL of the store, or a SQLite file.", metavar="URL")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 is any that is free.",
)
@click.option(
    "--certificate",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Certificate for TLS (PEM).",
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Key of the certificate (PEM).",
)
@click.option("--behind-proxy", is_flag=True, help="A proxy in front of it does TLS.")
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of the proxy that may set X-Forwarded headers [default: this machine]; may be "
    "given several times.",
)
@click.option("--base", default="", help="Path of the server behind a proxy, as /judging.")
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="Accepted host name; may be given several times."
)
@click.option(
    "--oidc",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with a table [oidc]: sign-in by OpenID Connect.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Processes that serve, about one a core.",
)
@click.option(
    "--llm",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.toml",
    help="Endpoints of language models that projects may use: a table each, with url, protocol, key_from, "
    "models, prices and concurrency.",
)
@click.option(
    "--log-format",
    default="text",
    type=click.Choice(("text", "json")),
    show_default=True,
    help="The log: warnings, or JSON lines with one for each request.",
)
@click.option(
    "--schedule/--no-schedule",
    default=True,
    show_default=True,
    help="Run scheduled jobs, check alerts and send messages.",
)
@click.option(
    "--jobs",
    envvar="RANKGATE_JOBS",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Files of scheduled jobs: in FOLDER/PROJECT their engines, queries, judgments and policies.",
)
@click.option("--allow-http", is_flag=True, help="Webhooks may be sent over plain HTTP to other machines.")
@click.option(
    "--engine-host",
    "engine_hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="A host that engines of projects may connect to; may be given several times [default: none].",
)
@click.option(
    "--engine-secret",
    "engine_secrets",
    multiple=True,
    metavar="NAME",
    help="An environment variable that engines of projects may use, such as the key of a search engine; may "
    "be given several times.",
)
@click.option(
    "--engine-programs",
    is_flag=True,
    help="Engines of projects may be programs and Python functions of this machine: managers of projects can "
    "then run anything here.",
)
@click.option(
    "--engine-rate",
    type=click.FloatRange(0, min_open=True),
    metavar="X",
    help="Queries a second that an engine of a project gets at most [default: no limit].",
)
def serve_command(
    store: str | None,
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    behind_proxy: bool,
    proxies: tuple[str, ...],
    base: str,
    names: tuple[str, ...],
    oidc: Path | None,
    workers: int,
    llm: Path | None,
    log_format: str,
    schedule: bool,
    jobs: Path | None,
    allow_http: bool,
    engine_hosts: tuple[str, ...],
    engine_secrets: tuple[str, ...],
    engine_programs: bool,
    engine_rate: float | None,
) -> None:
    """Start the web server: the dashboard, the pages where people rate, and the REST API.

    A missing store is created. The first start prints a link that works once: who opens it
    becomes the admin. With --log-format json no link is printed, because logs are kept: add the
    admin with rankgate store user add.

    \b
    rankgate serve --store judging.db
    rankgate serve --store postgresql://rankgate@db/judging --host 0.0.0.0 --behind-proxy
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
