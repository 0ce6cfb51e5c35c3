"""``rankgate plot``: a picture of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import collected, options_of
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.labels import label, labelled
from rankgate.core.console.places import deliver, inputs, refuse_clashes
from rankgate.core.console.progress import Progress
from rankgate.core.console.terminal import styled, width
from rankgate.core.present.charts.picture import FORMS
from rankgate.core.present.charts.style import THEMES
from rankgate.core.present.suffixes import form_of
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.workspace.reports.kinds import KINDS, OF_RESULTS, kind
from rankgate.workspace.reports.pictured import CUTOFFS, ChartRequest, result_for
from rankgate.workspace.reports.plot import plot

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


class _Cutoffs(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Cutoffs with commas between them."""

    name = "list"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(sorted({int(each) for each in str(value).split(",")}))
        except ValueError:
            found = ()
        if not found or found[0] < 1:
            self.fail(f"{value!r} is not a list of cutoffs, such as 1,5,10.", param, ctx)
        return found


@click.command(
    "plot",
    cls=DefiningCommand,
    definitions={
        "Kinds": [(each.name, each.title) for each in KINDS],
        "Kinds of saved results": [(each.name, each.title) for each in OF_RESULTS],
    },
)
@click.argument(
    "name", metavar="KIND", type=click.Choice([each.name for each in (*KINDS, *OF_RESULTS)])
)
@options.qrels
@click.argument("runs", type=click.Path(), nargs=-1, metavar="[RUN]...")
@metric_options.metrics_option(
    "A metric such as nDCG@10; may be given several times. Without it: the default of the kind."
)
@metric_options.metrics_from
@metric_options.convention
@options_of(plot, "query ID")
@click.option(
    "-k",
    "--cutoffs",
    type=_Cutoffs(),
    default=CUTOFFS,
    metavar="LIST",
    help="For the kind cutoffs: the cutoffs of metrics without @. "
    f"Without it {','.join(map(str, CUTOFFS))}.",
)
@options_of(plot, "depth")
@label
@collected("test", Test, "unequal")
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
    help="FILE.svg, .png, .pdf, .html or .json. Without it deltas, cutoffs and distributions are "
    "drawn with characters.",
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
    **chosen: Any,
) -> None:
    """Draw a chart of this KIND from judgments (or ratings) and runs, or from a saved result.

    In place of QRELS, a result that a command wrote with --format json is drawn.

    \b
    rankgate plot deltas qrels.txt old.run new.run
    rankgate plot deltas qrels.txt old.run new.run -m nDCG@10 -o deltas.svg
    rankgate plot cutoffs qrels.txt *.run -m P -m nDCG -k 1,5,10,20 -o cutoffs.html
    rankgate plot explain qrels.txt new.run --query q17 -m nDCG@10 -o q17.png
    rankgate plot kpi-days kpi.json -o kpi.svg
    """
    refuse_clashes(inputs(), output)
    if output is not None:
        form_of(output, FORMS)
    elif not kind(name).in_text:
        kind(name).refuse_text()
    plain = collection.stated().keys() <= {"judgments"}
    source = collection.judgments if plain else collection  # which may be a result, or ratings
    with Progress(len(chosen["runs"]) + 1):
        request = ChartRequest(source, labels=labelled(labels), unequal=test.unequal, **chosen)
        result = result_for(kind(name).needs, request)
    for notice in result.notices:
        click.echo(f"! {notice.text}", err=True)
    if output:
        picture = kind(name).draw(result)
        deliver(picture.written(form_of(output, FORMS), theme or "", scale), output)
    else:
        deliver(styled(kind(name).text(result, width()), "text"))
