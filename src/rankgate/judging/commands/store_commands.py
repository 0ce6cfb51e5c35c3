"""The command ``store``, with ``store model``, ``store import`` and ``store export``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options
from rankgate.core.console.option_types import FullHelpGroup
from rankgate.core.console.shared_options import check_paths, write_output
from rankgate.core.console.terminal_output import (
    output_width,
    print_result,
    print_summary,
    print_to_stderr,
    prints,
    prints_to_stdout,
    style_output,
)
from rankgate.core.declare import Parameter
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.data.files.conversion import PARTS, PartName
from rankgate.judging.admission.requirements import Demands
from rankgate.judging.commands.store_people_commands import project, token, user
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.store.store import Store
    from rankgate.store.stored_project import StoredProject


@click.group("model", cls=FullHelpGroup)
def model() -> None:
    """List language models that rate in a project, and admit them by evidence."""


@model.command("list")
@store_options.open_project
@prints_to_stdout
def list_(stored_project: StoredProject) -> Result:
    """List the models of a project with their ratings, costs and admission."""
    from rankgate.judging.models.model_jobs import list_models

    return list_models(stored_project)


@model.command("admit")
@click.argument("name")
@store_options.open_project
@value_options("demands", Demands)
@own_options("with_runs")
@prints
def admit(name: str, *, stored_project: StoredProject, demands: Demands, with_runs: bool = False) -> Result:
    """Compare the model NAME with people in the project; its ratings count if it is admitted.

    Exits with 0 if it is admitted, 1 if it is refused, 3 if these pairs cannot decide.
    \f

    Options:
        with_runs: Also compare the order of the project's runs.
    """
    from rankgate.judging.models.model_admission import admit_model

    rater = _model_number(stored_project, name)
    result, _ = admit_model(
        stored_project.store, stored_project.number, rater, demands=demands, with_runs=with_runs
    )
    return result


@model.command("withdraw")
@click.argument("name")
@store_options.open_project
def withdraw(name: str, stored_project: StoredProject) -> None:
    """Exclude the ratings of the model NAME from now on."""
    from rankgate.judging.models.model_admission import withdraw_model

    withdraw_model(stored_project.store, stored_project.number, _model_number(stored_project, name))
    click.echo(f"the ratings of {name} do not count in {stored_project.name}")


def _model_number(stored_project: StoredProject, name: str) -> int:
    from rankgate.judging.models.model_admission import find_model

    with stored_project.store.read() as connection:
        return find_model(connection, name)


@click.command("import")
@shared_options.paths("source IN")
@store_options.open_store
@store_options.project()
@own_options("batch NAME", "final RATER", "dry_run", "columns NAME=COLUMN,...", "transform NAME|FILE")
@shared_options.from_option
@shared_options.form(*FORMS)
@shared_options.output
def import_(
    source: str,
    *,
    open_store: Store,
    project: str,
    batch: str | None = None,
    final: str | None = None,
    dry_run: bool = False,
    columns: str | None = None,
    transform: str | None = None,
    from_: str | None,
    form: str,
    output: str | None,
) -> None:
    """Bring IN into a project: ratings, judgments, runs, queries, documents; report the loss.

    IN is of any format (see rankgate formats). A project that is not there is made, with the
    file's scale. The same file twice adds nothing.

    \b
    rankgate store import book.json --project shop --batch open --store sqlite:///judging.db
    rankgate store import sheet.csv --project shop --columns query=term,doc=sku,grade=agent_* \\
        --dry-run
    \f

    Options:
        batch: Add the unrated pairs to this batch; the batch is created if it does not exist.
        final: The grades of this rater, or of this column of grades, replace the other grades.
        dry_run: Only report; the store stays as it is.
        columns: The columns of a sheet that have no usual name, as in query=term,doc=sku; grades of
            several raters side by side are grade=ann+bob or grade=rater_*.
        transform: The grades' new values on the project's scale: a name such as graded-to-binary, a
            file with one 'from: to' per line, or '1: 0; 2: 1'.
    """
    from rankgate.judging.store.import_export import import_file

    arguments = {"columns": columns, "transform": transform, "final": final, "batch": batch}
    result = import_file(open_store, project, source, from_=from_, dry_run=dry_run, **arguments)
    text = render_result(result, form, output_width(output))
    write_output(style_output(text, form, output), output)


@click.command("export")
@click.argument("target", type=click.Path(writable=True), metavar="OUT")
@store_options.open_store
@store_options.project()
@own_options("to FORMAT", "as_ --as", "judgments NAME", "runs NAME --run", choices={"as_": PARTS})
def export(
    target: str,
    *,
    open_store: Store,
    project: str,
    to: str | None = None,
    as_: PartName | None = None,
    judgments: str | None = None,
    runs: tuple[str, ...] = (),
) -> None:
    """Write a project to OUT in any format: the ratings of every rater; report the loss.

    `-` is standard output.

    \b
    rankgate store export ratings.csv --as ratings --project shop --store sqlite:///judging.db
    rankgate store export book.json --to quepid-book --project shop
    \f

    Options:
        to: The format of OUT; by its suffix without it.
        as_: Write only this part of the project.
        judgments: Write these resolved judgments, instead of ratings.
        runs: Write this run too; may be given several times.
    """
    from rankgate.judging.store.import_export import export_file

    check_paths((), target)
    out = sys.stdout.buffer if target == "-" else target
    result = export_file(open_store, project, out, to=to, as_=as_, judgments_name=judgments, run_names=runs)
    print_to_stderr(render_result(result, "text"))


blobs = option(
    Parameter(
        "blobs",
        help="The folder, or the URL of object storage, of runs and judgments. Required for PostgreSQL; the "
        "default for SQLite is FILE.blobs.",
    ),
    metavar="PLACE",
)


@click.group("store", cls=FullHelpGroup)
def store_command() -> None:
    """Keep projects, ratings, runs and judgments in a store: SQLite, or PostgreSQL by URL.

    \b
    rankgate store init --store sqlite:///judging.db
    rankgate store project add shop --scale 0..3 --store sqlite:///judging.db
    rankgate store import book.json --project shop --store sqlite:///judging.db
    rankgate store backup judging.zip --store sqlite:///judging.db
    """


@store_command.command("init")
@store_options.store
@blobs
def init(store: str | None, blobs: str | None) -> None:
    """Make a store in a new file, or in an empty database."""
    from rankgate.store.store import Store

    with Store.create(store, blobs) as new_store:
        click.echo(f"made the store {new_store.name}; runs and judgments are in {new_store.blobs.where}")


@store_command.command("upgrade")
@store_options.store
def upgrade(store: str | None) -> None:
    """Upgrade a store of an older version to this version; back it up first."""
    from rankgate.judging.store.store_checks import upgrade_store

    name, versions = upgrade_store(store)
    click.echo(f"{name}: " + (f"upgraded to {versions[-1]}" if versions else "up to date"))


@store_command.command("check")
@store_options.open_store
@own_options("clean")
@shared_options.form(*FORMS)
def check(*, open_store: Store, clean: bool = False, form: str) -> None:
    """Check the database, the blobs, and that tasks agree with the ratings.

    Exits with 1 if something is wrong.
    \f

    Options:
        clean: Delete the files of runs, judgments and results that nothing refers to any more.
    """
    from rankgate.judging.store.store_checks import check_store, clean_store

    if clean:
        print_summary([clean_store(open_store)])
    result = check_store(open_store)
    print_result(result, form)
    if result.findings:
        sys.exit(1)


@store_command.command("hashes")
@store_options.open_store
@prints_to_stdout
def hashes(open_store: Store) -> Result:
    """Print the hash of every table: stores with the same hashes hold the same."""
    from rankgate.judging.store.store_checks import store_hashes

    return store_hashes(open_store)


@store_command.command("drill")
@shared_options.paths("[source] [FILE.zip]")
@store_options.store
@own_options("into URL")
@blobs
@shared_options.form(*FORMS)
def drill(
    source: str | None, *, store: str | None, into: str | None = None, blobs: str | None, form: str
) -> None:
    """Test a backup: restore it, compare the hash of every table, and check the new store.

    Without FILE.zip the store is backed up first, to a temporary file. Exits with 1 if something
    is wrong with the restored store.
    \f

    Options:
        into: The path of the new store [default: a temporary SQLite file].
    """
    from rankgate.judging.store.store_checks import drill as made_of

    result = made_of(store, source, into, blobs or "")
    print_result(result, form)
    if result.problems:
        sys.exit(1)


@store_command.command("backup")
@click.argument("target", type=click.Path(writable=True), metavar="FILE.zip")
@store_options.store
def backup(target: str, store: str | None) -> None:
    """Write one state of the store into FILE.zip, while others go on writing.

    The file holds hashes of passwords: only its owner may read it.
    """
    from rankgate.store.backup import backup as made_of
    from rankgate.store.store import Store

    with Store.open(store, older=True) as open_store:
        contents = made_of(open_store, target)
    rows = sum(contents.rows.values())
    row_text, blob_text = count_noun(rows, "row"), count_noun(contents.blobs, "blob")
    print_summary([f"{target}: {row_text}, {blob_text}, version {contents.version}"])


@store_command.command("restore")
@shared_options.paths("source FILE.zip")
@store_options.store
@blobs
def restore(source: str, store: str | None, blobs: str | None) -> None:
    """Make a store from a backup, in SQLite or PostgreSQL, from whichever it was made."""
    from rankgate.store.backup import restore as made_of

    contents = made_of(source, store, blobs)
    ratings = contents.rows.get("ratings", 0)
    rating_text, blob_text = count_noun(ratings, "rating"), count_noun(contents.blobs, "blob")
    print_summary([f"{source}: {rating_text}, {blob_text}, version {contents.version}"])


for each in (export, import_, project, model, user, token):
    store_command.add_command(each)
