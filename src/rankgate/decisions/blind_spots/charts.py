"""Chart of blind spots: for each change and metric, the share of unchanged values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.heat import heat_map
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import SHARES
from rankgate.core.present.charts.words import count_queries, shorten_name

if TYPE_CHECKING:
    from rankgate.decisions.blind_spots.blindspots import BlindSpots


def draw(result: BlindSpots) -> Picture:
    """A heat map of the profile."""
    rows: list[dict[str, Any]] = [
        {
            "row": row["change"],
            "column": row["metric"],
            "value": row["unmoved"],
            "altered": row["altered"],
        }
        for row in result.profile.iter_rows(named=True)
    ]
    caption = (
        f"Each row is a change to the lists of {shorten_name(result.baseline)}; a cell has the "
        "share of "
        "the lists that it alters for which the metric does not move. Deep blue: blind; "
        "empty: no list could be altered."
    )
    return Picture(
        "blindspots",
        f"What the metrics do not see (first {result.k} documents)",
        caption,
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        heat_map(rows, (0, 1), SHARES, form="%"),
        fluid=False,
    )
