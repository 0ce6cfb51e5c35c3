"""Every table of every result has declared columns; ``test_results`` has their frames."""

from __future__ import annotations

import polars as pl
import pytest

from present.test_results import KINDS
from rankgate.core.present.base_result import result_class
from rankgate.core.present.columns import Column, Columns
from support.programs import tool

result_tables = tool("docs/_pages/result_tables.py")


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_of_a_class_has_declared_columns(kind):
    for _, cls in result_tables.nested_classes(result_class(kind)):
        declared = getattr(cls, "SCHEMAS", {})
        assert result_tables.frame_fields(cls) <= set(declared), cls
        assert all(name in cls.__dataclass_fields__ or hasattr(cls, name) for name in declared), cls
        for columns in declared.values():
            assert isinstance(columns, Columns), cls
            assert columns.row_meaning.endswith(".")
            assert all(column.help and not column.help.endswith(".") for column in columns.columns)


def test_columns_are_a_schema_and_can_be_joined():
    system = Column("system", pl.String, "its name")
    first = Columns("One row per system.", system)
    both = Columns("One row per system.", first, Column("n", pl.Int64, "queries", unit="queries"))
    assert pl.DataFrame({"system": ["a"], "n": [1]}, schema=both).schema == dict(both)
    assert {**first, "n": pl.Int64} == both
    assert both.empty().schema == dict(both)
    assert list(both.drop("system")) == ["n"]


def test_a_column_is_documented_and_shown_as_declared():
    columns = Columns(
        "One row per system.",
        Column("system", pl.String, "its name"),
        Column("p", pl.Float64, "the p-value", "p", header="p\n(t)"),
        Column("n", pl.Int64, "queries | lists", ",", unit="queries"),
        Column("grades", pl.List(pl.Float64), "its grades"),
        further_columns="a tag",
    )
    table = pl.DataFrame([("a", 1e-9, 1200, [1.0, 2.0]), (None, None, None, [])], columns, orient="row")
    grid = columns.grid(table)
    assert grid.head == ("system", "p\n(t)", "n", "grades")
    assert grid.rows == (("a", "<0.001", "1,200", "1.0, 2.0"), ("", "–", "–", ""))
    assert grid.left == {0, 3}
    assert columns.json_schema()["items"]["properties"]["n"] == {
        "type": ["integer", "null"],
        "description": "queries | lists (queries)",
    }
    lines = columns.documentation().splitlines()
    assert lines[0] == "One row per system."
    assert "| `n` | integer | queries \\| lists (queries) |" in lines
    assert "| `grades` | list of number | its grades |" in lines
    assert lines[-1] == "| … |  | a tag |"


def test_a_cell_holds_a_value_with_its_interval_or_a_dash():
    names = ("tau", "low", "high")
    columns = Columns("One row.", *(Column(name, pl.Float64, "a number", ".1f") for name in names))
    rows = [(0.5, 0.4, 0.6), (0.5, None, None), (None, None, None)]
    grid = columns.grid(pl.DataFrame(rows, columns, orient="row"), ("tau", " ", ("low", "high")))
    assert grid.head == ("tau",)
    assert grid.rows == (("0.5 [0.4, 0.6]",), ("0.5",), ("–",))
