"""``rankgate report``: one page from runs or results."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options
from rankgate.core.console.places import write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import TEST, SectionedCommand
from rankgate.core.errors import UsageError
from rankgate.core.present.forms.documents import render_csv, render_latex, render_markdown
from rankgate.core.present.pages.page import document_page
from rankgate.core.present.result import ReportOptions
from rankgate.core.progress import progress
from rankgate.decisions.comparison.commands import options as comparing
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.documents.changes import WORST
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.policy import policy as policy_of
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.workspace.reports.compose import ReportPart, compose
from rankgate.workspace.reports.gather import gather_results
from rankgate.workspace.reports.printed import print_pdf
from rankgate.workspace.reports.reading import are_result_paths, read_results
from rankgate.workspace.reports.shown_texts import read_document_texts, read_query_texts

if TYPE_CHECKING:
    from rankgate.core.present.document import Document
    from rankgate.data.collection import Collection

REPORT_FORMS = ("html", "markdown", "latex", "csv", "pdf")
"""The forms of a report, by the name that ``--format`` takes."""

_ARGUMENTS_KEY = "rankgate.report.words"
_GENERAL_OPTIONS = {"sources", "queries", "documents", "worst", "add", "form", "browser", "output"}


_PartsAndRemarks = tuple[list[ReportPart], tuple[str, ...]]


class _ReportCommand(SectionedCommand):
    """A command that keeps its arguments, which the page shows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS_KEY] = tuple(args)
        return super().parse_args(ctx, args)


def _split_sources(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass SOURCE... as QRELS and RUN... unless they are results."""

    @functools.wraps(function)
    def with_runs(*args: Any, sources: tuple[str, ...], **options: Any) -> object:
        if are_result_paths(sources):
            return function(*args, sources=sources, qrels=None, runs=[], **options)
        qrels, *runs = sources
        return function(*args, sources=sources, qrels=qrels, runs=runs, **options)

    return with_runs


@click.command("report", cls=_ReportCommand)
@click.argument("sources", type=click.Path(), nargs=-1, required=True, metavar="SOURCE...")
@metric_options.metrics_option(
    "A metric such as nDCG@10; may be given several times. Without it those of the policy, "
    f"else {', '.join(DEFAULT_METRICS)}."
)
@metric_options.metrics_from
@metric_options.convention
@click.option("--gate", "gated", is_flag=True, help="Add the verdict of the project's policy.")
@click.option("--policy", type=click.Path(), metavar="FILE", help="Add the verdict of this policy.")
@click.option(
    "--queries", type=click.Path(), metavar="FILE", help="A file with the texts of queries."
)
@click.option(
    "--documents",
    type=click.Path(),
    metavar="FILE",
    help="A file with fields of documents, such as titles.",
)
@comparing.depth
@click.option(
    "--add",
    multiple=True,
    metavar="NAME",
    help="Add this report block of a plug-in; may be given several times (see rankgate plugins).",
)
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=WORST,
    show_default=True,
    help="How many of the worst queries to show, with both lists.",
)
@value_options("test", Test, "resamples", "seed", "unequal", section=TEST)
@options.form(*REPORT_FORMS)
@click.option(
    "--browser",
    metavar="PROGRAM",
    help="The browser that prints PDF, Chromium or Chrome; without it one on the PATH.",
)
@options.output
@_split_sources
@of_collection("runs")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    collection: Collection,
    sources: tuple[str, ...],
    runs: Sequence[str],
    *,
    queries: str | None,
    documents: str | None,
    add: tuple[str, ...],
    worst: int,
    form: str,
    browser: str | None,
    output: str | None,
    **arguments: Any,
) -> None:
    """Write an HTML report that can be read offline.

    SOURCE is QRELS RUN, QRELS BASELINE CANDIDATE..., or results that other commands
    wrote with --format json, or a folder of them.

    \b
    rankgate report qrels.txt old.run new.run -o report.html
    rankgate report qrels.txt old.run new.run --policy rankgate.toml --documents titles.jsonl -o r.html
    rankgate report results/ -o report.html
    rankgate report compare.json --format latex
    rankgate report qrels.txt old.run new.run --format pdf -o report.pdf
    """  # noqa: E501 - click needs the character that \b makes; a command is one line
    command_line = shlex.join(["rankgate", "report", *ctx.meta[_ARGUMENTS_KEY]])
    left_out: list[str] = []
    remarks: tuple[str, ...] = ()
    title = ""
    if are_result_paths(sources):
        _refuse_options(ctx)
        parts, left_out = read_results(sources)
        if len(parts) > 1 and len(sources) == 1:
            title = f"Results in {Path(sources[0]).resolve().name}"
    else:
        with TerminalProgress(2 + len(sources)):
            parts, remarks = _gather_parts(collection, runs, **arguments)
    lists = [
        comparison.lists.select("query_id", "doc_id")
        for report_part in parts
        if isinstance(report_part.result, Comparisons)
        for comparison in report_part.result.comparisons
    ]
    options = ReportOptions(
        worst, read_query_texts(queries), read_document_texts(documents, lists), add=add
    )
    report = compose(
        parts, options, title=title, command=command_line, left_out=left_out, remarks=remarks
    )
    _write_report(report, form, browser, output)


def _gather_parts(
    collection: Collection,
    runs: Sequence[str],
    *,
    gated: bool,
    policy: str | None,
    **arguments: Any,
) -> _PartsAndRemarks:
    """The results of QRELS RUN, or of QRELS BASELINE CANDIDATE..."""
    if not runs:
        problem = (
            f"{collection.judgments}: not a result; give results, a folder of them, or QRELS RUN..."
        )
        raise UsageError(problem, code="missing-input")
    if len(runs) == 1:
        metrics = arguments["metrics"] or DEFAULT_METRICS
        with progress(None):
            result = evaluate(collection, list(runs), metrics, arguments["convention"])
        return [ReportPart(result)], ()
    gate_policy = policy_of(policy) if gated or policy else None
    return gather_results(collection, runs[0], list(runs[1:]), policy=gate_policy, **arguments)


def _refuse_options(ctx: click.Context) -> None:
    """Refuse options about the scoring of runs, as results are scored already."""
    for param in ctx.command.params:
        name = param.name or ""
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in _GENERAL_OPTIONS:
            raise UsageError(
                f"{param.opts[-1]}: results were made before; pass it to the command that makes "
                "them.",
                code="conflicting-options",
            )


def _write_report(report: Document, form: str, browser: str | None, output: str | None) -> None:
    if form == "pdf":
        if output is None:
            raise UsageError(
                "PDF is not for terminals; name a file with -o, or '-' for a pipe.",
                code="binary-output",
            )
        write_output(print_pdf(document_page(report), browser), output)
        return
    writers = {
        "html": document_page,
        "markdown": render_markdown,
        "latex": render_latex,
        "csv": render_csv,
    }
    write_output(writers[form](report), output)
