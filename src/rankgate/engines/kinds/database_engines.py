"""Engines of databases: PostgreSQL, and SQLite's full-text search, FTS5.

PostgreSQL ranks by full text, trigrams, vectors, anything a statement can rank by.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from rankgate.core.errors import UsageError, require
from rankgate.core.frozen import dataclass
from rankgate.core.value_types import Json
from rankgate.data.answers.engine_answers import MISSING, Answer, Failure, Row, make_answer
from rankgate.engines.engine import Connection, Engine, Facts, Query
from rankgate.engines.requests.secrets import Secrets, fill, template_names, value_text

_CONNECT = 10  # seconds
_PORT = "5432"
_CONNECTION_KEYWORDS = frozenset(
    {"host", "port", "dbname", "user", "password", "sslmode", "connect_timeout", "application_name"}
)
_CANCELLED, _BUSY = "57014", ("08", "40", "53", "57")  # classes of SQLSTATE
_DENIED_CLASSES = ("28", "42")  # login, and names that do not exist
_PYTHON_PARAMETER = re.compile(r"%\((\w+)\)s")
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


def _relations(plan: object) -> Iterator[str]:
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
        dsn: The connection string, such as "host=localhost dbname=shop password=${PGPASSWORD}".
        sql: The statement, with %(query)s, %(depth)s and the parameters, as in %(weight)s; a
            percent sign is written %%. A list is an array, as in %(vector)s::vector; an object is jsonb.
    """

    engine_kind = "postgresql"
    title = "PostgreSQL: full text, trigrams, pgvector"
    source = "https://www.postgresql.org/docs/current/textsearch.html"

    dsn: str
    sql: str

    def request_names(self) -> frozenset[str]:
        """The names in the statement."""
        return frozenset(_PYTHON_PARAMETER.findall(self.sql))

    def check(self) -> None:
        """Refuse a statement that is the same for all queries, and names without a value."""
        self.refuse_same_request()
        self.refuse_unknown(self.request_names())

    def addresses(self) -> tuple[str, ...]:
        """Every host of the connection string, which must state host, user and password.

        Values that the string leaves out would come from the environment of the process; other
        keywords read files or connect to other hosts.
        """
        require("PostgreSQL needs psycopg", "psycopg")
        from psycopg import ProgrammingError, conninfo

        try:
            keywords = conninfo.conninfo_to_dict(Secrets().resolved(self.dsn))
        except ProgrammingError:
            problem = "the connection string cannot be read; write host=… dbname=… user=…"
            raise UsageError(problem, code="invalid-engine") from None
        for name in ("host", "user", "password"):
            if not keywords.get(name):
                problem = f"the connection string has no {name}."
                raise UsageError(problem, code="invalid-engine")
        if unknown_names := sorted(set(keywords) - _CONNECTION_KEYWORDS):
            problem = f"the connection string may not hold {unknown_names[0]}."
            raise UsageError(problem, code="invalid-engine")
        hosts = str(keywords["host"]).split(",")
        ports = str(keywords.get("port") or _PORT).split(",")
        ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
        return tuple(f"{host.lower()}:{port}" for host, port in zip(hosts, ports, strict=True))

    def uses(self) -> frozenset[str]:
        """The names of the statement."""
        return self.request_names()

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
            cursor = self._connected().execute(self._engine.sql, self._values(query))
            names = [column.name for column in cursor.description or ()]
            rows = cursor.fetchmany(self._engine.depth)
        except psycopg.Error as error:
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
        except (KeyError, TypeError) as error:
            return Failure("fatal", f"the statement needs a parameter: {error}")
        field_names = names[2:]
        return make_answer(
            Row(row[0], row[1] if len(row) > 1 else MISSING, dict(zip(field_names, row[2:], strict=True)))
            for row in rows
        )

    def facts(self) -> Facts:
        version = self._first_row("SHOW server_version", [])
        schema = self._first_row(_SCHEMA, [])
        if version is None or schema is None:
            return Facts()
        tables = self._tables()
        changes = self._first_row(_CHANGES, [tables])
        # the row count of the table, if the statement reads one table and the count is in time
        name = self._first_row("SELECT %s::oid::regclass::text", tables) if len(tables) == 1 else None
        row = self._first_row(f"SELECT count(*) FROM {name[0]}", []) if name else None  # noqa: S608 - quoted by the server
        return Facts(
            f"postgresql {version[0]}",
            int(row[0]) if row else None,
            sha256(repr(schema).encode()).hexdigest()[:12],
            f"change {changes[0]}" if tables and changes and changes[0] is not None else "",
        )

    def _values(self, query: Query) -> dict[str, Any]:
        return {name: _adapt(value) for name, value in self._engine.known(query).items()}

    def _first_row(self, statement: str, values: list[Any]) -> tuple[Any, ...] | None:
        """The first row of a statement; None if the server does not answer it."""
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
                f"EXPLAIN (FORMAT JSON, VERBOSE) {self._engine.sql}", self._values(Query("", "text"))
            )
            plan = cursor.fetchone()
            names = sorted(set(_relations(plan[0] if plan else [])))
        except psycopg.Error:
            return []
        rows = (self._first_row("SELECT to_regclass(%s)::oid", [name]) for name in names)
        return [row[0] for row in rows if row and row[0] is not None]

    def execute(self, statement: str) -> None:
        import psycopg

        try:
            with psycopg.connect(self._dsn, autocommit=True, connect_timeout=_CONNECT) as session:
                session.execute(statement.encode())
        except psycopg.Error as error:
            raise UsageError(f"PostgreSQL: {str(error).strip()}.", code="statement-failed") from None

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


