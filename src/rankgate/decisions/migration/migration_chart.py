"""Chart of a migration: the documents that each step keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_style import SHARES
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.migration.migration import Migration


def draw_kept_documents(result: Migration) -> Picture:
    """A row for each step: the share of documents that is kept, on average and for the worst query."""
    rows: list[dict[str, Json]] = [
        {"row": row["step"], "column": header, "value": row[name]}
        for row in result.steps.iter_rows(named=True)
        for name, header in (("kept", "mean"), ("lowest", "worst query"))
    ]
    return Picture(
        "migration",
        f"Documents that {shorten_name(result.new)} keeps (first {count_noun(result.k, 'document')})",
        "The share of the first documents before each step that are among the first after it.",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        heat_map(rows, (0, 1), SHARES, form="%"),
        fluid=False,
    )
