"""Tables of work: batches of tasks, and who has which task."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as of
from rankgate.store.tables.columns import METADATA, NUMBER, reference, row_id, text
from rankgate.store.tables.material import queries

STRATEGIES = ("1", "2", "3", "agree")
"""Numbers of people that grade a pair; ``agree``: until two of them agree."""

KINDS = ("rating", "training", "documents", "lists")
"""Kinds of batches: grades, grades with feedback, or the better of two."""

batches = sa.Table(
    "batches",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("name"),
    text("kind", "rating"),
    text("strategy", "1"),
    of.number("most", 5),
    of.number("priority"),
    of.moment("deadline", null=True),
    text("state", "open"),
    of.boolean("blind", default=True),
    of.boolean("by_query", default=True),
    of.number("seed"),
    of.optional_text("guideline"),
    of.json_column("settings"),
    of.moment("created_at"),
    reference("created_by", "users.id", null=True),
    of.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "name"),
    of.one_of("kind", "kind", *KINDS),
    of.one_of("strategy", "strategy", *STRATEGIES),
    of.one_of("state", "state", "open", "paused", "closed"),
)
"""Batches of tasks."""

tasks = sa.Table(
    "tasks",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    reference("batch", "batches.id"),
    reference("query", "queries.id"),
    reference("document", "documents.id", null=True),
    reference("other_document", "documents.id", null=True),
    reference("run", "runs.id", null=True),
    reference("other_run", "runs.id", null=True),
    of.number("priority"),
    sa.Column("place", NUMBER, nullable=False),
    sa.Column("gold", sa.Double),
    text("gold_why", ""),
    text("state", "open"),
    of.number("grades"),
    of.number("answers"),
    of.json_column("pool"),
    text("subject"),
    sa.UniqueConstraint("batch", "query", "subject"),
    of.one_of("state", "state", "open", "done", "disputed"),
    sa.Index(None, "batch", "state", "priority", "place"),
    sa.Index(None, "project", "query", "document"),
    sa.Index(None, "query"),
    *(
        of.index_of_some("tasks", name)
        for name in ("document", "other_document", "run", "other_run")
    ),
)
"""Tasks; ``place`` is a seeded hash, in whose order they are asked. ``grades`` and ``answers``
count raters whose last word is a grade, or anything; ``subject`` names what is rated, so that a
batch has it once."""

QUERY_SHOWN = tasks.c.query.not_in(
    sa.select(queries.c.id).where(queries.c.archived_at.is_not(None))
)
"""True for tasks whose query is not archived."""

assignments = sa.Table(
    "assignments",
    METADATA,
    reference("task", "tasks.id", key=True),
    reference("rater", "raters.id", key=True),
    text("state"),
    of.moment("until", null=True),
    sa.Column("grade", sa.Double),
    text("choice", ""),
    of.moment("at"),
    of.boolean("doubt"),
    sa.Column("distance", sa.Double),
    of.one_of("state", "state", "locked", "later", "answered"),
    sa.Index(None, "rater", "state", "task"),
)
"""Assignments of tasks to raters: locks with their expiry, and last answers. Of models: their
doubt, and the distance from people's grade that is a disagreement."""

cursors = sa.Table(
    "cursors",
    METADATA,
    reference("batch", "batches.id", key=True),
    reference("rater", "raters.id", key=True),
    sa.Column("place", NUMBER, nullable=False),
)
"""The position of a rater in the order of a batch."""
