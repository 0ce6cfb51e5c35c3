"""The figures of a scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.records.new_record import Value
from rankgate.workspace.records.figures.figures import Figures

if TYPE_CHECKING:
    from rankgate.recommenders.scorecard import Scorecard


def scorecard_figures(result: Scorecard) -> Figures:
    """Every figure of every system with its interval, and slices; there are no values per user."""
    higher_is_better = {}
    values = []
    for row in result.figures.iter_rows(named=True):
        higher_is_better[row["metric"]] = row["higher_is_better"]
        values.append(
            Value(
                row["metric"],
                row["system"],
                row["value"],
                row["low"],
                row["high"],
                row["users"] or 0,
                higher_is_better=row["higher_is_better"],
            )
        )
    values += [
        Value(
            row["metric"],
            row["system"],
            row["value"],
            row["low"],
            row["high"],
            row["size"] or 0,
            slice=f"{row['slice']}={row['part']}",
            higher_is_better=higher_is_better.get(row["metric"], True),
        )
        for row in result.slices.iter_rows(named=True)
    ]
    return Figures(
        tuple(values),
        result.systems[-1],
        qrels=result.qrels,
        convention=result.convention,
        summary={"systems": list(result.systems), "metrics": list(result.metrics)},
    )
