"""The first schema: the declared tables, tables of facts that only grow, and kept counts.

Until the first release it follows the declarations. The release that makes the second migration
writes this one out, as a migration of a released store never changes.
"""

from alembic import op

from rankgate.store.rating import kept_counts
from rankgate.store.tables import METADATA

revision = "0010"
down_revision = None

_ONLY_ADDED = (
    "ratings",
    "preferences",
    "audit_log",
    "model_answers",
    "admissions",
    "records",
    "record_values",
    "annotations",
    "comments",
)


def upgrade() -> None:
    """Make all tables and triggers."""
    connection = op.get_bind()
    METADATA.create_all(connection)
    if connection.dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION rankgate_only_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
            "EXCEPTION '% is only added to', TG_TABLE_NAME; END $$"
        )
    for table in _ONLY_ADDED:
        _refuse_changes(connection.dialect.name, table)
    kept_counts.create_triggers(connection)


def _refuse_changes(dialect: str, table: str) -> None:
    if dialect == "postgresql":
        op.execute(
            f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION rankgate_only_added()"
        )
        return
    for change in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT "
            f"RAISE(ABORT, '{table} is only added to'); END"
        )
