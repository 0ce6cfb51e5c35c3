"""Tables of language models as raters, and of runs, judgments and results.

Models have jobs, answers, admissions, and rules for new runs. Rows of runs, judgments and results
hold their properties and the hashes of their blobs.
"""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as column_types
from rankgate.store.tables.columns import METADATA, NUMBER, reference, row_id, text

STATES = ("waiting", "running", "cancelling", "cancelled", "stopped", "failed", "done")
"""States of a job; the first three are active, and ``stopped`` means that a limit was reached."""

VERDICTS = ("pass", "fail", "inconclusive", "withdrawn")
"""Verdicts of admissions; a manager sets ``withdrawn``."""

model_jobs = sa.Table(
    "model_jobs",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    reference("rater", "raters.id"),
    text("name", ""),
    text("state", "waiting"),
    column_types.optional_text("endpoint"),
    column_types.json_column("settings"),
    column_types.number("total"),
    text("problem", ""),
    text("owner", ""),
    column_types.moment("until", null=True),
    column_types.moment("created_at"),
    reference("created_by", "users.id", null=True),
    column_types.moment("started_at", null=True),
    column_types.moment("ended_at", null=True),
    column_types.one_of("state", "state", *STATES),
    sa.Index(None, "project", "id"),
    sa.Index(None, "state"),
)
"""Jobs of models; ``until`` is the end of the lease of the process ``owner``."""

job_tasks = sa.Table(
    "job_tasks",
    METADATA,
    reference("job", "model_jobs.id", key=True),
    reference("task", "tasks.id", key=True),
    sa.Index(None, "task"),
)
"""The tasks of a job."""

open_requests = sa.Table(
    "open_requests",
    METADATA,
    row_id(),
    reference("job", "model_jobs.id"),
    reference("task", "tasks.id"),
    text("request"),
    column_types.number("input_tokens"),
    column_types.number("output_tokens"),
    sa.Column("cost", sa.Double),
    column_types.moment("at"),
    sa.Index(None, "job"),
    sa.Index(None, "task"),
)
"""Requests whose answers are not stored yet, with the largest cost of each.

A request of a process that has ended counts as an unread answer.
"""

model_answers = sa.Table(
    "model_answers",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    reference("job", "model_jobs.id"),
    reference("rater", "raters.id"),
    reference("task", "tasks.id"),
    text("request"),
    column_types.optional_text("rating_id"),
    column_types.boolean("answered"),
    sa.Column("grade", sa.Double),
    column_types.optional_text("reason"),
    column_types.optional_text("comment"),
    sa.Column("confidence", sa.Double),
    sa.Column("input_tokens", NUMBER, nullable=False, server_default="0"),
    sa.Column("output_tokens", NUMBER, nullable=False, server_default="0"),
    sa.Column("cost", sa.Double),
    column_types.number("attempts"),
    sa.Column("seconds", sa.Double),
    text("answer", ""),
    column_types.moment("at"),
    sa.Index(None, "project", "rater", "id"),
    sa.Index(None, "job"),
    sa.Index(None, "task"),
    sa.Index(None, "rating_id"),
)
"""The answers to requests, or the reasons for missing answers; ``request`` is the hash."""

admissions = sa.Table(
    "admissions",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    reference("rater", "raters.id"),
    text("verdict"),
    reference("result", "results.id", null=True),
    column_types.number("last_rating"),
    column_types.moment("at"),
    reference("user", "users.id", null=True),
    column_types.one_of("verdict", "verdict", *VERDICTS),
    sa.Index(None, "project", "rater", "id"),
    column_types.index_of_some("admissions", "result"),
)
"""Admissions with their evidence; a rater's last admission counts."""

model_rules = sa.Table(
    "model_rules",
    METADATA,
    reference("project", "projects.id", key=True),
    column_types.json_column("settings"),
    column_types.number("after_run"),
    column_types.moment("changed_at"),
    reference("changed_by", "users.id", null=True),
)
"""Rules of projects for the documents of new runs, which are the runs after ``after_run``."""


blobs = sa.Table(
    "blobs",
    METADATA,
    sa.Column("sha256", sa.Text, primary_key=True),
    column_types.number("bytes"),
    column_types.moment("created_at"),
)
"""All blobs of the store."""


def _blob(name: str, *, null: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey("blobs.sha256"), nullable=null)


runs = sa.Table(
    "runs",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("name"),
    column_types.optional_text("tag"),
    text("sha256"),
    column_types.number("rows"),
    column_types.number("queries"),
    _blob("blob"),
    _blob("states", null=True),
    column_types.boolean("ordered", default=True),
    column_types.json_column("made_by"),
    column_types.moment("created_at"),
    reference("created_by", "users.id", null=True),
    column_types.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "name"),
)
"""Runs and snapshots; their rows and query states are blobs."""

judgments = sa.Table(
    "judgments",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("name"),
    text("sha256"),
    column_types.number("rows"),
    _blob("blob"),
    column_types.json_column("scale"),
    column_types.json_column("unjudged", "[]"),
    column_types.json_column("made_by"),
    column_types.number("last_rating"),
    column_types.moment("created_at"),
    reference("created_by", "users.id", null=True),
    column_types.moment("archived_at", null=True),
    sa.UniqueConstraint("project", "name"),
)
"""Resolved judgments with their rule, and the last rating that they include."""

results = sa.Table(
    "results",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("kind"),
    text("name", ""),
    column_types.json_column("summary"),
    _blob("blob"),
    column_types.moment("created_at"),
    reference("created_by", "users.id", null=True),
    sa.Index(None, "project", "kind", "id"),
)
"""Evaluations, verdicts and other results; the JSON is a blob, and lists show the summary."""

page_results = sa.Table(
    "page_results",
    METADATA,
    reference("project", "projects.id", key=True),
    sa.Column("name", sa.Text, primary_key=True),
    text("state"),
    column_types.moment("made_at"),
    text("result"),
)
"""Results of pages that take seconds, as JSON, so that a new server does not compute them again.

``state`` identifies the data of the store from which the result was made."""
