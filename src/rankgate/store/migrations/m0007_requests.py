"""Open requests of models, archived queries, indexes for deletion, and names without slashes."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.rows import addressable
from rankgate.store.tables import columns as column_types

revision = "0007"
down_revision = "0006"

_INDEXES = (
    ("job_tasks", "task"),
    ("model_answers", "task"),
    ("preferences", "query"),
    ("ratings", "query"),
    ("ratings", "document"),
    ("tasks", "query"),
)
"""Foreign keys that are searched when a row is deleted."""
_INDEXES_OF_SOME = (
    ("admissions", "result"),
    ("alerts", "record"),
    ("annotations", "withdraws"),
    ("comments", "withdraws"),
    ("preferences", "task"),
    ("queries", "archived_at"),
    ("scheduled_runs", "record"),
    ("tasks", "document"),
    ("tasks", "other_document"),
    ("tasks", "run"),
    ("tasks", "other_run"),
)
"""Foreign keys and times of archiving, in columns that are mostly null."""


def upgrade() -> None:
    """Make the table, the column and the indexes; replace names that an address cannot contain."""
    op.add_column("queries", sa.Column("archived_at", column_types.Moment(), nullable=True))
    op.create_table(
        "open_requests",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("job", column_types.NUMBER, nullable=False),
        sa.Column("task", column_types.NUMBER, nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("input_tokens", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("output_tokens", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("at", column_types.Moment(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["model_jobs.id"], name=op.f("fk_open_requests_job")),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"], name=op.f("fk_open_requests_task")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_open_requests")),
    )
    for table, column in (("open_requests", "job"), ("open_requests", "task"), *_INDEXES):
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])
    for table, column in _INDEXES_OF_SOME:
        condition = sa.text(f"{column} IS NOT NULL")
        op.create_index(
            op.f(f"ix_{table}_{column}"), table, [column], sqlite_where=condition, postgresql_where=condition
        )
    _rename("projects", ())
    _rename("judgments", ("project",))


def _rename(name: str, within: tuple[str, ...]) -> None:
    """Replace names that an address cannot contain; older versions accepted them."""
    table = sa.table(name, *(sa.column(column) for column in ("id", "name", *within)))
    connection = op.get_bind()
    columns = (table.c.id, table.c.name, *(table.c[column] for column in within))
    rows = connection.execute(sa.select(*columns).order_by(table.c.id)).all()
    taken = {tuple(row[1:]) for row in rows}
    for number, before, *scope in rows:
        # "/" begins the name of a deleted project, which has no page
        if addressable(before) == before or (name == "projects" and before.startswith("/")):
            continue
        stem = addressable(before)
        candidates = (stem, *(f"{stem}-{count}" for count in range(2, len(rows) + 3)))
        after = next(word for word in candidates if (word, *scope) not in taken)
        taken.add((after, *scope))
        connection.execute(sa.update(table).where(table.c.id == number).values(name=after))
