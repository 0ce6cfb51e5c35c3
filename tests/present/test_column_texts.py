"""Rows as JSON that are made by column are those that are made by row."""

import json

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.present.codec import encode
from rankgate.core.present.column_texts import rows_as_json

numbers = st.sampled_from([0.0, -0.0, 1.0, 1 / 3, 1e16, 1e-7])
rows = st.tuples(st.none() | st.text(), st.none() | numbers, st.none() | st.lists(st.none() | numbers))


@given(st.lists(rows))
def test_rows_by_column_are_those_by_row(values):
    schema = {"id": pl.String, "grade": pl.Float64, "grades": pl.List(pl.Float64)}
    table = pl.DataFrame(values, schema, orient="row")
    by_row = json.dumps({"rows": encode(table)}, ensure_ascii=False, indent=2)
    assert f'{{\n  "rows": {rows_as_json(table, 2)}\n}}' == by_row


def test_values_that_are_not_finite_are_null():
    table = pl.DataFrame({"x": [1.0, float("nan"), float("inf"), None], "y": [[float("nan")]] * 4})
    assert encode(table) == [{"x": x, "y": [None]} for x in (1.0, None, None, None)]
