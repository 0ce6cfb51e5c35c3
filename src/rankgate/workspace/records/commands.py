"""The commands ``record``, ``history``, ``attribute``, ``alerts`` and ``jobs``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, parse_pairs, verb_options
from rankgate.core.console.option_types import RECORDED_METRIC, FullHelpGroup
from rankgate.core.console.terminal_output import print_result, print_summary, prints, prints_to_stdout
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.measurement import store_options
from rankgate.workspace.records.attribution import attribute
from rankgate.workspace.records.history import history
from rankgate.workspace.records.provenance import Provenance, provenance
from rankgate.workspace.records.record import annotate, record

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.store.store import Store


@click.command("record")
@shared_options.paths("[results...] RESULT.json...")
@verb_options(record, "to FOLDER", "store URL", "project NAME")
@verb_options(record, "at MOMENT", "system NAME", "name NAME")
@own_options("revision", "branch", "labels NAME=WORD --label")
@verb_options(record, "qrels")
@own_options("runs SYSTEM=RUN --run")
@verb_options(record, "keep")
@own_options("notes KIND=TEXT --annotate")
@shared_options.from_formats("judgments qrels")
@shared_options.form(*FORMS)
def record_command(
    results: tuple[str, ...],
    *,
    labels: tuple[str, ...] = (),
    runs: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    revision: str | None = None,
    branch: str | None = None,
    form: str,
    **arguments: Any,
) -> None:
    """Save results in the history, which `rankgate history` shows.

    Records go to a folder (--to), a store or a server (--store and --project), or what the
    environment names: RANKGATE_HISTORY, or RANKGATE_STORE and RANKGATE_PROJECT; RANKGATE_TOKEN has
    the token of a server. The same result is recorded once. eval, compare, gate, scorecard,
    snapshot and online record by themselves with --record.

    \b
    rankgate record eval.json --to history/ --qrels qrels.txt --run bm25=bm25.run
    rankgate record gate.json --store https://search.example.org --project shop
    rankgate record --to history/ --annotate deploy="ranker 2.1"
    \f

    Options:
        labels: A label, such as nightly=yes.
        runs: The run of a system that the result is of.
        notes: Also write down what happened: deploy, judgments, incident or note, as in
            deploy="ranker 2.1"; may be given several times.
        revision, branch: Of git; by default that of the working directory, or of the build.
    """
    if not results and not notes:
        problem = "name results that were written with --format json, or --annotate."
        raise UsageError(problem, code="missing-input")
    destination = {name: arguments[name] for name in ("to", "store", "project", "at")}
    for kind, text in parse_pairs(notes, "--annotate", str).items():
        storage_name = annotate(kind, text, revision=revision, **destination)
        print_summary([f"{kind}: annotated in {storage_name}."])
    if results:
        result = record(
            list(results),
            labels=parse_pairs(labels, "--label", str),
            runs=parse_pairs(runs, "--run", str),
            provenance=_read_provenance(revision, branch),
            **arguments,
        )
        print_result(result, form)


def _read_provenance(revision: str | None, branch: str | None) -> Provenance:
    """The provenance from options; git and the build environment fill in the rest."""
    if revision is not None and branch is not None:
        return Provenance(revision, branch)
    current = provenance()
    return Provenance(
        current.name if revision is None else revision, current.branch if branch is None else branch
    )


@click.command("history")
@click.argument("metric", type=RECORDED_METRIC)
@verb_options(history, "from_ FOLDER --from", "store URL", "project NAME")
@verb_options(history, "system SYSTEM", "slice TAG=VALUE", "since MOMENT", "rate SHARE", "bridge")
@prints
def history_command(metric: str, **arguments: Any) -> Result:
    """Show METRIC over time: recorded values, change-points, breaks, annotations.

    Records are in a folder (--from), a store or a server (--store and --project), or what the
    environment names: RANKGATE_HISTORY, or RANKGATE_STORE and RANKGATE_PROJECT.

    \b
    rankgate history nDCG@10 --from history/
    rankgate history nDCG@10 --store sqlite:///judging.db --project shop --system bm25
    rankgate history search_ctr --store https://search.example.org --project shop --since 2026-01-01
    """
    return history(metric, **arguments)


@click.command("attribute")
@click.argument("old")
@click.argument("new")
@verb_options(attribute, "from_ FOLDER --from", "store URL", "project NAME")
@verb_options(attribute, "metric METRIC -m", "system SYSTEM")
@prints
def attribute_command(old: str, new: str, **arguments: Any) -> Result:
    """Explain why a value changed between the records OLD and NEW: system, judgments or queries.

    A record is named by its number, the first letters of its hash, or its date.

    \b
    rankgate attribute 2026-03-09 2026-03-10 --from history/ -m nDCG@10
    rankgate attribute 1 2 --store sqlite:///judging.db --project shop --system bm25
    """
    return attribute(old, new, **arguments)


_allow_http = option(
    Parameter("allow_http", "bool", "Webhooks may be sent over plain HTTP to other machines.", default=False)
)


@click.group("alerts", cls=FullHelpGroup)
def alerts_command() -> None:
    """Check the history of a project by rules; send messages when quality falls.

    \b
    rankgate alerts rules alerts.toml --project shop --store quality.db
    rankgate alerts check --project shop --store quality.db
    rankgate alerts acknowledge 1 --project shop --store quality.db
    """


@alerts_command.command("rules")
@click.argument(
    "file",
    required=False,
    metavar="[FILE.toml]",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@store_options.open_store
@store_options.project()
def rules(file: Path | None, open_store: Store, project: str) -> None:
    """Set the rules of a project to those of FILE.toml; without a file print them."""
    from rankgate.workspace.records.alerts.alert_check import read_rules_text, set_rules_from_file

    if file is None:
        click.echo(read_rules_text(open_store, project), nl=False)
        return
    alert_rules = set_rules_from_file(open_store, project, file)
    click.echo(f"{project}: rules {len(alert_rules.rules)}, channels {len(alert_rules.channels)}")


@alerts_command.command("check")
@store_options.open_store
@store_options.project()
@own_options("send")
@_allow_http
@shared_options.form(*FORMS)
def check(*, open_store: Store, project: str, send: bool = True, allow_http: bool, form: str) -> None:
    """Check every rule now: open and close alerts, and send messages.

    Exits with 1 while there is an alert.
    \f

    Options:
        send: Send the messages that are due.
    """
    from rankgate.workspace.records.alerts.alert_check import check_alerts
    from rankgate.workspace.records.alerts.alert_queue import deliver

    result = check_alerts(open_store, project)
    print_result(result, form)
    if send:
        delivery = deliver(open_store, project, allow_http=allow_http)
        if delivery.sent or delivery.later or delivery.failed:
            summary = f"messages: {delivery.sent} sent, {delivery.later} again later"
            print_summary([f"{summary}, {delivery.failed} failed"])
    if result.failed:
        sys.exit(1)


@alerts_command.command("list")
@store_options.open_store
@store_options.project()
@own_options("state")
@prints_to_stdout
def list_alerts(
    *, open_store: Store, project: str, state: Literal["open", "acknowledged", "resolved"] | None = None
) -> Result:
    """List the alerts of a project, the newest first.

    \f

    Options:
        state: Only these.
    """
    from rankgate.workspace.records.alerts.alert_check import list_alerts

    return list_alerts(open_store, project, state)


@alerts_command.command("acknowledge")
@click.argument("alert", type=int)
@store_options.open_store
@store_options.project()
def acknowledge(alert: int, open_store: Store, project: str) -> None:
    """Mark an alert as taken care of, by its number in the list."""
    from rankgate.workspace.records.alerts.alert_check import acknowledge

    click.echo(acknowledge(open_store, project, alert))


@alerts_command.command("test")
@click.argument("channel")
@store_options.open_store
@store_options.project()
@_allow_http
def test(channel: str, open_store: Store, project: str, allow_http: bool) -> None:
    """Send a test message to a channel of the project's rules."""
    from rankgate.workspace.records.alerts.alert_queue import test_channel

    test_channel(open_store, project, channel, allow_http=allow_http)
    click.echo(f"sent a test by {channel}")


