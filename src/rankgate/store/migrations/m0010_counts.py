"""Kept counts of answers and pairs, results of pages, hashes of runs of figures, checked sign-ins."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.archive import without_triggers
from rankgate.store.rating import kept_counts
from rankgate.store.tables import columns as column_types

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the tables, count the answers, and copy the hashes of runs; earlier sign-ins were checked."""
    op.add_column("sign_ins", sa.Column("checked", sa.Boolean(), server_default=sa.true(), nullable=False))
    op.create_table(
        "pair_counts",
        sa.Column("query", column_types.NUMBER, nullable=False),
        sa.Column("document", column_types.NUMBER, nullable=False),
        *_numbers("ratings", "grades"),
        sa.ForeignKeyConstraint(["query"], ["queries.id"], name=op.f("fk_pair_counts_query")),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_pair_counts_document")),
        sa.PrimaryKeyConstraint("query", "document", name=op.f("pk_pair_counts")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_pair_counts_document"), "pair_counts", ["document"])
    op.create_table(
        "answer_counts",
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("rater", column_types.NUMBER, nullable=False),
        sa.Column("batch", column_types.NUMBER, nullable=False),
        sa.Column("week", sa.Date(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        *_numbers("ratings", "answers", "without_grade"),
        *(
            sa.Column(name, sa.Double(), server_default="0", nullable=False)
            for name in ("seconds", "active_seconds")
        ),
        *_numbers("idle", "unknown"),
        sa.Column("last_at", column_types.Moment(), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_answer_counts_project")),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name=op.f("fk_answer_counts_rater")),
        sa.PrimaryKeyConstraint("project", "rater", "batch", "week", "kind", name=op.f("pk_answer_counts")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_preferences_project_rater_id"), "preferences", ["project", "rater", "id"])
    op.create_table(
        "page_results",
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made_at", column_types.Moment(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_page_results_project")),
        sa.PrimaryKeyConstraint("project", "name", name=op.f("pk_page_results")),
    )
    connection = op.get_bind()
    kept_counts.rebuild(connection)
    kept_counts.create_triggers(connection)
    _copy_run_hashes(connection)


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, column_types.NUMBER, server_default="0", nullable=False) for name in names]


def _copy_run_hashes(connection: sa.Connection) -> None:
    column = sa.Column("run_sha256", sa.Text(), server_default="", nullable=False)
    op.add_column("record_values", column)
    values = sa.table("record_values", *map(sa.column, ("record", "system", "run_sha256")))
    records = sa.table("records", sa.column("id"), sa.column("inputs", column_types.OBJECT))
    update = sa.update(values).where(
        values.c.record == sa.bindparam("number"), values.c.system == sa.bindparam("name")
    )
    rows = connection.execute(sa.select(records.c.id, records.c.inputs)).all()
    hashes = [
        {"number": number, "name": system, "hash": run_hash}
        for number, inputs in rows
        for runs in (inputs.get("runs"),)
        if isinstance(runs, dict)
        for system, run_hash in runs.items()
        if isinstance(run_hash, str)
    ]
    if hashes:
        with without_triggers(connection, [sa.Table("record_values", sa.MetaData())]):
            connection.execute(update.values(run_sha256=sa.bindparam("hash")), hashes)
