"""Parts of layouts, on small results."""

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Document, Table
from rankgate.core.present.layout import CrossView, Layout, View, layout_document

COUNTS = Columns(
    "One row per tag and value.",
    Column("tag", pl.String, "the tag"),
    Column("value", pl.String, "its value"),
    Column("n", pl.Int64, "how often"),
)


@dataclass(frozen=True)
class Counts(Result):
    """Counts, as an example of a result."""

    kind: ClassVar[str] = "counts"
    SCHEMAS: ClassVar = {"counts": COUNTS}
    layout: ClassVar[Layout] = (
        View("counts", "values of {tag}", ("value", "n"), by="tag", headers={"value": "{tag}"}),
        CrossView("frequent", "at least {minimum}", ("tag",), across="value", value="n", columns=COUNTS),
    )
    counts: pl.DataFrame

    def document(self, minimum: int = 2) -> Document:
        """The counts, and those of frequent values."""
        frequent = self.counts.filter(pl.col("n") >= minimum)
        return layout_document(self, minimum=minimum, frequent=frequent)


ROWS = [("market", "de", 3), ("device", "phone", 1), ("market", "fr", 2)]


def tables(result, **options):
    blocks = result.document(**options).sections[0].blocks
    return {block.heading: block.grid for block in blocks if isinstance(block, Table)}


def test_a_column_divides_a_view_into_tables_in_the_order_of_its_values():
    grids = tables(Counts(pl.DataFrame(ROWS, COUNTS, orient="row")))
    assert list(grids) == ["values of market", "values of device", "at least 2"]
    assert grids["values of market"].rows == (("de", "3"), ("fr", "2"))
    assert grids["values of device"].head == ("device", "n")
    assert list(tables(Counts(COUNTS.empty()))) == []


def test_options_of_a_document_are_values_of_its_layout():
    result = Counts(pl.DataFrame(ROWS, COUNTS, orient="row"))
    grid = tables(result, minimum=3)["at least 3"]
    assert grid.head == ("tag", "de")
    assert grid.rows == (("market", "3"),)
    assert not hasattr(result, "frequent")
    assert result == Counts(result.counts)


def test_optional_columns_stay_for_a_zero_and_go_without_a_value():
    view = View("counts", optional=("value", "n"))
    for count, names in ((0, ("tag", "n")), (None, ("tag",))):
        result = Counts(pl.DataFrame([("market", "", count)], COUNTS, orient="row"))
        (table,) = view.blocks(result)
        assert table.grid.head == names