folder_option = click.option(
    "--folder",
    default=".",
    envvar="RANKGATE_JOBS",
    show_default="this one",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Files of jobs: in FOLDER/PROJECT their engines, queries, judgments and policies.",
)


@click.group("jobs", cls=FullHelpGroup)
def jobs_command() -> None:
    """Run snapshots, evaluations, gates and KPIs on a schedule, and record their results.

    `rankgate serve` runs the jobs of a project when they are due; cron can, too.

    \b
    rankgate jobs set jobs.toml --project shop --store quality.db
    rankgate jobs run nightly --project shop --store quality.db
    rankgate jobs runs --project shop --store quality.db
    """


@jobs_command.command("set")
@click.argument("file", metavar="FILE.toml", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@store_options.open_store
@store_options.project()
def set_(file: Path, open_store: Store, project: str) -> None:
    """Set the jobs of a project to those of FILE.toml; others are disabled."""
    from rankgate.workspace.records.schedule.job_settings import set_jobs_from_file

    names = set_jobs_from_file(open_store, project, file)
    click.echo(f"{project}: {', '.join(names) or 'no jobs'}")


@jobs_command.command("list")
@store_options.open_store
@store_options.project()
@prints_to_stdout
def list_jobs(open_store: Store, project: str) -> Result:
    """List the jobs of a project with their last and next run, in UTC."""
    from rankgate.workspace.records.schedule.job_settings import list_jobs

    return list_jobs(open_store, project)


@jobs_command.command("runs")
@click.argument("name", required=False)
@store_options.open_store
@store_options.project()
@prints_to_stdout
def runs(name: str | None, open_store: Store, project: str) -> Result:
    """List the latest runs of the project's jobs, or of the job NAME."""
    from rankgate.workspace.records.schedule.job_settings import list_runs

    return list_runs(open_store, project, name)


@jobs_command.command("run")
@click.argument("name")
@store_options.open_store
@store_options.project()
@folder_option
def run(name: str, open_store: Store, project: str, folder: Path) -> None:
    """Run the job NAME now, as cron does; print its log.

    Exits with 1 if it failed.
    """
    from rankgate.workspace.records.schedule.scheduler import run_job_now

    job_run = run_job_now(open_store, project, name, folder)
    click.echo(job_run.log, nl=False)
    record = f", record {job_run.record}" if job_run.record else ""
    click.echo(f"{name}: {job_run.error or job_run.state}{record}", err=True)
    if job_run.state != "done":
        sys.exit(1)
