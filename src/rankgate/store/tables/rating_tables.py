"""Tables of the data to judge, of ratings and preferences, and of rating tasks.

The data to judge are queries, documents, scales and guidelines. Ratings and preferences are facts:
their rows are only added. Rating work consists of batches of tasks and the assignment of tasks.
"""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as column_types
from rankgate.store.tables.columns import METADATA, NUMBER, reference, row_id, text

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
    column_types.moment("created_at"),
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
    column_types.optional_text("text"),
    column_types.optional_text("information_need"),
    column_types.json_column("tags"),
    sa.Column("frequency", sa.Double),
    column_types.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "query_id"),
    column_types.index_of_some("queries", "archived_at"),
)
"""Queries with their texts; all other fields are tags. Archived queries are not rated."""

documents = sa.Table(
    "documents",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("doc_id"),
    text("of_query", ""),
    column_types.json_column("fields"),
    column_types.optional_text("url"),
    column_types.optional_text("image"),
    column_types.moment("created_at"),
    column_types.optional_text("sha256"),
    sa.UniqueConstraint("project", "doc_id", "of_query"),
)
"""Documents as raters see them; ``of_query`` is the query that the fields belong to, or empty;
``sha256`` is the hash of the fields and links, null if there are none."""


raters = sa.Table(
    "raters",
    METADATA,
    row_id(),
    text("kind", "person"),
    text("name"),
    reference("user", "users.id", null=True),
    column_types.json_column("identity"),
    column_types.moment("created_at"),
    sa.UniqueConstraint("kind", "name"),
    sa.UniqueConstraint("user"),
    column_types.one_of("kind", "kind", "person", "model"),
)
"""Raters: people, users or not, and models by their identity (model, prompt, settings)."""


def _fact() -> tuple[sa.Column[object] | sa.Index, ...]:
    """The columns shared by all answers of raters."""
    return (
        reference("project", "projects.id"),
        reference("task", "tasks.id", null=True),
        reference("query", "queries.id"),
        reference("rater", "raters.id"),
        column_types.optional_text("reason"),
        column_types.optional_text("comment"),
        sa.Column("seconds", sa.Double),
        column_types.optional_text("guideline"),
        column_types.moment("at", null=True),
        column_types.moment("recorded_at"),
        column_types.optional_text("corrects"),
    )  # type: ignore[return-value]


ratings = sa.Table(
    "ratings",
    METADATA,
    row_id(),
    sa.Column("rating_id", sa.Text, nullable=False, unique=True),
    *_fact(),
    reference("document", "documents.id"),
    sa.Column("grade", sa.Double),
    column_types.boolean("final"),
    column_types.boolean("training"),
    text("source", ""),
    sa.Index(None, "project", "id"),
    sa.Index(None, "project", "query", "document", "rater", "id"),
    sa.Index(None, "project", "rater", "id"),
    sa.Index(None, "task"),
    sa.Index(None, "query"),
    sa.Index(None, "document"),
)
"""Single ratings in the order of recording; a correction is a later row."""

preferences = sa.Table(
    "preferences",
    METADATA,
    row_id(),
    sa.Column("preference_id", sa.Text, nullable=False, unique=True),
    *_fact(),
    text("left"),
    text("right"),
    text("choice"),
    column_types.one_of("choice", "choice", "left", "right", "equal", "none"),
    sa.Index(None, "project", "id"),
    sa.Index(None, "project", "rater", "id"),
    column_types.index_of_some("preferences", "task"),
    sa.Index(None, "query"),
)
"""Preferences: the better of two documents or lists; ``none`` without a decision."""

pair_counts = sa.Table(
    "pair_counts",
    METADATA,
    reference("query", "queries.id", key=True),
    reference("document", "documents.id", key=True),
    column_types.number("ratings"),
    column_types.number("grades"),
    sa.Index(None, "document"),
    sqlite_with_rowid=False,
)
"""The numbers of ratings of a pair, and of those with a grade, without trainings; triggers keep
them."""

