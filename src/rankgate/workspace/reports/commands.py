"""The commands ``plot`` and ``report``."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from click.core import ParameterSource

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import (
    label,
    own_options,
    parse_labels,
    value_options,
    verb_options,
)
from rankgate.core.console.option_types import TEST, DefiningCommand, SectionedCommand
from rankgate.core.console.shared_options import check_paths, input_paths, write_output
from rankgate.core.console.terminal_output import TerminalProgress, output_width, style_output
from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.output_files import find_form
from rankgate.core.present.base_result import ReportOptions
from rankgate.core.present.charts.chart_style import THEMES
from rankgate.core.present.charts.picture import FORMS
from rankgate.core.present.document_forms import render_csv, render_latex, render_markdown
from rankgate.core.present.pages.page import document_page
from rankgate.core.progress import progress
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.documents.comparison_report import WORST
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.policy import policy as policy_of
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.workspace.reports.chart_kinds import CHART_KINDS, RESULT_CHART_KINDS, find_chart_kind
from rankgate.workspace.reports.chart_results import DEFAULT_CUTOFFS, ChartRequest, compute_result, plot
from rankgate.workspace.reports.report import (
    ReportPart,
    compose,
    link_query_texts,
    print_pdf,
    read_document_texts,
    read_query_texts,
)
from rankgate.workspace.reports.report_results import (
    are_result_paths,
    compare_data_sets,
    damage_named,
    gather_results,
    read_results,
)

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command
    from rankgate.core.present.document_model import Document
    from rankgate.data.collection import Collection


class _CutoffsType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """The type of an option with cutoffs, separated by commas."""

    name = "list"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            cutoffs = tuple(sorted({int(text) for text in str(value).split(",")}))
        except ValueError:
            cutoffs = ()
        if not cutoffs or cutoffs[0] < 1:
            self.fail(f"{value!r} is not a list of cutoffs, such as 1,5,10.", param, ctx)
        return cutoffs


@click.command(
    "plot",
    cls=DefiningCommand,
    definitions={
        "Kinds": [(chart_kind.name, chart_kind.title) for chart_kind in CHART_KINDS],
        "Kinds of saved results": [(chart_kind.name, chart_kind.title) for chart_kind in RESULT_CHART_KINDS],
    },
)
@click.argument(
    "name",
    metavar="KIND",
    type=click.Choice([chart_kind.name for chart_kind in (*CHART_KINDS, *RESULT_CHART_KINDS)]),
)
@shared_options.qrels
@shared_options.paths("[runs...] [RUN]...")
@metric_options.metrics_option(
    "A metric such as nDCG@10; may be given several times. Without it: the default of the kind."
)
@metric_options.metrics_from
@metric_options.convention
@verb_options(plot, "query ID")
@click.option(
    "-k",
    "--cutoffs",
    type=_CutoffsType(),
    default=DEFAULT_CUTOFFS,
    metavar="LIST",
    help="For the kind cutoffs: the cutoffs of metrics without @. Without it "
    f"{','.join(map(str, DEFAULT_CUTOFFS))}.",
)
@verb_options(plot, "depth")
@label
@value_options("test", Test, "unequal")
@of_collection("runs")
@own_options("theme", "scale", "output FILE -o", choices={"theme": THEMES})
def plot_command(
    name: str,
    *,
    collection: Collection,
    test: Test,
    labels: tuple[str, ...],
    theme: str | None = None,
    scale: Annotated[float, Range(0.1, 10)] = 2.0,
    output: str | None = None,
    **arguments: Any,
) -> None:
    """Draw a chart of this KIND from judgments (or ratings) and runs, or from a saved result.

    In place of QRELS, a result that a command wrote with --format json is drawn.

    \b
    rankgate plot deltas qrels.txt old.run new.run
    rankgate plot deltas qrels.txt old.run new.run -m nDCG@10 -o deltas.svg
    rankgate plot cutoffs qrels.txt *.run -m P -m nDCG -k 1,5,10,20 -o cutoffs.html
    rankgate plot heat qrels.txt *.run -m nDCG@10 -o heat.png
    rankgate plot explain qrels.txt new.run --query q17 -m nDCG@10 -o q17.png
    rankgate plot kpi-days kpi.json -o kpi.svg
    \f

    Options:
        theme: Without it, SVG and HTML follow the reader's setting; PNG and PDF are light.
        scale: The resolution of PNG: pixels per point.
        output: FILE.svg, .png, .pdf, .html or .json. Without it deltas, cutoffs, distributions and
            heat are drawn with characters.
    """
    check_paths(input_paths(), output)
    if output is not None:
        find_form(output, FORMS)
    elif not find_chart_kind(name).text_from:
        find_chart_kind(name).refuse_text()
    only_judgments = collection.stated().keys() <= {"judgments"}
    source = collection.judgments if only_judgments else collection  # the file may be a result or ratings
    with TerminalProgress(len(arguments["runs"]) + 1):
        request = ChartRequest(source, labels=parse_labels(labels), unequal=test.unequal, **arguments)
        result = compute_result(find_chart_kind(name).needs, request)
    for notice in result.notices:
        click.echo(f"! {notice.text}", err=True)
    is_saved = isinstance(source, str) and are_result_paths((source,))
    with damage_named(str(source)) if is_saved else nullcontext():
        if output:
            picture = find_chart_kind(name).draw(result)
            write_output(picture.written(find_form(output, FORMS), theme or "", scale), output)
        else:
            write_output(style_output(find_chart_kind(name).text(result, output_width()), "text"))


REPORT_FORMS = ("html", "markdown", "latex", "csv", "pdf")
"""The formats of a report, by the name for ``--format``."""

_ARGUMENTS_KEY = "rankgate.report.words"
_GENERAL_OPTIONS = {
    *("sources", "queries", "documents", "data_sets", "worst", "add", "form", "browser", "output")
}


_PartsAndRemarks = tuple[list[ReportPart], tuple[str, ...]]


class _ReportCommand(SectionedCommand):
    """A command that saves its arguments to show them on the page."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS_KEY] = tuple(args)
        return super().parse_args(ctx, args)


