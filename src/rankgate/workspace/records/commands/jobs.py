"""``rankgate jobs``: evaluations, snapshots, KPIs and gates by the clock."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.measurement import store_options

folder_option = click.option(
    "--folder",
    default=".",
    envvar="RANKGATE_JOBS",
    show_default="this one",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Files of jobs: in FOLDER/PROJECT their engines, queries, judgments and policies.",
)


@click.group("jobs", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run snapshots, evaluations, gates and KPIs on a schedule, and record their results.

    `rankgate serve` runs the jobs of a project when they are due; cron can, too.

    \b
    rankgate jobs set jobs.toml --project shop --store quality.db
    rankgate jobs run nightly --project shop --store quality.db
    rankgate jobs runs --project shop --store quality.db
    """


@command.command("set")
@click.argument(
    "file", metavar="FILE.toml", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@store_options.store
@store_options.project()
def set_(file: Path, store: str | None, project: str) -> None:
    """Set the jobs of a project to those of FILE.toml; others are disabled."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.schedule.manage import set_jobs_from_file

    with Store.open(store) as open_store:
        names = set_jobs_from_file(open_store, project, file)
    click.echo(f"{project}: {', '.join(names) or 'no jobs'}")


@command.command("list")
@store_options.store
@store_options.project()
@options.form(*FORMS)
def list_(store: str | None, project: str, form: str) -> None:
    """List the jobs of a project with their last and next run, in UTC."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.schedule.manage import list_jobs

    with Store.open(store) as open_store:
        print_result(list_jobs(open_store, project), form)


@command.command("runs")
@click.argument("name", required=False)
@store_options.store
@store_options.project()
@options.form(*FORMS)
def runs(name: str | None, store: str | None, project: str, form: str) -> None:
    """List the latest runs of the project's jobs, or of the job NAME."""
    from rankgate.store.store import Store
    from rankgate.workspace.records.schedule.manage import list_runs

    with Store.open(store) as open_store:
        print_result(list_runs(open_store, project, name), form)


@command.command("run")
@click.argument("name")
@store_options.store
@store_options.project()
@folder_option
def run(name: str, store: str | None, project: str, folder: Path) -> None:
    """Run the job NAME now, as cron does; print its log.

    Exits with 1 if it failed.
    """
    from rankgate.store.store import Store
    from rankgate.workspace.records.schedule.run import run_job_now

    with Store.open(store) as open_store:
        job_run = run_job_now(open_store, project, name, folder)
    click.echo(job_run.log, nl=False)
    record = f", record {job_run.record}" if job_run.record else ""
    click.echo(f"{name}: {job_run.error or job_run.state}{record}", err=True)
    if job_run.state != "done":
        sys.exit(1)
