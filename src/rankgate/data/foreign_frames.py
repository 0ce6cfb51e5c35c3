"""Convert frames of other libraries to Polars, and column names of other tools to ours.

Frames come from pandas, Arrow, any Arrow stream, or rows. The translation of column names of other
tools to our columns is also here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.adapters import column_names, is_ranking, is_table, read_rankings, read_table
from rankgate.data.column_names import ALIASES, NAME_SEPARATOR, document_columns, match_columns
from rankgate.data.spark_tables import any_on_spark


def is_frame(table: object) -> bool:
    """True for rows, and for a frame of Polars, pandas, Arrow or a library with Arrow streams."""
    is_stream = isinstance(table, pl.LazyFrame) or hasattr(table, "__arrow_c_stream__")
    return is_stream or is_table(table)


def refuse_series(table: object, label: str) -> None:
    """Check that an object is not a pandas Series, whose rows would lack the ids.

    Raises:
        InputError: the object is a Series.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.Series):
        problem = (
            "a Series without queries and documents in its index; give frame.set_index(['query_id', "
            "'doc_id'])['score'], or the frame itself."
        )
        raise InputError(problem, source=label, code="wrong-type")


def lazy_frame(table: object, label: str = "a frame") -> pl.LazyFrame:
    """A frame as a lazy Polars frame; arguments and errors as in `polars_frame`."""
    return table if isinstance(table, pl.LazyFrame) else polars_frame(table, label).lazy()


def frames_by_system(table: object, label: str = "a frame") -> dict[str, pl.DataFrame]:
    """The runs of a frame by its column ``system``, in their order; empty without the column.

    >>> runs = pl.DataFrame({"system": ["b", "a", "b"], "doc_id": ["x", "y", "z"]})
    >>> frames_by_system(runs).keys()
    dict_keys(['b', 'a'])
    """
    if not is_frame(table) or "system" not in column_names(table):
        return {}
    parts = polars_frame(table, label).partition_by("system", as_dict=True, include_key=False)
    return {str(name): frame for (name,), frame in parts.items()}


def named_runs(
    runs: object, doc_field: str | None = None, query_field: str | None = None
) -> list[tuple[str | None, Any]]:
    """Each run of one run, several, or ``{name: run}``, with its name, if any.

    Args:
        runs: the runs.
        doc_field: as for ``read_rankings``.
        query_field: as for ``read_rankings``.

    Raises:
        InputError: see ``read_rankings``.
    """
    rankings = runs
    if not any_on_spark(runs):  # those are read there
        rankings = read_rankings(runs, "run", doc_field, query_field)
        rankings = frames_by_system(rankings) or rankings
    if isinstance(rankings, Mapping) and not is_ranking(rankings):
        return [*rankings.items()]
    return [(None, run) for run in (rankings if isinstance(rankings, list | tuple) else [rankings])]


def require_runs(runs: Sequence[object]) -> None:
    """Check that there is a run.

    Raises:
        UsageError: there is none.
    """
    if not runs:
        raise UsageError("no run to score; give at least one.", code="missing-input")


def polars_frame(table: Any, label: str = "a frame") -> pl.DataFrame:
    """A frame as a Polars frame; pandas frames need no pyarrow.

    Args:
        table: a table that `is_frame` accepts.
        label: its name in errors.

    Raises:
        InputError: a column mixes types.
    """
    table = read_table(table, label)
    if isinstance(table, pl.DataFrame | pl.LazyFrame):
        return table if isinstance(table, pl.DataFrame) else table.collect()
    refuse_series(table, label)
    pandas = sys.modules.get("pandas")
    is_pandas = pandas is not None and isinstance(table, pandas.DataFrame)
    try:
        if is_pandas and not find_spec("pyarrow"):
            return pl.DataFrame([_convert_series(str(name), column) for name, column in table.items()])
        return pl.DataFrame(table)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        problem = f"a column mixes types: {str(error).splitlines()[0]}; cast it to one."
        raise InputError(problem, source=label, code="wrong-type") from None