answer_counts = sa.Table(
    "answer_counts",
    METADATA,
    reference("project", "projects.id", key=True),
    reference("rater", "raters.id", key=True),
    sa.Column("batch", NUMBER, primary_key=True),
    sa.Column("week", sa.Date, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    column_types.number("ratings"),
    column_types.number("answers"),
    column_types.number("without_grade"),
    sa.Column("seconds", sa.Double, nullable=False, server_default="0"),
    sa.Column("active_seconds", sa.Double, nullable=False, server_default="0"),
    column_types.number("idle"),
    column_types.number("unknown"),
    column_types.moment("last_at", null=True),
    sqlite_with_rowid=False,
)
"""Sums of the answers of a rater in a batch and a week; triggers keep them.

``batch`` is 0 for answers without a task, ``week`` a Monday, ``kind`` ``rating``, ``training`` or
``preference``. ``ratings`` counts all rows; the other columns leave out withdrawals and final
decisions. ``active_seconds`` cuts idle time, ``last_at`` is the latest time of an answer."""


STRATEGIES = ("1", "2", "3", "agree")
"""The number of people who grade a pair; with ``agree``, until two of them agree."""

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
    column_types.number("most", 5),
    column_types.number("priority"),
    column_types.moment("deadline", null=True),
    text("state", "open"),
    column_types.boolean("blind", default=True),
    column_types.boolean("by_query", default=True),
    column_types.number("seed"),
    column_types.optional_text("guideline"),
    column_types.json_column("settings"),
    column_types.moment("created_at"),
    reference("created_by", "users.id", null=True),
    column_types.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "name"),
    column_types.one_of("kind", "kind", *KINDS),
    column_types.one_of("strategy", "strategy", *STRATEGIES),
    column_types.one_of("state", "state", "open", "paused", "closed"),
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
    column_types.number("priority"),
    sa.Column("place", NUMBER, nullable=False),
    sa.Column("gold", sa.Double),
    text("gold_why", ""),
    text("state", "open"),
    column_types.number("grades"),
    column_types.number("answers"),
    column_types.json_column("pool"),
    text("subject"),
    sa.UniqueConstraint("batch", "query", "subject"),
    column_types.one_of("state", "state", "open", "done", "disputed"),
    sa.Index(None, "batch", "state", "priority", "place"),
    sa.Index(None, "project", "id"),
    sa.Index(None, "project", "query", "document"),
    sa.Index(None, "query"),
    *(
        column_types.index_of_some("tasks", name)
        for name in ("document", "other_document", "run", "other_run")
    ),
    column_types.index_of_some("tasks", "gold", indexed_column="batch"),
)
"""Tasks in the order of ``place``, a seeded hash. ``grades`` counts the raters whose last answer
is a grade, ``answers`` all raters with an answer. ``subject`` identifies the rated subject, which
a batch has only once."""

QUERY_SHOWN = tasks.c.query.not_in(sa.select(queries.c.id).where(queries.c.archived_at.is_not(None)))
"""True for tasks with an active query."""

assignments = sa.Table(
    "assignments",
    METADATA,
    reference("task", "tasks.id", key=True),
    reference("rater", "raters.id", key=True),
    text("state"),
    column_types.moment("until", null=True),
    sa.Column("grade", sa.Double),
    text("choice", ""),
    column_types.moment("at"),
    column_types.boolean("doubt"),
    sa.Column("distance", sa.Double),
    column_types.one_of("state", "state", "locked", "later", "answered"),
    sa.Index(None, "rater", "state", "task"),
)
"""Assignments of tasks to raters: locks with their expiry, and last answers. Models also have
a doubt, and the smallest distance from people's grades that is a disagreement."""

cursors = sa.Table(
    "cursors",
    METADATA,
    reference("batch", "batches.id", key=True),
    reference("rater", "raters.id", key=True),
    sa.Column("place", NUMBER, nullable=False),
)
"""The positions of raters in the order of a batch."""
