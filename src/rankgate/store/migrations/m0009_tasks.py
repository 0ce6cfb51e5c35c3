"""Indexes of a project's tasks by number, and of tasks with known grades: pages need few tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the indexes."""
    op.create_index(op.f("ix_tasks_project_id"), "tasks", ["project", "id"])
    is_known = sa.text("gold IS NOT NULL")
    op.create_index("ix_tasks_gold", "tasks", ["batch"], sqlite_where=is_known, postgresql_where=is_known)
