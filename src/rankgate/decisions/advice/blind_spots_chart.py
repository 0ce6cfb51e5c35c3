"""Document and chart of blind spots.

The document shows the parts of a change that the metrics detect, and their profile. The chart
shows, for each change and metric, the share of unchanged values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_style import SHARES, count_queries, shorten_name
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import UNDEFINED, count_noun, format_signed
from rankgate.decisions.advice.blind_spots import SEEN

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.advice.blind_spots import BlindSpots


def blind_spots_document(result: BlindSpots) -> Document:
    """Metrics and the change, the profile, and conclusions."""
    tables = [Table(heading, grid) for heading, grid in grids(result)]
    columns = ("change", "metric", "altered", "unmoved", "delta")
    rows = PlainRows(columns, list(result.profile.select(*columns).iter_rows()))
    warnings = Warnings.from_notices(result.notices)
    return made("", warnings, *tables, *sentences(result), rows=rows)


def grids(result: BlindSpots) -> list[tuple[str, Grid]]:
    """The table of the change, if there is a candidate; then the profile by share and by delta."""
    tables = []
    if result.candidate is not None:
        heading = (
            f"{make_printable(result.candidate)} against {make_printable(result.baseline)}: the first "
            f"{count_noun(result.depth, 'document')} changed for {result.changed} of "
            f"{count_noun(result.queries, 'query')}"
        )
        tables.append((heading, SEEN.grid(result.seen)))
    profile = (
        f"if {make_printable(result.baseline)} changed so (k = {result.k}): share of the lists with other "
        "grades at their ranks for which the metric does not move"
    )
    tables += [
        (profile, _profile_grid(result, "unmoved")),
        ("and by how much it moves, mean over these lists", _profile_grid(result, "delta")),
    ]
    return tables


def sentences(result: BlindSpots) -> list[str]:
    """Conclusions: the smallest sufficient set of metrics, and unseen changes."""
    sentences_found = []
    if result.suggested:
        sentences_found.append(
            f"the smallest set that detects all detectable changes: {', '.join(result.suggested)}"
        )
    if result.unseen:
        sentences_found.append(f"not detected by any tried metric: {', '.join(result.unseen)}")
    return sentences_found


def _profile_grid(result: BlindSpots, figure: str) -> Grid:
    metrics = result.profile["metric"].unique(maintain_order=True).to_list()
    rows: dict[str, list[str]] = {}
    altered_counts: dict[str, int] = {}
    for row in result.profile.iter_rows(named=True):
        cell_text = _share(row[figure]) if figure == "unmoved" else format_signed(row[figure])
        rows.setdefault(row["change"], []).append(cell_text)
        altered_counts[row["change"]] = row["altered"]
    cells = tuple((name, str(altered_counts[name]), *cells_of_row) for name, cells_of_row in rows.items())
    return Grid(("change", "lists", *metrics), cells)


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.0%}"


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
