"""``rankgate record``: keep results for the history."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.pairs import pairs
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.workspace.records.annotate import annotate
from rankgate.workspace.records.provenance import Provenance, provenance
from rankgate.workspace.records.record import record


@click.command("record")
@click.argument("results", type=click.Path(), nargs=-1, metavar="RESULT.json...")
@options_of(record, "to FOLDER", "store URL", "project NAME")
@options_of(record, "at MOMENT", "system NAME", "name NAME")
@click.option(
    "--revision",
    help="Of git; by default that of the working directory, or of the build.",
)
@click.option(
    "--branch",
    help="Of git; by default that of the working directory, or of the build.",
)
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=WORD",
    help="A word by name, such as nightly=yes. May be given several times.",
)  # fmt: skip
@options_of(record, "qrels")
@click.option(
    "--run", "runs", multiple=True, metavar="SYSTEM=RUN",
    help="The run of a system that the result is of. May be given several times.",
)  # fmt: skip
@click.option(
    "--keep/--no-keep", default=True, show_default=True,
    help="Keep judgments and runs too, so that later judgments can be applied to them.",
)  # fmt: skip
@click.option(
    "--annotate", "notes", multiple=True, metavar="KIND=TEXT",
    help="Also write down what happened: deploy, judgments, incident or note, as in "
    'deploy="ranker 2.1"; may be given several times.',
)  # fmt: skip
@options.form(*FORMS)
def command(
    results: tuple[str, ...],
    labels: tuple[str, ...],
    runs: tuple[str, ...],
    notes: tuple[str, ...],
    revision: str | None,
    branch: str | None,
    form: str,
    **chosen: Any,
) -> None:
    """Record results, so that `rankgate history` shows how figures move, and why.

    The place is a folder (--to), a store or a server (--store and --project), or what the
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
    where = {name: chosen[name] for name in ("to", "store", "project", "at")}
    for kind, text in pairs(notes, "--annotate", str).items():
        place = annotate(kind, text, revision=revision, **where)
        print_summary([f"{kind}: annotated in {place}."])
    if results:
        done = record(
            list(results), labels=pairs(labels, "--label", str), runs=pairs(runs, "--run", str),
            provenance=_provenance(revision, branch), **chosen,
        )  # fmt: skip
        print_result(done, form)


def _provenance(revision: str | None, branch: str | None) -> Provenance:
    """What options state; git and the build say the rest."""
    if revision is not None and branch is not None:
        return Provenance(revision, branch)
    current = provenance()
    return Provenance(
        current.name if revision is None else revision,
        current.branch if branch is None else branch,
    )
