"""``rankgate serve``: the pages where people rate, and the REST API."""

from __future__ import annotations

from pathlib import Path

import click

from rankgate.core.errors import UsageError
from rankgate.core.extras import require


@click.command("serve")
@click.option("--store", "store", help="URL of the store, or a SQLite file.", metavar="URL")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535),
              help="Port; 0 is any that is free.")  # fmt: skip
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Certificate for TLS (PEM).")  # fmt: skip
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Key of the certificate (PEM).")  # fmt: skip
@click.option("--behind-proxy", is_flag=True, help="A proxy in front of it does TLS.")
@click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS",
              help="Address or network of the proxy, whose X-Forwarded headers are believed "
              "[default: this machine]; may be given several times.")  # fmt: skip
@click.option("--base", default="", help="Path under which the proxy serves it, as /judging.")
@click.option("--name", "names", multiple=True, metavar="HOST",
              help="Host name that it answers by; may be given several times.")  # fmt: skip
@click.option("--oidc", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="TOML file with a table [oidc]: sign-in by OpenID Connect.")  # fmt: skip
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64),
              help="Processes that serve, about one a core.")  # fmt: skip
@click.option("--llm", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.toml",
              help="Endpoints of language models that projects may use: a table each, with url, "
              "protocol, key_from, models, prices and concurrency.")  # fmt: skip
@click.option("--log-format", default="text", type=click.Choice(("text", "json")),
              show_default=True,
              help="The log: warnings, or JSON lines with one for each request.")  # fmt: skip
@click.option("--schedule/--no-schedule", default=True, show_default=True,
              help="Whether it runs scheduled jobs, checks alerts and sends messages.")  # fmt: skip
@click.option("--jobs", envvar="RANKGATE_JOBS", metavar="FOLDER",
              type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Files of scheduled jobs: in FOLDER/PROJECT their engines, queries, judgments "
              "and policies.")  # fmt: skip
@click.option("--allow-http", is_flag=True,
              help="Webhooks may be sent over plain HTTP to other machines.")  # fmt: skip
def command(
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
) -> None:
    """Serve the dashboard, the pages where people rate, and the REST API.

    A store that is not there yet is made. At the first start a link is printed that makes the
    admin; it works once. With --log-format json it is not, as logs are kept: add the admin with
    rankgate store user add.

    \b
    rankgate serve --store judging.db
    rankgate serve --store postgresql://rankgate@db/judging --host 0.0.0.0 --behind-proxy
    """
    require(
        "the server needs more packages",
        "starlette", "uvicorn", "jinja2", "markdown_it", "multipart", "prometheus_client",
        "apscheduler", "sqlalchemy", "alembic", "argon2",
    )  # fmt: skip
    from rankgate.workspace.web.first import first_link, has_admin, opened
    from rankgate.workspace.web.oidc.settings import read
    from rankgate.workspace.web.server import configured, listening, serve, trusted_proxies

    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key go together.", code="missing-input")
    provider = read(oidc)
    trusted = trusted_proxies(proxies, behind_proxy=behind_proxy)
    with opened(store) as found:
        config = configured(
            found, host, certificate=certificate, behind_proxy=behind_proxy, base=base, names=names,
            oidc=provider,
            llm=llm,
            schedule=schedule,
            jobs=None if jobs is None else jobs.resolve(),
            allow_http=allow_http,
        )  # fmt: skip
        place = listening(host, port)
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if certificate else "http"
        address = f"{scheme}://{shown}:{place.getsockname()[1]}{base}"
        click.echo(f"{found.name} is served at {address} (end with Ctrl+C)", err=True)
        if behind_proxy and not names:
            click.echo("warning: without --name it answers by any host name; give the one by "
                       "which people reach it", err=True)  # fmt: skip
        if log_format == "json":  # logs are collected and kept: no link goes there
            if not has_admin(found):
                click.echo("It has no admin yet; add one with: rankgate store user add NAME "
                           "--admin", err=True)  # fmt: skip
        elif link := first_link(found):
            click.echo(f"Become its admin, once, within a day: {address}{link}", err=True)
        serve(
            config, place, certificate=certificate, key=key, proxies=trusted, workers=workers,
            json_logs=log_format == "json",
        )  # fmt: skip
