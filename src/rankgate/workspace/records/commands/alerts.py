"""``rankgate alerts``: rules over the history, what they found, and messages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.measurement import store_options

_allow_http = click.option(
    "--allow-http", is_flag=True, help="Webhooks may be sent over plain HTTP to other machines."
)


@click.group("alerts", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Check the history of a project by rules; send messages when quality falls.

    \b
    rankgate alerts rules alerts.toml --project shop --store quality.db
    rankgate alerts check --project shop --store quality.db
    rankgate alerts acknowledge 1 --project shop --store quality.db
    """


@command.command("rules")
@click.argument(
    "file",
    required=False,
    metavar="[FILE.toml]",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@store_options.store
@store_options.project()
def rules(file: Path | None, store: str | None, project: str) -> None:
    """Set the rules of a project to those of FILE.toml; without a file print them."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import read_rules_text, set_rules_from_file

    with Store.open(store) as open_store:
        if file is None:
            click.echo(read_rules_text(open_store, project), nl=False)
            return
        alert_rules = set_rules_from_file(open_store, project, file)
    click.echo(f"{project}: rules {len(alert_rules.rules)}, channels {len(alert_rules.channels)}")


@command.command("check")
@store_options.store
@store_options.project()
@click.option(
    "--send/--no-send",
    default=True,
    show_default=True,
    help="Whether messages that are due are sent.",
)
@_allow_http
@options.form(*FORMS)
def check(store: str | None, project: str, send: bool, allow_http: bool, form: str) -> None:
    """Check every rule now: open and close alerts, and send messages.

    Exits with 1 while there is an alert.
    """
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.alert_check import check_alerts
    from rankgate.workspace.records.alerts.deliver import deliver

    with Store.open(store) as open_store:
        result = check_alerts(open_store, project)
        print_result(result, form)
        if send:
            delivery = deliver(open_store, project, allow_http=allow_http)
            if delivery.sent or delivery.later or delivery.failed:
                summary = f"messages: {delivery.sent} sent, {delivery.later} again later"
                print_summary([f"{summary}, {delivery.failed} failed"])
    if result.failed:
        sys.exit(1)


@command.command("list")
@store_options.store
@store_options.project()
@click.option(
    "--state", type=click.Choice(("open", "acknowledged", "resolved")), help="Only these."
)
@options.form(*FORMS)
def list_(store: str | None, project: str, state: str | None, form: str) -> None:
    """List the alerts of a project, the newest first."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import list_alerts

    with Store.open(store) as open_store:
        print_result(list_alerts(open_store, project, state), form)


@command.command("acknowledge")
@click.argument("alert", type=int)
@store_options.store
@store_options.project()
def acknowledge(alert: int, store: str | None, project: str) -> None:
    """Mark an alert as taken care of, by its number in the list."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.manage import acknowledge as noted

    with Store.open(store) as open_store:
        click.echo(noted(open_store, project, alert))


@command.command("test")
@click.argument("channel")
@store_options.store
@store_options.project()
@_allow_http
def test(channel: str, store: str | None, project: str, allow_http: bool) -> None:
    """Send a test message to a channel of the project's rules."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.deliver import test_channel

    with Store.open(store) as open_store:
        test_channel(open_store, project, channel, allow_http=allow_http)
    click.echo(f"sent a test by {channel}")
