"""An index for a rater's last ratings: every page of a rater shows them."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the index."""
    name = op.f("ix_ratings_project_rater_id")
    op.create_index(name, "ratings", ["project", "rater", "id"])