def _adapt(value: Any) -> Any:
    """A value for PostgreSQL: an array of one type of numbers for a list, jsonb for an object."""
    from psycopg.types.json import Jsonb

    if isinstance(value, list) and {*map(type, value)} == {int, float}:
        return [*map(float, value)]
    return Jsonb(value) if isinstance(value, dict) else value


def _authorize(action: int, *_: str | None) -> int:
    """Refuse other files: a statement could attach them, and then read and write them."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


_WORD = re.compile(r"\w+")
_COLON_PARAMETER = re.compile(r":(\w+)")
_COUNTER = 24  # the offset of a file's change counter
_STEPS = 10_000  # steps of SQLite's virtual machine between two checks of the clock


@dataclass(frozen=True, kw_only=True)
class Sqlite(Engine):
    """A table of SQLite's FTS5, ranked by BM25, or any statement.

    Attributes:
        database: The file.
        table: The FTS5 table.
        id: The column of document ids; the rowid without it.
        match: The way the words of a query become an FTS5 expression: any of them (``or``), all
            (``and``), as a phrase, or the query as it is (``raw``).
        weights: A weight for each column in bm25(), as in [10, 1]; numbers or names in braces.
        sql: A statement instead, which gives id, score (higher is better) and fields; it may
            use :query, :depth and the parameters; lists and objects are JSON text.
    """

    engine_kind = "sqlite"
    title = "SQLite's full-text search, FTS5"
    source = "https://www.sqlite.org/fts5.html"

    database: str = field(metadata={"path": True})
    table: str | None = None
    id: str | None = None
    match: Literal["or", "and", "phrase", "raw"] = "or"
    weights: list[Any] = field(default_factory=list)
    sql: str | None = None

    def addresses(self) -> tuple[str, ...]:
        """None: the engine reads its file only."""
        return ()

    def check(self) -> None:
        """Require either a table or a statement, not both."""
        if (self.table is None) == (self.sql is None):
            raise UsageError("give either table or sql.", code="invalid-engine")
        self.refuse_unknown(template_names(self.weights))

    def connect(self) -> Connection:
        """Open the database, read only."""
        uri = f"file:{quote(self.database)}?mode=ro"
        try:
            database = sqlite3.connect(uri, uri=True, timeout=self.timeout, check_same_thread=False)
            database.execute("SELECT name FROM sqlite_master LIMIT 1").fetchall()
            database.set_authorizer(_authorize)
            if self.sql is not None:
                self._refuse_unbound(database, self.sql)
        except sqlite3.Error as error:
            name = Path(self.database).name  # the folder is the server's, for engines of projects
            raise UsageError(f"{name}: {error}.", code="cannot-read") from None
        return _Database(self, database)

    def _refuse_unbound(self, database: sqlite3.Connection, sql: str) -> None:
        """Refuse a statement with names that have no value; SQLite checks it."""
        try:
            database.execute(f"EXPLAIN {sql}", self.known(Query("", "")))
        except sqlite3.ProgrammingError as error:
            raise UsageError(f"{error} Give it in [engine.parameters].", code="unknown-parameter") from None
        except sqlite3.Error:
            return  # other errors are reported with the first query

    def uses(self) -> frozenset[str]:
        """The names of the weights and of the statement."""
        return frozenset([*template_names(self.weights), *_COLON_PARAMETER.findall(self.sql or "")])

    def execute(self, statement: str) -> None:
        """Carry out one statement or several."""
        try:
            with closing(sqlite3.connect(self.database, timeout=self.timeout)) as database:
                database.executescript(statement)
        except sqlite3.Error as error:
            raise UsageError(f"SQLite: {error}.", code="statement-failed") from None

    def parameters_of(self, query: Query) -> dict[str, Json]:
        """The parameters; lists and objects as JSON text, which SQLite's functions read."""
        return {
            name: value_text(value) if isinstance(value, list | dict) else value
            for name, value in super().parameters_of(query).items()
        }

    def expression(self, text: str) -> str:
        """The query as an FTS5 expression; each word is quoted, so that it is not an operator."""
        if self.match == "raw":
            return text
        quoted_words = [f'"{word}"' for word in _WORD.findall(text)]
        if self.match == "phrase":
            return '"' + " ".join(_WORD.findall(text)) + '"' if quoted_words else ""
        return f" {self.match.upper()} ".join(quoted_words)

    def statement(self, columns: list[str], weights: list[float]) -> str:
        """The statement of a table."""
        assert self.table is not None
        table = _quoted(self.table)
        field_columns = "".join(f", {_quoted(str(name))}" for name in columns)
        key = "rowid" if self.id is None else _quoted(self.id)
        score = ", ".join([table, *(repr(float(weight)) for weight in weights)])
        return (
            f"SELECT {key}, -bm25({score}) AS score{field_columns} FROM {table} "  # noqa: S608 - quoted
            f"WHERE {table} MATCH :query ORDER BY score DESC, rowid LIMIT :depth"
        )


