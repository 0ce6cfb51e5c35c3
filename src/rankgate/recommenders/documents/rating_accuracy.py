"""Document of rating accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_column
from rankgate.measurement.metrics.ratings import RATING_METRICS

if TYPE_CHECKING:
    from rankgate.recommenders.rating_accuracy import RatingAccuracy


def document(result: RatingAccuracy) -> Document:
    """A row a metric, with the side that is better."""
    arrows = ["↑" if RATING_METRICS[name].higher_is_better else "↓" for name in result.values]
    grid = Grid.of(
        {
            "metric": [
                f"{name} {arrow}" for name, arrow in zip(result.values, arrows, strict=True)
            ],
            "value": format_column(result.values.values()),
        }
    )
    basis = (
        f"{result.pairs:,} rated pairs of {result.users:,} users of "
        f"{make_printable(result.qrels)}, "
        f"predicted by {make_printable(result.run)}"
    )
    rows = PlainRows(("metric", "value"), list(result.values.items()))
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return made("Predicted ratings", Table("", grid), warnings, lead=(basis,), rows=rows)
