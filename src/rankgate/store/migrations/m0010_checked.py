"""Attempts to sign in say whether their password was checked."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column; earlier attempts were checked."""
    op.add_column("sign_ins", sa.Column("checked", sa.Boolean(), server_default=sa.true(), nullable=False))