class _Database(Connection):
    def __init__(self, engine: Sqlite, database: sqlite3.Connection) -> None:
        self._engine, self._database = engine, database

    def ask(self, query: Query) -> Answer | Failure:
        engine, names = self._engine, list(self._engine.fields)
        values = engine.known(query)
        text = engine.expression(query.text) if engine.sql is None else query.text
        if engine.sql is None and not text:
            return Answer(())
        end = time.monotonic() + engine.timeout
        self._database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        try:
            sql = engine.sql or engine.statement(
                [str(engine.fields[name]) for name in names], fill(engine.weights, values)
            )
            cursor = self._database.execute(sql, {**values, "query": text})
            if engine.sql is not None:
                names = [column[0] for column in cursor.description[2:]]
            rows = cursor.fetchmany(engine.depth)
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                return Failure("again", f"no answer within {engine.timeout:g} seconds")
            return Failure(_failure_kind(error), f"SQLite: {error}")
        except (sqlite3.Error, KeyError, ValueError, TypeError) as error:
            return Failure("refused", f"SQLite: {error}")
        return make_answer(
            Row(row[0], row[1] if len(row) > 1 else MISSING, dict(zip(names, row[2:], strict=True)))
            for row in rows
        )

    def facts(self) -> Facts:
        engine = self._engine
        version = sqlite3.sqlite_version
        schema = self._first_row("SELECT group_concat(sql, ';') FROM sqlite_master")
        documents = None
        if engine.table is not None:
            documents = self._first_row(f"SELECT count(*) FROM {_quoted(engine.table)}")  # noqa: S608
        settings = sha256(str(schema).encode()).hexdigest()[:12]
        return Facts(version, documents, settings, _changes(Path(engine.database)))

    def close(self) -> None:
        self._database.close()

    def _first_row(self, sql: str) -> Any:
        try:
            return self._database.execute(sql).fetchone()[0]
        except (sqlite3.Error, TypeError):
            return None


def _changes(database: Path) -> str:
    """The file's change counter, and the time of its write-ahead log, if it has one."""
    log = database.with_name(f"{database.name}-wal")
    try:
        with database.open("rb") as file:
            file.seek(_COUNTER)
            count = int.from_bytes(file.read(4), "big")
        state = log.stat()
    except FileNotFoundError:
        return f"change {count}"
    return f"change {count}, log {state.st_mtime_ns}" if state.st_size else f"change {count}"


def _quoted(name: str) -> str:
    """The quoted name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _failure_kind(error: sqlite3.OperationalError) -> Any:
    """The kind of failure: a missing table fails every query; a locked file only for some time."""
    message = str(error)
    if "no such" in message:
        return "fatal"
    return "again" if "locked" in message or "busy" in message else "refused"
