"""Tables of alerts, their notifications, and of scheduled jobs with their runs."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as of
from rankgate.store.tables.columns import METADATA, reference, row_id, text

ALERT_STATES = ("open", "acknowledged", "resolved")
"""States of an alert."""

NOTIFICATION_STATES = ("waiting", "sent", "failed")
"""States of a notification; ``failed`` is after the last try."""

RUN_STATES = ("waiting", "running", "done", "failed", "missed")
"""States of a run of a job; ``missed`` was due while nothing ran, and is not made up for."""

alerts = sa.Table(
    "alerts",
    METADATA,
    row_id(),
    reference("project", "projects.id"),
    text("key"),
    text("rule"),
    text("message", ""),
    reference("record", "records.id", null=True),
    of.optional_text("metric"),
    text("system", ""),
    text("slice", ""),
    of.moment("first_at"),
    of.moment("last_at"),
    of.number("count", 1),
    text("state", "open"),
    of.moment("acknowledged_at", null=True),
    reference("acknowledged_by", "users.id", null=True),
    of.moment("resolved_at", null=True),
    of.json_column("evidence"),
    of.one_of("state", "state", *ALERT_STATES),
    of.index_of_some("alerts", "record"),
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
"""Alerts that fired; ``key`` says which are the same, and one of a key is unresolved at a time."""

notifications = sa.Table(
    "notifications",
    METADATA,
    row_id(),
    reference("alert", "alerts.id"),
    text("event"),
    text("channel"),
    text("state", "waiting"),
    of.number("tries"),
    of.moment("next_try_at", null=True),
    text("error", ""),
    of.moment("created_at"),
    of.moment("sent_at", null=True),
    of.one_of("state", "state", *NOTIFICATION_STATES),
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
    of.json_column("settings"),
    of.boolean("enabled", default=True),
    of.moment("created_at"),
    of.moment("changed_at"),
    reference("changed_by", "users.id", null=True),
    sa.UniqueConstraint("project", "name"),
)
"""Scheduled jobs: snapshots, evaluations, KPIs, checks of alerts."""

scheduled_runs = sa.Table(
    "scheduled_runs",
    METADATA,
    row_id(),
    reference("job", "scheduled_jobs.id"),
    of.moment("due_at"),
    text("state", "waiting"),
    of.number("tries"),
    of.moment("next_try_at", null=True),
    of.moment("started_at", null=True),
    of.moment("finished_at", null=True),
    text("owner", ""),
    of.moment("until", null=True),
    text("log", ""),
    text("error", ""),
    reference("record", "records.id", null=True),
    of.one_of("state", "state", *RUN_STATES),
    sa.UniqueConstraint("job", "due_at"),
    of.index_of_some("scheduled_runs", "record"),
    sa.Index(None, "state", "next_try_at"),
)
"""Runs of jobs; ``until`` is how long the process ``owner`` keeps one without a sign of life."""
