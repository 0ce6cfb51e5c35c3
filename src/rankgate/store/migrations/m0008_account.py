"""Sessions with browser and address, second factors, and secrets that work once."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.tables import columns as column_types

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns, and make the tables."""
    for column in ("address", "browser"):
        op.add_column("sessions", sa.Column(column, sa.Text(), server_default="", nullable=False))
    op.create_table(
        "one_time_secrets",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("expires_at", column_types.Moment(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_one_time_secrets_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_secrets")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_one_time_secrets_secret_hash")),
    )
    op.create_index(op.f("ix_one_time_secrets_user"), "one_time_secrets", ["user"])
    op.create_table(
        "second_factors",
        sa.Column("user", column_types.NUMBER, nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("last_step", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("confirmed_at", column_types.Moment(), nullable=True),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_second_factors_user")),
        sa.PrimaryKeyConstraint("user", name=op.f("pk_second_factors")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=False),
        sa.Column("code_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_recovery_codes_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_codes")),
    )
    op.create_index(op.f("ix_recovery_codes_user"), "recovery_codes", ["user"])
