"""Tables of events in a file of DuckDB or in PostgreSQL, which are aggregated where they are.

A table of DuckDB is ``FILE:TABLE``, one of PostgreSQL ``postgresql://USER@HOST/DATABASE#TABLE``. The
password comes from where PostgreSQL's own programs take it: ``PGPASSWORD``, ``~/.pgpass``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rankgate.core.errors import InputError, UsageError, require
from rankgate.core.frozen import dataclass
from rankgate.data.streams.source import split_table
from rankgate.online.log_database import Database, quote_identifier, quote_text

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl
    import psycopg

_POSTGRESQL = ("postgresql://", "postgres://")
_MAGIC = slice(8, 12)  # DUCK in the file of a database
_ATTACHED = "source"


@dataclass(frozen=True)
class WarehouseTable:
    """A table of a database.

    Attributes:
        address: the file of DuckDB, or the address of PostgreSQL without the table.
        name: the table, with its schema as ``SCHEMA.TABLE`` if it has one.
    """

    address: str
    name: str

    @property
    def is_postgresql(self) -> bool:
        """True for a table of PostgreSQL."""
        return self.address.startswith(_POSTGRESQL)

    @property
    def label(self) -> str:
        """The name of the table for errors and results, without the address and its secrets."""
        return self.name if self.is_postgresql else f"{self.address}:{self.name}"

    @property
    def path(self) -> tuple[str, str]:
        """The schema, empty if none is named, and the table."""
        schema, _, table = self.name.rpartition(".")
        return schema, table


def find_warehouse_table(log: object) -> WarehouseTable | None:
    """The table of a database that a log names; None for files and others.

    Raises:
        UsageError: an address of PostgreSQL without a table, or with a password.
    """
    if not isinstance(log, str | Path):
        return None
    text = str(log)
    if text.startswith(_POSTGRESQL):
        address, _, table = text.partition("#")
        if not table:
            problem = "name the table after the address, as in postgresql://USER@HOST/DATABASE#TABLE."
            raise UsageError(problem, code="missing-table")
        if urlsplit(address).password:
            problem = "an address holds no password; give it as PGPASSWORD, or in ~/.pgpass."
            raise UsageError(problem, code="secret-in-address")
        return WarehouseTable(address, table)
    path, table = split_table(log)
    if not table:
        return None
    with path.open("rb") as stream:
        is_duckdb = stream.read(_MAGIC.stop)[_MAGIC] == b"DUCK"
    return WarehouseTable(str(path), table) if is_duckdb else None


def attach(base: Database, table: WarehouseTable) -> ir.Table:
    """The table of a file of DuckDB, which is attached read-only.

    Raises:
        InputError: the file cannot be opened, or has no such table.
    """
    import duckdb

    try:
        base.connection.execute(f"ATTACH {quote_text(table.address)} AS {_ATTACHED} (READ_ONLY)")
    except duckdb.Error as error:
        problem = f"cannot be opened: {str(error).splitlines()[0]}"
        raise InputError(problem, source=table.address, code="cannot-read") from None
    schema, name = table.path
    return _table(base, table, _ATTACHED, schema or "main", name)


def _table(base: Database, table: WarehouseTable, catalog: str | None, schema: str, name: str) -> ir.Table:
    """The table with its columns and their types."""
    import ibis
    from ibis.backends.sql.datatypes import DuckDBType, PostgresType

    condition = f"table_catalog = {quote_text(catalog)}" if catalog else "true"
    rows = base.rows(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = "
        f"{quote_text(name)} AND table_schema = {quote_text(schema)} AND {condition} ORDER BY "
        "ordinal_position"
    )
    if not len(rows):
        names = base.rows(
            f"SELECT DISTINCT table_name FROM information_schema.tables WHERE table_schema = "
            f"{quote_text(schema)} AND {condition} ORDER BY 1"
        )["table_name"].to_list()
        problem = f"there is no table {table.name}; there are {', '.join(names) or 'none'}."
        raise InputError(problem, source=table.label, code="missing-table")
    types = PostgresType if table.is_postgresql else DuckDBType
    columns = {column: types.from_string(kind) for column, kind in rows.iter_rows()}
    return ibis.table(columns, name=name, catalog=catalog, database=schema)


@contextmanager
def open_postgresql(table: WarehouseTable) -> Iterator[tuple[PostgreSqlDatabase, ir.Table]]:
    """Open a session of PostgreSQL, and its table; only temporary tables are made.

    Raises:
        InputError: the database cannot be reached, or has no such table.
        MissingExtraError: psycopg is not installed.
    """
    require("logs in PostgreSQL need psycopg", "psycopg")
    import psycopg
    from psycopg.types.json import set_json_loads
    from psycopg.types.numeric import FloatLoader

    try:
        connection = psycopg.connect(table.address, autocommit=True, application_name="rankgate")
    except psycopg.Error as error:
        problem = f"PostgreSQL cannot be reached: {str(error).strip().splitlines()[0].rstrip('.')}."
        raise InputError(problem, source=table.label, code="cannot-read") from None
    connection.adapters.register_loader("numeric", FloatLoader)
    set_json_loads(lambda text: text if isinstance(text, str) else bytes(text).decode(), connection)
    with connection:
        base = PostgreSqlDatabase(connection)
        base.use_zone("UTC")
        schema, name = table.path
        schema = schema or base.first_value("SELECT current_schema()")
        yield base, _table(base, table, None, schema, name)


SAMPLE_ROWS = 100_000
"""The rows of a table of which a mapping is made."""


def write_sample(base: Database, table: WarehouseTable, target: Path) -> None:
    """Write the first rows of a table as Parquet, for the guess of a mapping.

    Args:
        base: DuckDB, to which a file of DuckDB is attached.
        table: the table.
        target: the file.

    Raises:
        InputError: the database cannot be reached, or has no such table.
    """
    if table.is_postgresql:
        with open_postgresql(table) as (database, source):
            database.rows(database.text(source.limit(SAMPLE_ROWS))).write_parquet(target)
    else:
        sql = base.text(attach(base, table).limit(SAMPLE_ROWS))
        base.run(f"COPY ({sql}) TO {quote_text(str(target))} (FORMAT parquet)")


class PostgreSqlDatabase(Database):
    """PostgreSQL with the interface of a database; made tables are temporary."""

    dialect = "postgres"

    def __init__(self, session: psycopg.Connection[Any]) -> None:
        self._session = session

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""
        self._execute(sql, values)

    def use_zone(self, time_zone: str) -> None:
        """Set the time zone of dates, days and weeks."""
        self.run(f"SET TIME ZONE {quote_text(time_zone)}")
        self.time_zone = time_zone

    def rows(self, sql: str, values: Sequence[object] = ()) -> pl.DataFrame:
        """The rows of a query; times with a zone are in UTC."""
        import polars as pl
        from psycopg import postgres

        polars_types: dict[str, Any] = {
            **dict.fromkeys(("int2", "int4", "int8"), pl.Int64),
            **dict.fromkeys(("float4", "float8", "numeric"), pl.Float64),
            **dict.fromkeys(("text", "varchar", "name"), pl.String),
            "bool": pl.Boolean,
            "date": pl.Date,
            "timestamp": pl.Datetime("us"),
            "timestamptz": pl.Datetime("us", "UTC"),
        }
        cursor = self._execute(sql, values)
        columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(cursor.description)
        series = []
        for column, rows in zip(cursor.description, columns, strict=True):
            kind = polars_types.get(getattr(postgres.types.get(column.type_code), "name", ""))
            texts = rows if kind else [None if value is None else str(value) for value in rows]
            series.append(pl.Series(column.name, texts, kind or pl.String))
        return pl.DataFrame(series)

    def text(self, expression: Any) -> str:  # noqa: ANN401 - of Ibis
        """The SQL of an Ibis expression, with casts as PostgreSQL has them.

        A boolean becomes an integer, but no other number. A float becomes a decimal with 15 digits,
        so that the units of `exact_sum` are multiplied afterwards.
        """
        import ibis
        from ibis.expr import datatypes, operations

        def replace_casts(node: Any, values: Any) -> Any:  # noqa: ANN401 - operations of Ibis
            node = node.__recreate__(values) if values else node
            if not isinstance(node, operations.Cast):
                return node
            if node.arg.dtype.is_boolean() and node.to.is_numeric():
                return operations.Cast(operations.Cast(node.arg, datatypes.int32), node.to)
            if node.to.is_decimal() and isinstance(node.arg, operations.Multiply):
                unit = operations.Cast(node.arg.right, node.to)
                return operations.Multiply(operations.Cast(node.arg.left, datatypes.Decimal()), unit)
            return node

        operation = expression.op().replace(replace_casts)
        return str(ibis.to_sql(operation.to_expr(), dialect=self.dialect))

    def keep(self, name: str, expression: Any) -> None:  # noqa: ANN401 - of Ibis
        """Make a temporary table of an expression of Ibis."""
        self.run(f"DROP TABLE IF EXISTS pg_temp.{quote_identifier(name)}")
        self.run(f"CREATE TEMP TABLE {quote_identifier(name)} AS {self.text(expression)}")
        self.run(f"ANALYZE {quote_identifier(name)}")

    def _execute(self, sql: str, values: Sequence[object]) -> Any:  # noqa: ANN401 - a cursor of psycopg
        import psycopg

        try:
            return self._session.execute(sql.encode(), values or None)
        except psycopg.Error as error:
            message = str(error).strip().splitlines()[0].rstrip(".")
            if "levenshtein" in message:
                problem = (
                    "KPIs of reformulated searches need the extension fuzzystrmatch: run CREATE EXTENSION "
                    "fuzzystrmatch in the database, or name other KPIs with -k."
                )
                raise InputError(problem, source="PostgreSQL", code="missing-extension") from None
            if isinstance(error, psycopg.DataError):
                problem = f"a value cannot be read: {message}; check the columns of the mapping."
                raise InputError(problem, source="PostgreSQL", code="wrong-type") from None
            problem = (
                f"PostgreSQL does not compute this ({message}); it computes kpi, ab, plan and watch. For "
                "others export the table, and read the file."
            )
            raise UsageError(problem, code="not-in-postgresql") from None
