"""``rankgate record``: keep results for the history."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.pairs import parse_pairs
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.workspace.records.annotate import annotate
from rankgate.workspace.records.provenance import Provenance, provenance
from rankgate.workspace.records.record import record


@click.command("record")
@click.argument("results", type=click.Path(), nargs=-1, metavar="RESULT.json...")
@verb_options(record, "to FOLDER", "store URL", "project NAME")
@verb_options(record, "at MOMENT", "system NAME", "name NAME")
@click.option(
    "--revision",
    help="Of git; by default that of the working directory, or of the build.",
)
@click.option(
    "--branch",
    help="Of git; by default that of the working directory, or of the build.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=WORD",
    help="A label, such as nightly=yes. May be given several times.",
)
@verb_options(record, "qrels")
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="SYSTEM=RUN",
    help="The run of a system that the result is of. May be given several times.",
)
@click.option(
    "--keep/--no-keep",
    default=True,
    show_default=True,
    help="Keep judgments and runs too, so that later judgments can be applied to them.",
)
@click.option(
    "--annotate",
    "notes",
    multiple=True,
    metavar="KIND=TEXT",
    help="Also write down what happened: deploy, judgments, incident or note, as in "
    'deploy="ranker 2.1"; may be given several times.',
)
@options.from_formats("judgments qrels")
@options.form(*FORMS)
def command(
    results: tuple[str, ...],
    labels: tuple[str, ...],
    runs: tuple[str, ...],
    notes: tuple[str, ...],
    revision: str | None,
    branch: str | None,
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
    """The provenance from options; git and the build supply the rest."""
    if revision is not None and branch is not None:
        return Provenance(revision, branch)
    current = provenance()
    return Provenance(
        current.name if revision is None else revision,
        current.branch if branch is None else branch,
    )
