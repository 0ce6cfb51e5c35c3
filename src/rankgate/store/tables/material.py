"""Tables of what is judged: queries, documents, scales, guidelines."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as of
from rankgate.store.tables.columns import METADATA, reference, row_id, text

scale_grades = sa.Table(
    "scale_grades",
    METADATA,
    reference("project", "projects.id", key=True),
    sa.Column("grade", sa.Double, primary_key=True),
    text("label", ""),
    text("colour", ""),
    text("description", ""),
)
"""The grades of a project's scale."""

guidelines = sa.Table(
    "guidelines",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("version"),
    text("text", ""),
    of.moment("created_at"),
    reference("created_by", "users.id", null=True),
    sa.UniqueConstraint("project", "version"),
)
"""Guidelines of a project by version; a version never changes."""

queries = sa.Table(
    "queries",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("query_id"),
    of.optional_text("text"),
    of.optional_text("information_need"),
    of.json_column("tags"),
    sa.Column("frequency", sa.Double),
    of.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "query_id"),
    of.index_of_some("queries", "archived_at"),
)
"""Queries with their texts; tags are all other fields. Those that are archived are not rated."""

documents = sa.Table(
    "documents",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("doc_id"),
    text("of_query", ""),
    of.json_column("fields"),
    of.optional_text("url"),
    of.optional_text("image"),
    of.moment("created_at"),
    of.optional_text("sha256"),
    sa.UniqueConstraint("project", "doc_id", "of_query"),
)
"""Documents as raters see them; ``of_query`` is a query whose fields differ, or empty; ``sha256``
of the fields and links, null where there are none."""
