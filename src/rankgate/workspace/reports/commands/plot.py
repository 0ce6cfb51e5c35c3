"""``rankgate plot``: a picture of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.labels import label, parse_labels
from rankgate.core.console.places import check_paths, input_paths, write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.terminal import output_width, style_output
from rankgate.core.present.charts.picture import FORMS
from rankgate.core.present.charts.style import THEMES
from rankgate.core.present.suffixes import find_form
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.workspace.reports.kinds import CHART_KINDS, RESULT_CHART_KINDS, find_chart_kind
from rankgate.workspace.reports.pictured import DEFAULT_CUTOFFS, ChartRequest, compute_result
from rankgate.workspace.reports.plot import plot

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


class _CutoffsType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Cutoffs with commas between them."""

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
        "Kinds of saved results": [
            (chart_kind.name, chart_kind.title) for chart_kind in RESULT_CHART_KINDS
        ],
    },
)
@click.argument(
    "name",
    metavar="KIND",
    type=click.Choice([chart_kind.name for chart_kind in (*CHART_KINDS, *RESULT_CHART_KINDS)]),
)
@options.qrels
@click.argument("runs", type=click.Path(), nargs=-1, metavar="[RUN]...")
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
    help="For the kind cutoffs: the cutoffs of metrics without @. "
    f"Without it {','.join(map(str, DEFAULT_CUTOFFS))}.",
)
@verb_options(plot, "depth")
@label
@value_options("test", Test, "unequal")
@of_collection("runs")
@click.option(
    "--theme",
    type=click.Choice(THEMES),
    help="Without it, SVG and HTML follow the reader's setting; PNG and PDF are light.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0.1, max=10),
    default=2.0,
    show_default=True,
    help="The resolution of PNG: pixels per point.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="FILE.svg, .png, .pdf, .html or .json. Without it deltas, cutoffs, distributions and "
    "heat are drawn with characters.",
)
def command(
    name: str,
    *,
    collection: Collection,
    test: Test,
    labels: tuple[str, ...],
    theme: str | None,
    scale: float,
    output: str | None,
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
    """
    check_paths(input_paths(), output)
    if output is not None:
        find_form(output, FORMS)
    elif not find_chart_kind(name).in_text:
        find_chart_kind(name).refuse_text()
    only_judgments = collection.stated().keys() <= {"judgments"}
    source = (
        collection.judgments if only_judgments else collection
    )  # which may be a result, or ratings
    with TerminalProgress(len(arguments["runs"]) + 1):
        request = ChartRequest(
            source, labels=parse_labels(labels), unequal=test.unequal, **arguments
        )
        result = compute_result(find_chart_kind(name).needs, request)
    for notice in result.notices:
        click.echo(f"! {notice.text}", err=True)
    if output:
        picture = find_chart_kind(name).draw(result)
        write_output(picture.written(find_form(output, FORMS), theme or "", scale), output)
    else:
        write_output(style_output(find_chart_kind(name).text(result, output_width()), "text"))
