"""Tables of recorded evaluations: records with their values, annotations, comments."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as of
from rankgate.store.tables.columns import METADATA, reference, row_id, text

ANNOTATIONS = ("deploy", "judgments", "incident", "note")
"""Kinds of annotations."""

SUBJECTS = ("query", "document", "record", "comparison", "alert")
"""Subjects of comments."""

records = sa.Table(
    "records",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("sha256"),
    of.moment("recorded_at"),
    of.moment("evaluated_at"),
    text("kind"),
    text("name", ""),
    text("system", ""),
    text("revision", ""),
    text("branch", ""),
    of.json_column("labels"),
    text("qrels_sha256", ""),
    text("queries_sha256", ""),
    text("convention", ""),
    text("convention_hash", ""),
    of.json_column("inputs"),
    of.json_column("summary"),
    of.optional_text("verdict"),
    sa.Column("blob", sa.Text, sa.ForeignKey("blobs.sha256"), nullable=False),
    sa.Column("per_query", sa.Text, sa.ForeignKey("blobs.sha256")),
    reference("recorded_by", "users.id", null=True),
    sa.UniqueConstraint("project", "sha256"),
    sa.Index(None, "project", "evaluated_at"),
    sa.Index(None, "project", "kind", "evaluated_at"),
)
"""Evaluations as they were recorded; the whole result and its values per query are blobs."""

record_values = sa.Table(
    "record_values",
    METADATA,
    reference("record", "records.id", key=True),
    sa.Column("metric", sa.Text, primary_key=True),
    sa.Column("system", sa.Text, primary_key=True),
    sa.Column("slice", sa.Text, primary_key=True),
    sa.Column("value", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    of.number("n"),
    of.boolean("higher_is_better", default=True),
    sa.Index(None, "metric", "system", "record"),
)
"""One figure of a record: the mean of a metric; ``slice`` is empty for all queries."""

annotation_facts = sa.Table(
    "annotations",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    sa.Column("annotation_id", sa.Text, nullable=False, unique=True),
    of.moment("at"),
    text("kind"),
    text("text"),
    of.optional_text("metric"),
    text("revision", ""),
    of.moment("recorded_at"),
    reference("user", "users.id", null=True),
    text("actor", ""),
    reference("withdraws", "annotations.id", null=True),
    of.one_of("kind", "kind", *ANNOTATIONS),
    sa.Index(None, "project", "at"),
    of.index_of_some("annotations", "withdraws"),
)
"""Annotations of a moment: a deploy, new judgments, an incident; a later row withdraws one."""

comments = sa.Table(
    "comments",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    sa.Column("comment_id", sa.Text, nullable=False, unique=True),
    text("subject_kind"),
    text("subject"),
    text("text"),
    of.moment("at"),
    reference("user", "users.id", null=True),
    text("actor", ""),
    reference("withdraws", "comments.id", null=True),
    of.one_of("subject_kind", "subject_kind", *SUBJECTS),
    sa.Index(None, "project", "subject_kind", "subject"),
    of.index_of_some("comments", "withdraws"),
)
"""Comments of people on queries, records and the like; a later row withdraws one."""

APPEND_ONLY = ("records", "record_values", "annotations", "comments")
"""Tables of facts that are only added to."""
