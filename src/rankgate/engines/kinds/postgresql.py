"""PostgreSQL: full text, trigrams, vectors, anything a statement can rank by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.extras import require
from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure, Row, make_answer
from rankgate.data.answers.paths import MISSING
from rankgate.engines.engine import Connection, Engine, Facts, Query
from rankgate.engines.requests.secrets import Secrets

_CONNECT = 10  # seconds
_CANCELLED, _BUSY = "57014", ("08", "40", "53", "57")  # classes of SQLSTATE
_DENIED_CLASSES = ("28", "42")  # login, and names that are not there
_NAME = re.compile(r"%\((\w+)\)s")
_SCHEMA = """
SELECT (
    SELECT string_agg(table_name || '.' || column_name || ':' || data_type, ','
        ORDER BY table_name, ordinal_position)
    FROM information_schema.columns WHERE table_schema = ANY (current_schemas(false))
), (
    SELECT string_agg(indexdef, ';' ORDER BY indexdef)
    FROM pg_indexes WHERE schemaname = ANY (current_schemas(false))
), current_setting('default_text_search_config')
"""
_CHANGES = """
SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint
FROM pg_stat_all_tables WHERE relid = ANY (%s::oid[])
"""


def _relations(plan: Any) -> Iterator[str]:
    """The tables that a plan reads, with their schemas."""
    if isinstance(plan, list):
        for plan_node in plan:
            yield from _relations(plan_node)
    elif isinstance(plan, dict):
        if "Relation Name" in plan:
            yield f'"{plan.get("Schema", "public")}"."{plan["Relation Name"]}"'
        yield from _relations([plan.get("Plan", []), plan.get("Plans", [])])


@dataclass(frozen=True, kw_only=True)
class PostgreSql(Engine):
    """A statement of PostgreSQL that gives id, score (higher is better) and fields.

    Attributes:
        dsn: How to connect, such as "host=localhost dbname=shop password=${PGPASSWORD}".
        sql: The statement, with %(query)s, %(depth)s and the parameters, as in %(weight)s; a
            percent sign is written %%.
    """

    engine_kind: ClassVar[str] = "postgresql"
    title: ClassVar[str] = "PostgreSQL: full text, trigrams, pgvector"
    source: ClassVar[str] = "https://www.postgresql.org/docs/current/textsearch.html"

    dsn: str
    sql: str

    def check(self) -> None:
        """Refuse a statement without the query, and names without a value."""
        used_names = set(_NAME.findall(self.sql))
        if "query" not in used_names:
            raise UsageError("the statement does not hold %(query)s.", code="invalid-engine")
        self.refuse_unknown(used_names)

    def uses(self) -> frozenset[str]:
        """The names of the statement."""
        return frozenset(_NAME.findall(self.sql))

    def execute(self, statement: str) -> None:
        """Carry out one statement or several, each in its own transaction."""
        connection = _Session(self)
        connection.execute(statement)

    def connect(self) -> Connection:
        """A connection, made when it is first needed; read only."""
        require("PostgreSQL needs psycopg", "psycopg")
        return _Session(self)


class _Session(Connection):
    def __init__(self, engine: PostgreSql) -> None:
        self._engine = engine
        self._dsn = Secrets().resolved(engine.dsn)
        self._open: Any = None

    def ask(self, query: Query) -> Answer | Failure:
        import psycopg

        try:
            cursor = self._connected().execute(self._engine.sql, self._engine.known(query))
            names = [column.name for column in cursor.description or ()]
            rows = cursor.fetchmany(self._engine.depth)
        except psycopg.Error as error:
            return self._failure(error)
        except (KeyError, TypeError) as error:
            return Failure("fatal", f"the statement needs a parameter: {error}")
        field_names = names[2:]
        return make_answer(
            Row(
                row[0],
                row[1] if len(row) > 1 else MISSING,
                dict(zip(field_names, row[2:], strict=True)),
            )
            for row in rows
        )

    def facts(self) -> Facts:
        version = self._known("SHOW server_version", [])
        schema = self._known(_SCHEMA, [])
        if version is None or schema is None:
            return Facts()
        tables = self._tables()
        changes = self._known(_CHANGES, [tables])
        return Facts(
            f"postgresql {version[0]}",
            self._documents(tables),
            sha256(repr(schema).encode()).hexdigest()[:12],
            f"change {changes[0]}" if tables and changes and changes[0] is not None else "",
        )

    def _known(self, statement: str, values: list[Any]) -> tuple[Any, ...] | None:
        """The first row of a statement; None where the server does not answer it."""
        import psycopg

        try:
            row: tuple[Any, ...] | None = self._connected().execute(statement, values).fetchone()
        except psycopg.Error:
            return None
        return row

    def _tables(self) -> list[int]:
        """The tables that the statement reads, by the server's plan."""
        import psycopg

        try:
            cursor = psycopg.ClientCursor(self._connected())
            cursor.execute(
                f"EXPLAIN (FORMAT JSON, VERBOSE) {self._engine.sql}",
                self._engine.known(Query("", "text")),
            )
            plan = cursor.fetchone()
            names = sorted(set(_relations(plan[0] if plan else [])))
        except psycopg.Error:
            return []
        rows = (self._known("SELECT to_regclass(%s)::oid", [name]) for name in names)
        return [row[0] for row in rows if row and row[0] is not None]

    def _documents(self, tables: list[int]) -> int | None:
        """The rows of the table, where the statement reads one and counting them is in time."""
        name = self._known("SELECT %s::oid::regclass::text", tables) if len(tables) == 1 else None
        row = self._known(f"SELECT count(*) FROM {name[0]}", []) if name else None  # noqa: S608 - quoted by the server
        return int(row[0]) if row else None

    def execute(self, statement: str) -> None:
        import psycopg

        try:
            with psycopg.connect(self._dsn, autocommit=True, connect_timeout=_CONNECT) as session:
                session.execute(statement.encode())
        except psycopg.Error as error:
            raise UsageError(
                f"PostgreSQL: {str(error).strip()}.", code="statement-failed"
            ) from None

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connected(self) -> Any:
        import psycopg

        if self._open is None or self._open.closed:
            milliseconds = int(self._engine.timeout * 1000)
            self._open = psycopg.connect(
                self._dsn,
                autocommit=True,
                connect_timeout=_CONNECT,
                options=f"-c statement_timeout={milliseconds} -c default_transaction_read_only=on",
            )
        return self._open

    def _failure(self, error: Any) -> Failure:
        code = error.sqlstate or ""
        if code == _CANCELLED:
            return Failure("again", f"no answer within {self._engine.timeout:g} seconds")
        message = str(error)
        if not code or code.startswith(_BUSY):
            self.close()
            denied = "authentication failed" in message or "does not exist" in message
            return Failure("fatal" if denied else "again", f"PostgreSQL: {message}")
        return Failure(
            "fatal" if code.startswith(_DENIED_CLASSES) else "refused", f"PostgreSQL: {message}"
        )
