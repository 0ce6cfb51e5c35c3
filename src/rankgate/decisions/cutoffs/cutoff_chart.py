"""The chart of ``cutoff``: silence and documents kept by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_parts import ChartAxis, concat_panels, labelled_lines
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_queries

if TYPE_CHECKING:
    from rankgate.decisions.cutoffs.cutoff import CutoffAnalysis

_NAMES = {"silent": "silent", "kept": "kept", "silent_low": "silent at least", "kept_low": "kept at least"}


def draw_cutoff(result: CutoffAnalysis) -> Picture:
    """Draw a panel for each system: both shares and their lower bounds by threshold."""
    lines = result.curve.unpivot(
        [*_NAMES], index=["system", "threshold"], variable_name="series", value_name="share"
    ).drop_nulls()
    axes = ChartAxis("threshold", "threshold"), ChartAxis("share", "share", (0.0, 1.0), form="%")
    panels = [
        labelled_lines(rows.with_columns(rows["series"].replace(_NAMES)).to_dicts(), *axes, title=name)
        for (name,), rows in lines.partition_by("system", as_dict=True, maintain_order=True).items()
    ]
    return Picture(
        "cutoff",
        f"Where to cut off the score: {shorten_name(', '.join(result.systems))}",
        "silent: questions without an answer that return nothing. kept: relevant documents that are kept. at "
        "least: the lower bound at a threshold that was fixed beforehand.",
        count_queries(*result.demands.filter(result.demands["slice"].is_null())["n"]),
        result.convention,
        tuple(lines.to_dicts()),
        concat_panels(panels),
        fluid=False,
    )
