"""``rankgate store``: make, check, back up and fill a store."""

from __future__ import annotations

import sys

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.judging.commands.store_models import model
from rankgate.judging.commands.store_people import token, user
from rankgate.judging.commands.store_projects import project
from rankgate.judging.commands.store_transfer import export, import_
from rankgate.measurement import store_options

_HELP = {"help_option_names": ["-h", "--help"]}

blobs = click.option(
    "--blobs",
    metavar="PLACE",
    help="The folder, or the URL of object storage, of runs and judgments. PostgreSQL needs one; "
    "for SQLite it is FILE.blobs by default.",
)


@click.group("store", cls=FullHelpGroup, context_settings=_HELP)
def command() -> None:
    """Keep projects, ratings, runs and judgments in a store: SQLite, or PostgreSQL by URL.

    \b
    rankgate store init --store sqlite:///judging.db
    rankgate store project add shop --scale 0..3 --store sqlite:///judging.db
    rankgate store import book.json --project shop --store sqlite:///judging.db
    rankgate store backup judging.zip --store sqlite:///judging.db
    """


@command.command("init")
@store_options.store
@blobs
def init(store: str | None, blobs: str | None) -> None:
    """Make a store in a new file, or in an empty database."""
    from rankgate.store.store import Store

    with Store.create(store, blobs) as new_store:
        click.echo(
            f"made the store {new_store.name}; runs and judgments are in {new_store.blobs.where}"
        )


@command.command("upgrade")
@store_options.store
def upgrade(store: str | None) -> None:
    """Bring a store of an older version to this one; back it up first."""
    from rankgate.judging.store.upkeep import upgrade_store

    name, versions = upgrade_store(store)
    click.echo(f"{name}: " + (f"upgraded to {versions[-1]}" if versions else "up to date"))


@command.command("check")
@store_options.store
@click.option(
    "--clean",
    is_flag=True,
    help="Delete the files of runs, judgments and results that nothing refers to any more.",
)
@options.form(*FORMS)
def check(store: str | None, clean: bool, form: str) -> None:
    """Check the database, the blobs, and that tasks agree with the ratings.

    Exits with 1 if something is wrong.
    """
    from rankgate.judging.store.store_check import check_store, clean_store
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        if clean:
            print_summary([clean_store(open_store)])
        result = check_store(open_store)
    print_result(result, form)
    if result.findings:
        sys.exit(1)


@command.command("hashes")
@store_options.store
@options.form(*FORMS)
def hashes(store: str | None, form: str) -> None:
    """Print the hash of every table: stores with the same hashes hold the same."""
    from rankgate.judging.store.store_hashes import store_hashes
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        print_result(store_hashes(open_store), form)


@command.command("drill")
@click.argument("source", type=click.Path(), metavar="[FILE.zip]", required=False)
@store_options.store
@click.option(
    "--into",
    metavar="URL",
    help="Where the new store is made, and stays [default: a temporary SQLite file].",
)
@blobs
@options.form(*FORMS)
def drill(
    source: str | None, store: str | None, into: str | None, blobs: str | None, form: str
) -> None:
    """Test a backup: restore it, compare the hash of every table, and check the new store.

    Without FILE.zip the store is backed up first, to a temporary file. Exits with 1 if something
    is wrong with the restored store.
    """
    from rankgate.judging.store.store_hashes import drill as made_of

    result = made_of(store, source, into, blobs or "")
    print_result(result, form)
    if result.problems:
        sys.exit(1)


@command.command("backup")
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
    print_summary(
        [f"{target}: {rows:,} rows, {contents.blobs:,} blobs, version {contents.version}"]
    )


@command.command("restore")
@click.argument("source", type=click.Path(), metavar="FILE.zip")
@store_options.store
@blobs
def restore(source: str, store: str | None, blobs: str | None) -> None:
    """Make a store from a backup, in SQLite or PostgreSQL, from whichever it was made."""
    from rankgate.store.backup import restore as made_of

    contents = made_of(source, store, blobs)
    ratings = contents.rows.get("ratings", 0)
    print_summary(
        [f"{source}: {ratings:,} ratings, {contents.blobs:,} blobs, version {contents.version}"]
    )


for each in (export, import_, project, model, user, token):
    command.add_command(each)
