"""Tables of runs, judgments and results: facts about them, and the hashes of their blobs."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as of
from rankgate.store.tables.columns import METADATA, reference, row_id, text

blobs = sa.Table(
    "blobs",
    METADATA,
    sa.Column("sha256", sa.Text, primary_key=True),
    of.number("bytes"),
    of.moment("created_at"),
)
"""Every blob that the store has."""


def _blob(name: str, *, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey("blobs.sha256"), nullable=null)


runs = sa.Table(
    "runs",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("name"),
    of.optional_text("tag"),
    text("sha256"),
    of.number("rows"),
    of.number("queries"),
    _blob("blob"),
    _blob("states", null=True),
    of.boolean("ordered", default=True),
    of.json_column("made_by"),
    of.moment("created_at"),
    reference("created_by", "users.id", null=True),
    of.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "name"),
)
"""Runs and snapshots; rows and states of queries are blobs."""

judgments = sa.Table(
    "judgments",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("name"),
    text("sha256"),
    of.number("rows"),
    _blob("blob"),
    of.json_column("scale"),
    of.json_column("unjudged", "[]"),
    of.json_column("made_by"),
    of.number("last_rating"),
    of.moment("created_at"),
    reference("created_by", "users.id", null=True),
    of.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "name"),
)
"""Resolved judgments: the rule that made them, and the last rating that they are made of."""

results = sa.Table(
    "results",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("kind"),
    text("name", ""),
    of.json_column("summary"),
    _blob("blob"),
    of.moment("created_at"),
    reference("created_by", "users.id", null=True),
    sa.Index(None, "project", "kind", "id"),
)
"""Evaluations, verdicts and other results: their JSON is a blob, the summary is for lists."""
