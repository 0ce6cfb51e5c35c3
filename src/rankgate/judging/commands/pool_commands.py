"""The commands ``pool``, ``reusability``, ``sheet`` and ``collect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options, verb_options
from rankgate.core.console.option_types import WRITABLE, DefiningCommand, SectionedCommand
from rankgate.core.console.shared_options import check_paths, input_paths, write_output
from rankgate.core.console.terminal_output import TerminalProgress, print_result, print_summary, prints
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.core.output_files import check_suffix
from rankgate.core.present.layout import sentences
from rankgate.judging.pooling.pool import order_facts, pool, undrawn_judgments
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.pooling.reusability import reusability
from rankgate.judging.sheets import SHEET_FORMS, Form, collect, lines_of_json, sheets
from rankgate.measurement import metric_options, store_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection
    from rankgate.store.rating.batches import Strategy
    from rankgate.store.stored_project import StoredProject


_QRELS = Parameter(
    "qrels",
    "path",
    "Existing judgments: their documents are left out, and guide move-to-front and influence.",
)


@click.command("pool", cls=DefiningCommand, definitions={"Orders": order_facts()})
@shared_options.runs
@option(_QRELS, metavar="QRELS")
@value_options(
    "design",
    PoolDesign,
    *("depth", "order", "metric METRIC -m", "strata RANK:RATE,..."),
    *("queries N", "query_sampling", "sizes FILE", "seed"),
)
@own_options("rest_to FILE --rest", kinds={"rest_to": WRITABLE})
@verb_options(pool, "batch N", "blind")
@metric_options.convention
@of_collection("runs", stored=True)
@store_options.save_as("Make a batch of this name of the pool, for raters, in the project.")
@own_options("strategy", choices={"strategy": ("1", "2", "3", "agree")})
@shared_options.form("csv", "json")
@shared_options.output
def pool_command(
    runs: tuple[str, ...],
    *,
    rest_to: str | None = None,
    blind: bool,
    stored: StoredProject | None,
    save_as: str | None,
    strategy: Strategy = "1",
    form: str,
    output: str | None,
    **values: Any,
) -> None:
    """List the documents to judge: those that the runs rank first and that are not judged.

    The list is the input of rankgate sheet and rankgate rate.

    \b
    rankgate pool old.run new.run --depth 10 -o pool.csv
    rankgate pool *.run --qrels qrels.txt --order move-to-front --batch 50 -o pool.csv
    rankgate pool old.run new.run --qrels qrels.txt --order influence -m nDCG@10
    rankgate pool *.run --strata 100:0.3 --rest rest.qrels -o sample.csv
    rankgate pool bm25 dense --project shop --save-as first --strategy 2
    \f

    Options:
        rest_to: Write the pool's documents that were not drawn to FILE, graded -1, for infAP.
        strategy: The number of people who grade each pair of the batch; agree: until two of them do.
    """
    check_paths(input_paths(), rest_to)
    check_suffix(rest_to, "trec")
    with TerminalProgress(len(runs)):
        result = pool(runs, blind=blind, **values)
    if stored is not None and save_as is not None:
        if result.table.is_empty():
            problem = "the pool is empty: these runs have no unjudged documents."
            raise UsageError(f"{problem} No batch was made.", code="empty-pool")
        stored.add_batch(result.table, save_as, strategy)
    print_result(result, form, output, **({"blind": blind} if form == "csv" else {}))
    if rest_to:
        write_output(undrawn_judgments(result), rest_to)
    print_summary([result.headline, *sentences(result.lead, result)])


@click.command("reusability", cls=SectionedCommand)
@shared_options.qrels
@shared_options.runs
@metric_options.metrics
@metric_options.convention
@verb_options(reusability, "depth")
@prints
@of_collection("runs")
def reusability_command(collection: Collection, runs: tuple[str, ...], **arguments: Any) -> Result:
    """Estimate how much each RUN would lose if it had not been part of the pool.

    Large losses mean that the judgments are unfair to later systems.

    \b
    rankgate reusability qrels.txt *.run -m nDCG@10 --depth 10
    """
    with TerminalProgress(len(runs)):
        return reusability(collection, list(runs), **arguments)


@click.command("sheet")
@shared_options.paths("pool")
@own_options("raters NAME,...")
@verb_options(sheets, "scale SCALE", "per_document N", "overlap SHARE", "queries", "documents")
@verb_options(sheets, "guideline VERSION", "show")
@shared_options.from_formats("pools pool", "queries queries", "documents documents", "ratings show")
@shared_options.seed
@own_options("form --format", choices={"form": SHEET_FORMS})
@own_options("output FILE|FOLDER -o", kinds={"output": click.Path()})
def sheet_command(pool: str, *, raters: str, form: Form = "csv", output: str, **arguments: Any) -> None:
    """Create rating sheets from POOL: one per rater, in random order, without systems and ranks.

    Spreadsheet programs read no cell as a formula; rankgate collect reports ids that they changed.

    \b
    rankgate sheet pool.csv --raters ann -o ann.csv
    rankgate sheet pool.csv --raters ann,bob,cyd --overlap 0.2 --format xlsx -o sheets
    rankgate sheet differ.csv --raters dan --show ratings.jsonl -o dan.csv
    \f

    Options:
        raters: The raters' names; with several, -o is a folder with one file each.
        form: The file format of the sheets.
        output: Write the sheet to FILE, or one sheet per rater into FOLDER.
    """
    if not Path(output).is_dir():
        check_paths(input_paths(), output)
    names = [name.strip() for name in raters.split(",")]
    result = sheets(pool, names, **arguments)
    paths = result.write(output, form)
    for name, path in zip(result.tables, paths, strict=True):
        click.echo(f"{path}: {len(result.tables[name][1])} documents for {name}", err=True)
    if len(paths) > 1:
        click.echo(f"rated by two or more: {result.doubled}", err=True)


@click.command("collect")
@shared_options.paths("sheets... SHEET...")
@verb_options(collect, "pool", "scale SCALE", "rater NAME")
@shared_options.from_formats("sheets sheets", "pools pool")
@shared_options.form("jsonl", "csv")
@own_options("output FILE -o", kinds={"output": click.Path(dir_okay=False)})
def collect_command(
    sheets: tuple[str, ...], *, form: str, output: str | None = None, **arguments: Any
) -> None:
    """Read filled rating SHEETs and report every error in them.

    Rows without a grade are unrated. Damaged cells are errors with their line: ids that became
    dates or lost their zeros, grades that are not on the scale, added rows, or a rater who rates a
    document twice.

    \b
    rankgate collect sheets/*.csv --pool pool.csv -o ratings.jsonl
    rankgate agree ratings.jsonl
    \f

    Options:
        output: Write to FILE instead of to standard output; new ratings are appended to an existing
            JSONL file, without repeating any.
    """
    check_paths(input_paths(), output)
    result = collect(sheets, **arguments)
    added = None
    if form == "jsonl" and output not in {None, "-"}:
        added = result.add_to(output)
    elif form == "jsonl":
        write_output(lines_of_json(result), output)
    else:
        print_result(result, form, output)
    lines = [result.headline]
    if added is not None and added < len(result.table):
        lines.append(f"added: {added:,}; the others are in the file already")
    print_summary([*lines, *result.empty_rows])
