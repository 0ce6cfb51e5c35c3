"""Tables of facts that are only added to: ratings and preferences."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as of
from rankgate.store.tables.columns import METADATA, reference, row_id, text

raters = sa.Table(
    "raters",
    METADATA,
    row_id(),
    text("kind", "person"),
    text("name"),
    reference("user", "users.id", null=True),
    of.json_column("identity"),
    of.moment("created_at"),
    sa.UniqueConstraint("kind", "name"),
    sa.UniqueConstraint("user"),
    of.one_of("kind", "kind", "person", "model"),
)
"""Raters: people, users or not, and models by their identity (model, prompt, settings)."""


def _fact() -> tuple[sa.Column[object] | sa.Index, ...]:
    """The columns that all answers of raters have."""
    return (
        reference("project", "projects.id"),
        reference("task", "tasks.id", null=True),
        reference("query", "queries.id"),
        reference("rater", "raters.id"),
        of.optional_text("reason"),
        of.optional_text("comment"),
        sa.Column("seconds", sa.Double),
        of.optional_text("guideline"),
        of.moment("at", null=True),
        of.moment("recorded_at"),
        of.optional_text("corrects"),
    )  # type: ignore[return-value]


ratings = sa.Table(
    "ratings",
    METADATA,
    row_id(),
    sa.Column("rating_id", sa.Text, nullable=False, unique=True),
    *_fact(),
    reference("document", "documents.id"),
    sa.Column("grade", sa.Double),
    of.boolean("final"),
    of.boolean("training"),
    text("source", ""),
    sa.Index(None, "project", "id"),
    sa.Index(None, "project", "query", "document", "rater", "id"),
    sa.Index(None, "project", "rater", "id"),
    sa.Index(None, "task"),
    sa.Index(None, "query"),
    sa.Index(None, "document"),
)
"""Single ratings, in the order in which they were recorded; a correction is a later row."""

preferences = sa.Table(
    "preferences",
    METADATA,
    row_id(),
    sa.Column("preference_id", sa.Text, nullable=False, unique=True),
    *_fact(),
    text("left"),
    text("right"),
    text("choice"),
    of.one_of("choice", "choice", "left", "right", "equal", "none"),
    sa.Index(None, "project", "id"),
    of.index_of_some("preferences", "task"),
    sa.Index(None, "query"),
)
"""Preferences: the better of two documents or lists; ``none`` if nobody can tell."""

APPEND_ONLY = ("ratings", "preferences", "audit_log")
"""Tables whose rows are never changed, and removed only by `store.deletion`; triggers hold it."""
