"""Texts of the values of a column, and rows as JSON, made by column.

The text of a value is made once for all equal values, because most columns of long tables have few
different values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl


def column_texts(column: pl.Series, text_of: Callable[[Any], str]) -> pl.Series:
    """The text of each value of a column, made once for equal values.

    Args:
        column: the column of texts, numbers, times, or lists of numbers.
        text_of: a function that makes the text of a value, and of None.

    >>> column_texts(pl.Series([0.0, -0.0, None, 0.0]), str).to_list()
    ['0.0', '-0.0', 'None', '0.0']
    """
    # as texts, since 0.0 and -0.0 are equal as numbers
    if column.dtype == pl.List:
        numbers = pl.element().cast(pl.String).fill_null("null")
        keys = column.to_frame().select(pl.first().list.eval(numbers).list.join(",")).to_series()
    else:
        keys = column.cast(pl.String)
    is_first = keys.is_first_distinct() & keys.is_not_null()
    texts = [text_of(value) for value in column.filter(is_first).to_list()]
    return keys.replace_strict(keys.filter(is_first), texts, default=text_of(None), return_dtype=pl.String)


def rows_as_json(table: pl.DataFrame, indent: int) -> str:
    r"""The rows of a table in the form in which `to_json` writes a list of rows.

    Args:
        table: columns as in `column_texts`, with finite numbers.
        indent: blanks before the line of the list.

    >>> print(rows_as_json(pl.DataFrame({"id": ["a"], "grades": [[1.0]]}), 0))
    [
      {
        "id": "a",
        "grades": [
          1.0
        ]
      }
    ]
    """
    if table.is_empty():
        return "[]"
    outer, row, cell = ("\n" + " " * (indent + blanks) for blanks in (0, 2, 4))

    def text_of(value: object) -> str:
        # line breaks inside texts are escaped, so these are all line breaks of the form
        return json.dumps(value, ensure_ascii=False, indent=2).replace("\n", cell)

    cells = [
        pl.concat_str(
            pl.lit(f"{cell}{json.dumps(name, ensure_ascii=False)}: "), column_texts(table[name], text_of)
        )
        for name in table.columns
    ]
    rows = pl.select(pl.concat_str(cells, separator=",")).to_series()
    return f"[{row}{{" + f"{row}}},{row}{{".join(rows) + f"{row}}}{outer}]"
