"""Chart of blind spots: for each change and metric, the share of unchanged values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_style import SHARES
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.advice.blind_spots import BlindSpots


def draw_blind_spots(result: BlindSpots) -> Picture:
    """A heat map of the profile."""
    rows: list[dict[str, Json]] = [
        {"row": row["change"], "column": row["metric"], "value": row["unmoved"], "altered": row["altered"]}
        for row in result.profile.iter_rows(named=True)
    ]
    caption = (
        f"Each row is a change to the lists of {shorten_name(result.baseline)}; a cell has the share of the "
        "lists that it alters for which the metric does not move. Deep blue: blind; empty: no list could be "
        "altered."
    )
    return Picture(
        "blindspots",
        f"What the metrics do not see (first {count_noun(result.k, 'document')})",
        caption,
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        heat_map(rows, (0, 1), SHARES, form="%"),
        fluid=False,
    )
