"""Runs, judgments and batches that are archived: hidden, and kept."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.tables import columns as column_types

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns."""
    for table in ("runs", "judgments", "batches"):
        op.add_column(table, sa.Column("archived_at", column_types.Moment(), nullable=True))