def _split_sources(function: Command) -> Command:
    """Split SOURCE... into QRELS and RUN... unless the sources are results."""

    @functools.wraps(function)
    def with_runs(*args: Any, sources: tuple[str, ...], **options: Any) -> object:
        if are_result_paths(sources):
            return function(*args, sources=sources, qrels=None, runs=[], **options)
        qrels, *runs = sources
        return function(*args, sources=sources, qrels=qrels, runs=runs, **options)

    return with_runs


@click.command("report", cls=_ReportCommand)
@shared_options.paths("sources... SOURCE...")
@metric_options.metrics_option(
    "A metric such as nDCG@10; may be given several times. Without it those of the policy, else "
    f"{', '.join(DEFAULT_METRICS)}."
)
@metric_options.metrics_from
@metric_options.convention
@own_options("gated --gate", "policy FILE", "queries FILE", "documents FILE")
@verb_options(compare, "depth")
@own_options("add NAME", "data_sets", "worst")
@value_options("test", Test, "resamples", "seed", "unequal", section=TEST)
@shared_options.form(*REPORT_FORMS)
@own_options("browser PROGRAM")
@shared_options.output
@_split_sources
@of_collection("runs")
@click.pass_context
def report_command(
    ctx: click.Context,
    /,
    collection: Collection,
    sources: tuple[str, ...],
    runs: Sequence[str],
    *,
    gated: bool = False,
    policy: str | None = None,
    queries: str | None = None,
    documents: str | None = None,
    add: tuple[str, ...] = (),
    data_sets: bool = False,
    worst: Annotated[int, Range(0)] = WORST,
    form: str,
    browser: str | None = None,
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
    rankgate report --data-sets ml-1m.json beauty.json games.json --format latex
    rankgate report qrels.txt old.run new.run --format pdf -o report.pdf
    \f

    Options:
        gated: Add the verdict of the project's policy.
        policy: Add the verdict of this policy.
        queries: A file with the texts of queries.
        documents: A file with fields of documents, such as titles.
        add: Add this report block of a plug-in; may be given several times (see rankgate plugins).
        data_sets: Make one table of saved comparisons of the same systems, a file for each data set,
            with tests over data sets.
        worst: The number of worst queries to show, with both lists.
        browser: The browser that prints PDF, Chromium or Chrome; without it one on the PATH.
    """
    command_line = shlex.join(["rankgate", "report", *ctx.meta[_ARGUMENTS_KEY]])
    left_out: list[str] = []
    remarks: tuple[str, ...] = ()
    title = ""
    are_saved = are_result_paths(sources)
    if are_saved:
        _refuse_options(ctx)
        parts, left_out = read_results(sources)
        if data_sets:
            parts = [compare_data_sets(parts)]
        elif len(parts) > 1 and len(sources) == 1:
            title = f"Results in {Path(sources[0]).resolve().name}"
    elif data_sets:
        raise UsageError(
            "--data-sets: give results of rankgate compare --format json, a file for each data set.",
            code="conflicting-options",
        )
    else:
        with TerminalProgress(2 + len(sources)):
            parts, remarks = _gather_parts(collection, runs, gated=gated, policy=policy, **arguments)
    lists = [
        comparison.lists.select("query_id", "doc_id")
        for report_part in parts
        if isinstance(report_part.result, Comparisons)
        for comparison in report_part.result.comparisons
    ]
    options = ReportOptions(worst, read_query_texts(queries), read_document_texts(documents, lists), add=add)
    html = functools.partial(document_page, links=link_query_texts(options))
    with damage_named(*sources) if are_saved else nullcontext():
        report = compose(
            parts, options, title=title, command=command_line, left_out=left_out, remarks=remarks
        )
        if data_sets and form == "latex":
            report = parts[0].result.document()  # a paper needs the one table
        _write_report(report, html, form, browser, output)


def _gather_parts(
    collection: Collection, runs: Sequence[str], *, gated: bool, policy: str | None, **arguments: Any
) -> _PartsAndRemarks:
    """The results of QRELS RUN, or of QRELS BASELINE CANDIDATE..."""
    if not runs:
        problem = f"{collection.judgments}: not a result; give results, a folder of them, or QRELS RUN..."
        raise UsageError(problem, code="missing-input")
    if len(runs) == 1:
        metrics = arguments["metrics"] or DEFAULT_METRICS
        with progress(None):
            result = evaluate(collection, list(runs), metrics, arguments["convention"])
        return [ReportPart(result)], ()
    gate_policy = policy_of(policy) if gated or policy else None
    return gather_results(collection, runs[0], list(runs[1:]), policy=gate_policy, **arguments)


def _refuse_options(ctx: click.Context) -> None:
    """Refuse scoring options, because results are already scored."""
    for param in ctx.command.params:
        name = param.name or ""
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in _GENERAL_OPTIONS:
            raise UsageError(
                f"{param.opts[-1]}: results were made before; pass it to the command that makes them.",
                code="conflicting-options",
            )


def _write_report(
    report: Document, html: Callable[[Document], str], form: str, browser: str | None, output: str | None
) -> None:
    if form == "pdf":
        if output is None:
            raise UsageError(
                "PDF is not for terminals; name a file with -o, or '-' for a pipe.", code="binary-output"
            )
        write_output(print_pdf(html(report), browser), output)
        return
    writers = {"html": html, "markdown": render_markdown, "latex": render_latex, "csv": render_csv}
    write_output(writers[form](report), output)
