"""Column types that are the same in SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
"""All tables; constraints have names, so that migrations can change the constraints."""

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""The type of row numbers; SQLite increments only columns of type INTEGER."""

OBJECT = sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""The type of JSON values."""


class Moment(sa.types.TypeDecorator[datetime]):
    """A timestamp in UTC to the microsecond, with the same order in both databases."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the timestamp as UTC without its zone."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the timestamp with its zone."""
        return None if value is None else value.replace(tzinfo=UTC)


def row_id() -> sa.Column[int]:
    """A column with the number of a row."""
    return sa.Column("id", NUMBER, primary_key=True, autoincrement=True)


def reference(name: str, target: str, *, null: bool = False, key: bool = False) -> sa.Column[int]:
    """A column with the number of a row in another table."""
    return sa.Column(name, NUMBER, sa.ForeignKey(target), nullable=null, primary_key=key)


def text(name: str, default: str | None = None) -> sa.Column[str]:
    """A text column that is not null, with an optional default."""
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def optional_text(name: str) -> sa.Column[str]:
    """A text column that may be null."""
    return sa.Column(name, sa.Text)


def moment(name: str, *, null: bool = False) -> sa.Column[datetime]:
    """A column of timestamps in UTC."""
    return sa.Column(name, Moment, nullable=null)


def json_column(name: str, default: str = "{}") -> sa.Column[Any]:
    """A column of JSON values."""
    return sa.Column(name, OBJECT, nullable=False, server_default=default)


def boolean(name: str, *, default: bool = False) -> sa.Column[bool]:
    """A column of booleans."""
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false())


def number(name: str, default: int = 0) -> sa.Column[int]:
    """A column of whole numbers, 0 by default."""
    return sa.Column(name, NUMBER, nullable=False, server_default=str(default))


def index_of_some(table: str, column: str, *, indexed_column: str = "") -> sa.Index:
    """An index of the rows whose column is not null, by that column or by another."""
    name = f"ix_{table}_{column}"
    condition = sa.text(f"{column} IS NOT NULL")
    return sa.Index(name, indexed_column or column, sqlite_where=condition, postgresql_where=condition)


def one_of(name: str, column: str, *choices: str) -> sa.CheckConstraint:
    """A constraint that a column holds one of some values."""
    quoted = ", ".join(f"'{choice}'" for choice in choices)
    return sa.CheckConstraint(f"{column} IN ({quoted})", name=name)
