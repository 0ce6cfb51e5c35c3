"""Tables of recorded evaluations, of alerts and of scheduled jobs.

Records come with their values, annotations and comments; alerts with their notifications;
scheduled jobs with their runs.
"""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as column_types
from rankgate.store.tables.columns import METADATA, reference, row_id, text

ANNOTATIONS = ("deploy", "judgments", "incident", "note")
"""The kinds of annotations."""

SUBJECTS = ("query", "document", "record", "comparison", "alert")
"""The kinds of subjects of comments."""

records = sa.Table(
    "records",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("sha256"),
    column_types.moment("recorded_at"),
    column_types.moment("evaluated_at"),
    text("kind"),
    text("name", ""),
    text("system", ""),
    text("revision", ""),
    text("branch", ""),
    column_types.json_column("labels"),
    text("qrels_sha256", ""),
    text("queries_sha256", ""),
    text("convention", ""),
    text("convention_hash", ""),
    column_types.json_column("inputs"),
    column_types.json_column("summary"),
    column_types.optional_text("verdict"),
    sa.Column("blob", sa.Text, sa.ForeignKey("blobs.sha256"), nullable=False),
    sa.Column("per_query", sa.Text, sa.ForeignKey("blobs.sha256")),
    reference("recorded_by", "users.id", null=True),
    sa.UniqueConstraint("project", "sha256"),
    sa.Index(None, "project", "evaluated_at"),
    sa.Index(None, "project", "kind", "evaluated_at"),
)
"""Recorded evaluations; the full result and its values per query are blobs."""

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
    column_types.number("n"),
    column_types.boolean("higher_is_better", default=True),
    text("run_sha256", ""),
    sa.Index(None, "metric", "system", "record"),
)
"""The figures of records, such as the mean of a metric; ``slice`` is empty for all queries, and
``run_sha256``, the hash of the system's run, where it was not recorded."""

annotation_facts = sa.Table(
    "annotations",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    sa.Column("annotation_id", sa.Text, nullable=False, unique=True),
    column_types.moment("at"),
    text("kind"),
    text("text"),
    column_types.optional_text("metric"),
    text("revision", ""),
    column_types.moment("recorded_at"),
    reference("user", "users.id", null=True),
    text("actor", ""),
    reference("withdraws", "annotations.id", null=True),
    column_types.one_of("kind", "kind", *ANNOTATIONS),
    sa.Index(None, "project", "at"),
    column_types.index_of_some("annotations", "withdraws"),
)
"""Annotations of events: deploys, new judgments, incidents; a later row withdraws another."""

comments = sa.Table(
    "comments",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    sa.Column("comment_id", sa.Text, nullable=False, unique=True),
    text("subject_kind"),
    text("subject"),
    text("text"),
    column_types.moment("at"),
    reference("user", "users.id", null=True),
    text("actor", ""),
    reference("withdraws", "comments.id", null=True),
    column_types.one_of("subject_kind", "subject_kind", *SUBJECTS),
    sa.Index(None, "project", "subject_kind", "subject"),
    column_types.index_of_some("comments", "withdraws"),
)
"""Comments on queries, records and other subjects; a later row withdraws another row."""


ALERT_STATES = ("open", "acknowledged", "resolved")
"""States of an alert."""

NOTIFICATION_STATES = ("waiting", "sent", "failed")
"""States of a notification; ``failed`` follows the last attempt."""

RUN_STATES = ("waiting", "running", "done", "failed", "missed")
"""States of a job run; a ``missed`` run was due while no server ran, and is never executed."""

alerts = sa.Table(
    "alerts",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("key"),
    text("rule"),
    text("message", ""),
    reference("record", "records.id", null=True),
    column_types.optional_text("metric"),
    text("system", ""),
    text("slice", ""),
    column_types.moment("first_at"),
    column_types.moment("last_at"),
    column_types.number("count", 1),
    text("state", "open"),
    column_types.moment("acknowledged_at", null=True),
    reference("acknowledged_by", "users.id", null=True),
    column_types.moment("resolved_at", null=True),
    column_types.json_column("evidence"),
    column_types.one_of("state", "state", *ALERT_STATES),
    column_types.index_of_some("alerts", "record"),
    sa.Index(None, "project", "state", "last_at"),
    sa.Index(
        "ix_alerts_unresolved",
        "project",
        "key",
        unique=True,
        sqlite_where=sa.text("state <> 'resolved'"),
        postgresql_where=sa.text("state <> 'resolved'"),
    ),
)
"""Fired alerts; ``key`` identifies equal alerts, and each key has at most one unresolved alert."""

notifications = sa.Table(
    "notifications",
    METADATA,
    row_id(),
    reference("alert", "alerts.id"),
    text("event"),
    text("channel"),
    text("state", "waiting"),
    column_types.number("tries"),
    column_types.moment("next_try_at", null=True),
    text("error", ""),
    column_types.moment("created_at"),
    column_types.moment("sent_at", null=True),
    column_types.one_of("state", "state", *NOTIFICATION_STATES),
    sa.Index(None, "state", "next_try_at"),
    sa.Index(None, "alert"),
)
"""Messages about alerts, by channel; ``next_try_at`` is also the end of quiet hours."""

scheduled_jobs = sa.Table(
    "scheduled_jobs",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("name"),
    text("kind"),
    text("schedule"),
    text("timezone", "UTC"),
    column_types.json_column("settings"),
    column_types.boolean("enabled", default=True),
    column_types.moment("created_at"),
    column_types.moment("changed_at"),
    reference("changed_by", "users.id", null=True),
    sa.UniqueConstraint("project", "name"),
)
"""Scheduled jobs: snapshots, evaluations, KPIs, checks of alerts."""

scheduled_runs = sa.Table(
    "scheduled_runs",
    METADATA,
    row_id(),
    reference("job", "scheduled_jobs.id"),
    column_types.moment("due_at"),
    text("state", "waiting"),
    column_types.number("tries"),
    column_types.moment("next_try_at", null=True),
    column_types.moment("started_at", null=True),
    column_types.moment("finished_at", null=True),
    text("owner", ""),
    column_types.moment("until", null=True),
    text("log", ""),
    text("error", ""),
    reference("record", "records.id", null=True),
    column_types.one_of("state", "state", *RUN_STATES),
    sa.UniqueConstraint("job", "due_at"),
    column_types.index_of_some("scheduled_runs", "record"),
    sa.Index(None, "state", "next_try_at"),
)
"""Runs of jobs; ``until`` is the end of the lease of the process ``owner``."""
