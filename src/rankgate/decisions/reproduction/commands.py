"""The commands ``rankgate rank-similarity``, ``rankgate open`` and ``rankgate audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, verb_options
from rankgate.core.console.option_types import SectionedCommand
from rankgate.core.console.shared_options import check_paths, input_paths, write_output
from rankgate.core.console.terminal_output import TerminalProgress, open_page, print_result, prints
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.core.output_files import check_suffix
from rankgate.core.present.write_results import FORMS
from rankgate.decisions.reproduction.audit import audit
from rankgate.decisions.reproduction.rank_similarity import MATRIX_MEASURES, TIES, rank_similarity
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection


@click.command("rank-similarity", cls=SectionedCommand)
@shared_options.paths("first RUN_A", "second RUN_B", "[others...] [RUN...]")
@option(
    Parameter(
        "measure",
        "choice",
        "Of three runs or more the measure of the matrix: RBO if not given; "
        f"{', '.join(MATRIX_MEASURES[1:])}.",
        choices=MATRIX_MEASURES,
    ),
    metavar="MEASURE",
)
@verb_options(rank_similarity, "p", "ties", "depth N", choices={"ties": TIES})
@option(Parameter("qrels", "path", "Judgments, for the reproduction of values by RUN_B."), metavar="QRELS")
@metric_options.metrics_option("A metric to measure the reproduction of; may be given several times.")
@click.option(
    "--baselines",
    nargs=2,
    type=click.Path(),
    metavar="A B",
    help="The runs that RUN_A and RUN_B were to improve on.",
)
@metric_options.convention
@shared_options.form(*FORMS)
@shared_options.output
@of_collection("first", "second", "others")
def rank_similarity_command(
    collection: Collection,
    first: str,
    second: str,
    others: tuple[str, ...],
    *,
    measure: str | None,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Compare the rankings of RUN_A and RUN_B, or of each pair of several runs, without judgments.

    \b
    rankgate rank-similarity old.run new.run
    rankgate rank-similarity old.run new.run --p 0.98 --ties b --depth 1000
    rankgate rank-similarity bm25.run dense.run rerank.run --measure overlap@10
    rankgate rank-similarity original.run again.run --qrels qrels.txt -m nDCG@10
    """
    if measure and not others:
        raise UsageError(
            "--measure is for the matrix of three runs or more; two runs show every measure.",
            code="conflicting-options",
        )
    source = click.get_current_context().get_parameter_source("metrics")
    if collection.judgments is None and source is ParameterSource.DEFAULT_MAP:
        settings["metrics"] = ()  # the project's file names them for commands that measure
    settings["baselines"] = settings["baselines"] or None
    count = len(others) + 2
    with TerminalProgress(count * (count - 1) // 2 if others else 0):
        result = rank_similarity(first, second, *others, collection=collection, **settings)
    document_options = {"measure": measure} if measure and form != "json" else {}
    print_result(result, form, output, **document_options)


@click.command("open", cls=SectionedCommand)
@shared_options.paths("[files...] [FILE...]")
@shared_options.output
@of_collection()
def open_command(collection: Collection, files: tuple[str, ...], output: str | None) -> None:
    """Open a page with the lists of all queries, side by side, in the browser.

    FILE is a run, judgments, texts of queries or documents, or a folder with them; without FILE the
    current folder. The first run stands beside each other one. The page is a file that loads
    nothing: no server is needed. With -o it is written and not opened.

    \b
    rankgate open old.run new.run
    rankgate open qrels.txt old.run new.run queries.tsv titles.jsonl -o lists.html
    """
    from rankgate.decisions.reproduction.list_changes import lists_page

    check_paths(input_paths(), output)
    check_suffix(output, "html")
    with TerminalProgress(len(files)):
        page = lists_page(list(files) or ["."], collection)
    if output is None:
        open_page(page)
    else:
        write_output(page, output)


def _parse_columns(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    metric_of_column = dict(text.rpartition("=")[::2] for text in texts)
    if invalid := [text for text in texts if "=" not in text]:
        problem = f"--column is HEAD=METRIC, as in 'Prec.=P@10', not {invalid[0]!r}."
        raise UsageError(problem, code="invalid-column")
    return metric_of_column


@click.command("audit")
@shared_options.paths("table")
@verb_options(audit, "queries N -n --queries")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="HEAD=METRIC",
    callback=_parse_columns,
    help="The metric of a column that is not named after a metric, by the column's head; may be given "
    "several times.",
)
@verb_options(audit, "grades N", "relevant N", "sd", "level")
@prints
def audit_command(table: str, **settings: Any) -> Result:
    """Check that the means of a published TABLE are possible and can separate its systems.

    TABLE is CSV, Markdown or LaTeX: a row for each system, a column for each metric. Exit codes:
    0 consistent, 1 a number is impossible, 3 unresolvable or unknown.

    \b
    rankgate audit table.md --queries 50
    rankgate audit table.tex --queries 43 --grades 3 --column "Prec.=P@10"
    """
    return audit(table, **settings)
