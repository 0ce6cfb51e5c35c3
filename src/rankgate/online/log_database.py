"""DuckDB, the database that reads logs; only this module imports it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, require

if TYPE_CHECKING:
    import duckdb
    import polars as pl


MEMORY = "2GB"
"""The memory that DuckDB may take before it uses the disk."""

SUM_UNIT, SUM_LIMIT = 2.0**60, 2.0**32
"""Numbers below the limit are added as multiples of 1 / SUM_UNIT: see `exact_sum`."""


def exact_sum(column: Any, condition: Any = None) -> Any:  # noqa: ANN401 - columns of Ibis
    """The sum of a column of numbers, the same in any order of the rows.

    Threads add floats in a different order every time, so that the last digit of their sum differs
    between equal calls. Sums of whole numbers have no such error: floats are added as multiples of
    2⁻⁶⁰, which is exact for sizes from 2⁻⁸ to 2³². Larger numbers, infinity and NaN are added as
    floats.

    Args:
        column: the column of an expression of Ibis.
        condition: the condition of the rows that are added; all by default.
    """
    import ibis

    if not column.type().is_floating():
        return column.sum(where=condition)
    is_small = column.abs() < SUM_LIMIT
    unit_counts = ibis.cases((is_small, (column * SUM_UNIT).cast("decimal(38, 0)")), else_=None)
    large_values = ibis.cases((is_small, None), else_=column)
    small_sum = unit_counts.sum(where=condition).cast("float64") / SUM_UNIT
    large_sum = large_values.sum(where=condition)
    return ibis.coalesce(small_sum + large_sum, small_sum, large_sum)


@lru_cache(maxsize=512)
def _sql(operation: Any, dialect: str) -> str:  # noqa: ANN401 - Ibis
    """The SQL of an operation of Ibis; equal operations of several calls are compiled once."""
    import ibis

    return str(ibis.to_sql(operation.to_expr(), dialect=dialect))


class Database:
    """A DuckDB database in memory that spills to a temporary folder.

    Attributes:
        connection: the connection of DuckDB.
        folder: the folder for temporary files; removed with the database.
        dialect: Ibis's name of the SQL dialect.
        time_zone: the time zone of dates.
    """

    dialect = "duckdb"
    time_zone = "UTC"

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: str) -> None:
        self.connection = connection
        self.folder = folder

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""
        with _translated_errors():
            self.connection.execute(sql, list(values))

    def use_zone(self, time_zone: str) -> None:
        """Set the time zone of dates, days and weeks.

        Raises:
            InputError: no such time zone.
        """
        self.run(f"SET TimeZone = {quote_text(time_zone)}")
        self.time_zone = time_zone

    def rows(self, sql: str, values: Sequence[object] = ()) -> pl.DataFrame:
        """The rows of a query; times with a zone are in UTC."""
        import polars.selectors as cs

        with _translated_errors():
            table: pl.DataFrame = self.connection.sql(sql, params=list(values) or None).pl()
        return table.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))

    def text(self, expression: Any) -> str:  # noqa: ANN401 - Ibis
        """The SQL of an Ibis expression for this database."""
        return _sql(expression.op(), self.dialect)

    def keep(self, name: str, expression: object) -> None:
        """Make a temporary table of an expression of Ibis."""
        self.run(f"CREATE OR REPLACE TEMP TABLE {name} AS {self.text(expression)}")

    def first_value(self, sql: str, values: Sequence[object] = ()) -> Any:  # noqa: ANN401 - any column
        """The first value of a query; None without rows."""
        rows = self.rows(sql, values)
        return rows.item(0, 0) if len(rows) else None


# in SQL, of numbers that are far below 2⁶⁴ in all; the function takes all numbers
_EXACT_SUM = (
    "CREATE TEMP MACRO exact_sum(fraction) AS CAST(sum(CAST(fraction * "
    f"{SUM_UNIT:.0f} AS DECIMAL(38, 0))) AS DOUBLE) / {SUM_UNIT:.0f}"
)

_DAMAGED = re.compile(r"(?i)magic bytes|too small|corrupt|invalid|parquet|snappy|zstd|gzip")
_DAMAGED_FILE = "check that the file is whole", "damaged-file"
_UNREADABLE_FILE = "check the path, its permissions and the space on the disk", "cannot-read"


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Turn DuckDB's errors about files and values of users into ours.

    Raises:
        InputError: a damaged file, a missing column, a value of the wrong type.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        about_files = (
            duckdb.IOException,
            duckdb.InvalidInputException,
            duckdb.ConversionException,
            duckdb.HTTPException,
            duckdb.SerializationException,
        )
        if not isinstance(error, about_files) and type(error) is not duckdb.Error:  # damage has no class
            raise
        message = str(error).splitlines()[0].rstrip(".")
        outside = isinstance(error, duckdb.IOException) and not _DAMAGED.search(message)
        remedy, code = _UNREADABLE_FILE if outside else _DAMAGED_FILE
        raise InputError(f"{message}; {remedy}.", code=code) from None


@contextmanager
def open_database(memory: str = MEMORY, threads: int | None = None) -> Iterator[Database]:
    """Open a database for a verb.

    Args:
        memory: the largest memory, as in ``"3GB"``.
        threads: the number of threads; by default one for each core.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """
    require("logs are read by DuckDB", "duckdb")
    import duckdb

    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        connection = duckdb.connect(config={"memory_limit": memory, "temp_directory": folder})
        try:
            connection.execute("SET TimeZone = 'UTC'")
            # in a notebook without ipywidgets DuckDB has no bar, and refuses to switch it off
            with suppress(duckdb.InvalidInputException):
                connection.execute("SET enable_progress_bar = false")
            connection.execute(_EXACT_SUM)
            if threads:
                connection.execute(f"SET threads = {int(threads)}")
            yield Database(connection, folder)
        finally:
            connection.close()


def quote_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + str(text).replace("'", "''") + "'"


def quote_identifier(column: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + column.replace('"', '""') + '"'