def _convert_series(name: str, column: Any) -> pl.Series:
    """Convert numbers and times as arrays; strings, categories and nullable columns by value."""
    if getattr(column.dtype, "kind", "O") in "biufmM" and hasattr(column.dtype, "byteorder"):
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    values = column.astype(object)
    return pl.Series(name, values.where(column.notna(), None).tolist())


_FRAME_COLUMNS = ("query_id", "doc_id", "grade", "score", "rank")
"""The columns of frames of judgments and runs."""


def one_document_column(names: Iterable[str], label: str) -> None:
    """Check that only one column can hold the ids of documents; ``doc_id`` has priority.

    Raises:
        InputError: several columns could hold the ids, and none is called ``doc_id``.
    """
    columns = document_columns(names)
    if len(columns) > 1 and columns[0].strip().lower() != "doc_id":
        problem = (
            f"{' and '.join(columns)} could both hold the ids of documents; remove one, or name the right "
            f"one with columns: doc={columns[-1]}."
        )
        raise InputError(problem, source=label, code="ambiguous-column")


def rename_columns(table: object, columns: Mapping[str, str] | None) -> Any:
    """A frame with our names; other values unchanged.

    Args:
        table: a frame or anything else.
        columns: ours -> the frame's; columns that the frame lacks are ignored.

    Raises:
        UsageError: a column is not one of ours.
    """
    if not columns:
        return table
    for column in columns:
        if column not in _FRAME_COLUMNS:
            raise UsageError(
                f"frames have no column '{column}' here; use {', '.join(_FRAME_COLUMNS)}.",
                code="missing-column",
            )
    if isinstance(table, list | tuple | Mapping) or not is_frame(table):
        return table
    frame = lazy_frame(table)
    types = frame.collect_schema()
    names = types.names()
    matches = {
        column: next((name for name in (text, *text.split(NAME_SEPARATOR)) if name in names), None)
        for column, text in columns.items()
    }
    source_columns = {column: name for column, name in matches.items() if name is not None}
    ids = document_columns(names) if "doc_id" in source_columns else ()
    other_columns = [name for name in names if name not in {*source_columns, *source_columns.values(), *ids}]
    our_columns = {column: pl.col(source_column) for column, source_column in source_columns.items()}
    has_ranks = "rank" in our_columns and types[source_columns["rank"]].is_numeric()
    if has_ranks and not match_columns(names, ("score",)):
        # a rank that the user names may be a distance, which is not a whole number
        our_columns["score"] = -our_columns.pop("rank").cast(pl.Float64)
    return frame.select(*other_columns, **our_columns)


def is_header(fields: Iterable[str]) -> bool:
    """True if a line contains column names, including a query and a document."""
    return {"query_id", "doc_id"} <= set(match_columns(fields, ("query_id", "doc_id")))


def has_grades(table_columns: Iterable[str]) -> bool:
    """True if columns are those of judgments: with a grade, but without a score or rank.

    A lone ``score`` is the column of a run, although some tools use it for a grade.
    """
    lower_names = {name.strip().lower() for name in table_columns}
    return bool(lower_names & {*ALIASES["grade"]} - {"score"}) and not lower_names & {"score", "sim"}


def missing_column_message(column: str, columns: Sequence[str], noun: str = "column") -> str:
    """The message for a missing column, with its names; it recognises judgments given as a run."""
    names = ", ".join(ALIASES[column][:4])
    problem = f"no {noun} for {column} among {', '.join(columns)}; name one {names}."
    if column == "score" and has_grades(columns):
        return f"{problem} These are judgments, which come before the run."
    return problem


def string_table(rows: Sequence[Mapping[str, str | None]], first: Sequence[str] = ()) -> pl.DataFrame:
    """Rows as a table of strings: the first columns, then all further columns that occur."""
    names = dict.fromkeys([*first, *(name for row in rows for name in row)])
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
