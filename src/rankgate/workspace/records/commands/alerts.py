"""``rankgate alerts``: rules over the history, what they found, and messages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.present.write import FORMS
from rankgate.measurement import store_options

_allow_http = click.option(
    "--allow-http", is_flag=True, help="Webhooks may be sent over plain HTTP to other machines."
)


@click.group("alerts", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Watch the history of a project by rules; send messages when quality falls.

    \b
    rankgate alerts rules alerts.toml --project shop --store quality.db
    rankgate alerts check --project shop --store quality.db
    rankgate alerts acknowledge 1 --project shop --store quality.db
    """


@command.command("rules")
@click.argument("file", required=False, metavar="[FILE.toml]",
                type=click.Path(exists=True, dir_okay=False, path_type=Path))  # fmt: skip
@store_options.store
@store_options.project()
def rules(file: Path | None, store: str | None, project: str) -> None:
    """Set the rules of a project to those of FILE.toml; without a file print them."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import rules_of, set_rules_of

    with Store.open(store) as found:
        if file is None:
            click.echo(rules_of(found, project), nl=False)
            return
        made = set_rules_of(found, project, file)
    click.echo(f"{project}: rules {len(made.rules)}, channels {len(made.channels)}")


@command.command("check")
@store_options.store
@store_options.project()
@click.option("--send/--no-send", default=True, show_default=True,
              help="Whether messages that are due are sent.")  # fmt: skip
@_allow_http
@options.form(*FORMS)
def check(store: str | None, project: str, send: bool, allow_http: bool, form: str) -> None:
    """Check every rule now, note what fires and what is over, and send the messages.

    Exits with 1 while there is an alert.
    """
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.alert_check import check_alerts
    from rankgate.workspace.records.alerts.deliver import deliver

    with Store.open(store) as found:
        result = check_alerts(found, project)
        print_result(result, form)
        if send:
            done = deliver(found, project, allow_http=allow_http)
            if done.sent or done.later or done.failed:
                words = f"messages: {done.sent} sent, {done.later} again later"
                print_summary([f"{words}, {done.failed} failed"])
    if result.failed:
        sys.exit(1)


@command.command("list")
@store_options.store
@store_options.project()
@click.option("--state", type=click.Choice(("open", "acknowledged", "resolved")),
              help="Only these.")  # fmt: skip
@options.form(*FORMS)
def list_(store: str | None, project: str, state: str | None, form: str) -> None:
    """List the alerts of a project, the last first."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import list_alerts

    with Store.open(store) as found:
        print_result(list_alerts(found, project, state), form)


@command.command("acknowledge")
@click.argument("alert", type=int)
@store_options.store
@store_options.project()
def acknowledge(alert: int, store: str | None, project: str) -> None:
    """Note that somebody looks after an alert, by its number in the list."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import acknowledge as noted

    with Store.open(store) as found:
        click.echo(noted(found, project, alert))


@command.command("test")
@click.argument("channel")
@store_options.store
@store_options.project()
@_allow_http
def test(channel: str, store: str | None, project: str, allow_http: bool) -> None:
    """Send a test message by a channel of the project's rules."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.deliver import test_channel

    with Store.open(store) as found:
        test_channel(found, project, channel, allow_http=allow_http)
    click.echo(f"sent a test by {channel}")
