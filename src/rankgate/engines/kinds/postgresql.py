"""PostgreSQL: full text, trigrams, vectors, anything a statement can rank by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, ClassVar

from rankgate.engines.engine import Answer, Connection, Engine, Facts, Query
from rankgate.engines.failure import Failure
from rankgate.engines.hits import answer
from rankgate.engines.paths import MISSING
from rankgate.engines.secrets import Secrets
from rankgate.errors import MissingExtraError, UsageError

_CONNECT = 10  # seconds
_CANCELLED, _BUSY = "57014", ("08", "40", "53", "57")  # classes of SQLSTATE
_DENIED = ("28", "42")  # login, and names that are not there
_NAME = re.compile(r"%\((\w+)\)s")
_SCHEMA = """
SELECT string_agg(table_name || '.' || column_name || ':' || data_type, ','
    ORDER BY table_name, ordinal_position)
FROM information_schema.columns WHERE table_schema = ANY (current_schemas(false))
"""


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
        used = set(_NAME.findall(self.sql))
        if "query" not in used:
            raise UsageError("the statement does not hold %(query)s.", code="invalid-engine")
        self.refuse_unknown(used)

    def uses(self) -> frozenset[str]:
        """The names of the statement."""
        return frozenset(_NAME.findall(self.sql))

    def execute(self, statement: str) -> None:
        """Carry out one statement or several, each in its own transaction."""
        connection = _Session(self)
        connection.execute(statement)

    def connect(self) -> Connection:
        """A connection, made when it is first needed; read only."""
        try:
            import psycopg  # noqa: F401
        except ImportError:
            message = "PostgreSQL needs psycopg; pip install 'rankgate[postgresql]'."
            raise MissingExtraError(message) from None
        return _Session(self)


class _Session(Connection):
    def __init__(self, engine: PostgreSql) -> None:
        self._engine, self._secrets = engine, Secrets()
        self._dsn = self._secrets.resolved(engine.dsn)
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
        shown = names[2:]
        return answer(
            (row[0], row[1] if len(row) > 1 else MISSING, dict(zip(shown, row[2:], strict=True)))
            for row in rows
        )

    def facts(self) -> Facts:
        import psycopg

        try:
            version = self._connected().execute("SHOW server_version").fetchone()[0]
            schema = self._connected().execute(_SCHEMA).fetchone()[0]
        except psycopg.Error:
            return Facts()
        return Facts(f"postgresql {version}", None, sha256(str(schema).encode()).hexdigest()[:12])

    def execute(self, statement: str) -> None:
        import psycopg

        try:
            with psycopg.connect(self._dsn, autocommit=True, connect_timeout=_CONNECT) as session:
                session.execute(statement.encode())
        except psycopg.Error as error:
            words = " ".join(self._secrets.scrubbed(str(error)).split())
            raise UsageError(f"PostgreSQL: {words}.", code="statement-failed") from None

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
        words = " ".join(self._secrets.scrubbed(str(error)).split())
        if not code or code.startswith(_BUSY):
            self.close()
            denied = "authentication failed" in words or "does not exist" in words
            return Failure("fatal" if denied else "again", f"PostgreSQL: {words}")
        return Failure("fatal" if code.startswith(_DENIED) else "refused", f"PostgreSQL: {words}")
