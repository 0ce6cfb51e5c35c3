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
from rankgate.core.console.declared_options import collected
from rankgate.core.console.places import deliver
from rankgate.core.console.progress import Progress
from rankgate.core.console.sections import TEST, SectionedCommand
from rankgate.core.errors import UsageError
from rankgate.core.present.forms.documents import csv, latex, markdown
from rankgate.core.present.pages.page import page
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
from rankgate.workspace.reports.gather import gather
from rankgate.workspace.reports.printed import printed
from rankgate.workspace.reports.reading import are_results, read_results
from rankgate.workspace.reports.shown_texts import texts_of_documents, texts_of_queries

if TYPE_CHECKING:
    from rankgate.core.present.document import Document
    from rankgate.data.collection import Collection

FORMS = ("html", "markdown", "latex", "csv", "pdf")
"""The forms of a report, by the name that ``--format`` takes."""

_WORDS = "rankgate.report.words"
_OF_ALL = {"sources", "queries", "documents", "worst", "add", "form", "browser", "output"}


_Gathered = tuple[list[ReportPart], tuple[str, ...]]


class _Remembered(SectionedCommand):
    """A command that remembers how it was called, for the page to say."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)


def _of_sources(function: Callable[..., Any]) -> Callable[..., Any]:
    """SOURCE... as QRELS and RUN..., which they are unless they are results."""

    @functools.wraps(function)
    def with_runs(*args: Any, sources: tuple[str, ...], **options: Any) -> object:
        if are_results(sources):
            return function(*args, sources=sources, qrels=None, runs=[], **options)
        qrels, *runs = sources
        return function(*args, sources=sources, qrels=qrels, runs=runs, **options)

    return with_runs


@click.command("report", cls=_Remembered)
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
@collected("test", Test, "resamples", "seed", "unequal", section=TEST)
@options.form(*FORMS)
@click.option(
    "--browser",
    metavar="PROGRAM",
    help="The browser that prints PDF, Chromium or Chrome; without it one on the PATH.",
)
@options.output
@_of_sources
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
    **chosen: Any,
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
    again = shlex.join(["rankgate", "report", *ctx.meta[_WORDS]])
    left_out: list[str] = []
    remarks: tuple[str, ...] = ()
    title = ""
    if are_results(sources):
        _refuse_options(ctx)
        parts, left_out = read_results(sources)
        if len(parts) > 1 and len(sources) == 1:
            title = f"Results in {Path(sources[0]).resolve().name}"
    else:
        with Progress(2 + len(sources)):
            parts, remarks = _gathered(collection, runs, **chosen)
    lists = [
        each.lists.select("query_id", "doc_id")
        for part in parts
        if isinstance(part.result, Comparisons)
        for each in part.result.comparisons
    ]
    options = ReportOptions(
        worst, texts_of_queries(queries), texts_of_documents(documents, lists), add=add
    )
    report = compose(parts, options, title=title, command=again, left_out=left_out, remarks=remarks)
    _deliver(report, form, browser, output)


def _gathered(
    collection: Collection, runs: Sequence[str], *, gated: bool, policy: str | None, **chosen: Any
) -> _Gathered:
    """The results of QRELS RUN, or of QRELS BASELINE CANDIDATE..."""
    if not runs:
        problem = (
            f"{collection.judgments}: not a result; give results, a folder of them, or QRELS RUN..."
        )
        raise UsageError(problem, code="missing-input")
    if len(runs) == 1:
        metrics = chosen["metrics"] or DEFAULT_METRICS
        with progress(None):
            result = evaluate(collection, list(runs), metrics, chosen["convention"])
        return [ReportPart(result)], ()
    demanded = policy_of(policy) if gated or policy else None
    return gather(collection, runs[0], list(runs[1:]), policy=demanded, **chosen)


def _refuse_options(ctx: click.Context) -> None:
    """Options that say how runs are scored mean nothing to results, which were."""
    for each in ctx.command.params:
        name = each.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in _OF_ALL:
            raise UsageError(
                f"{each.opts[-1]}: results were made before; pass it to the command that makes "
                "them.",
                code="conflicting-options",
            )


def _deliver(report: Document, form: str, browser: str | None, output: str | None) -> None:
    if form == "pdf":
        if output is None:
            raise UsageError(
                "PDF is not for terminals; name a file with -o, or '-' for a pipe.",
                code="binary-output",
            )
        deliver(printed(page(report), browser), output)
        return
    ways = {"html": page, "markdown": markdown, "latex": latex, "csv": csv}
    deliver(ways[form](report), output)
