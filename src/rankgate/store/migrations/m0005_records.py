"""Recorded evaluations with annotations and comments; alerts; scheduled jobs."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.migrations.m0001_first import guarded
from rankgate.store.tables import columns as column_types

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the tables, and hold those of facts against changes."""
    _records()
    _record_values()
    _annotations()
    _comments()
    _alerts()
    _notifications()
    _scheduled_jobs()
    _scheduled_runs()
    guarded("records", "record_values", "annotations", "comments")


def _key(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [to], name=op.f(f"fk_{table}_{column}"))


def _records() -> None:
    op.create_table(
        "records",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("recorded_at", column_types.Moment(), nullable=False),
        sa.Column("evaluated_at", column_types.Moment(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("system", sa.Text(), server_default="", nullable=False),
        sa.Column("revision", sa.Text(), server_default="", nullable=False),
        sa.Column("branch", sa.Text(), server_default="", nullable=False),
        sa.Column("labels", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("qrels_sha256", sa.Text(), server_default="", nullable=False),
        sa.Column("queries_sha256", sa.Text(), server_default="", nullable=False),
        sa.Column("convention", sa.Text(), server_default="", nullable=False),
        sa.Column("convention_hash", sa.Text(), server_default="", nullable=False),
        sa.Column("inputs", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("summary", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("per_query", sa.Text(), nullable=True),
        sa.Column("recorded_by", column_types.NUMBER, nullable=True),
        _key("records", "blob", "blobs.sha256"),
        _key("records", "per_query", "blobs.sha256"),
        _key("records", "project", "projects.id"),
        _key("records", "recorded_by", "users.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_records")),
        sa.UniqueConstraint("project", "sha256", name=op.f("uq_records_project_sha256")),
    )
    op.create_index(op.f("ix_records_project_evaluated_at"), "records", ["project", "evaluated_at"])
    op.create_index(
        op.f("ix_records_project_kind_evaluated_at"), "records", ["project", "kind", "evaluated_at"]
    )


def _record_values() -> None:
    op.create_table(
        "record_values",
        sa.Column("record", column_types.NUMBER, nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("slice", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("n", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("higher_is_better", sa.Boolean(), server_default=sa.true(), nullable=False),
        _key("record_values", "record", "records.id"),
        sa.PrimaryKeyConstraint("record", "metric", "system", "slice", name=op.f("pk_record_values")),
    )
    op.create_index(
        op.f("ix_record_values_metric_system_record"), "record_values", ["metric", "system", "record"]
    )


def _annotations() -> None:
    op.create_table(
        "annotations",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("annotation_id", sa.Text(), nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=True),
        sa.Column("revision", sa.Text(), server_default="", nullable=False),
        sa.Column("recorded_at", column_types.Moment(), nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=True),
        sa.Column("actor", sa.Text(), server_default="", nullable=False),
        sa.Column("withdraws", column_types.NUMBER, nullable=True),
        sa.CheckConstraint(
            "kind IN ('deploy', 'judgments', 'incident', 'note')", name=op.f("ck_annotations_kind")
        ),
        _key("annotations", "project", "projects.id"),
        _key("annotations", "user", "users.id"),
        _key("annotations", "withdraws", "annotations.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotations")),
        sa.UniqueConstraint("annotation_id", name=op.f("uq_annotations_annotation_id")),
    )
    op.create_index(op.f("ix_annotations_project_at"), "annotations", ["project", "at"])


def _comments() -> None:
    op.create_table(
        "comments",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("comment_id", sa.Text(), nullable=False),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=True),
        sa.Column("actor", sa.Text(), server_default="", nullable=False),
        sa.Column("withdraws", column_types.NUMBER, nullable=True),
        sa.CheckConstraint(
            "subject_kind IN ('query', 'document', 'record', 'comparison', 'alert')",
            name=op.f("ck_comments_subject_kind"),
        ),
        _key("comments", "project", "projects.id"),
        _key("comments", "user", "users.id"),
        _key("comments", "withdraws", "comments.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
        sa.UniqueConstraint("comment_id", name=op.f("uq_comments_comment_id")),
    )
    op.create_index(
        op.f("ix_comments_project_subject_kind_subject"), "comments", ["project", "subject_kind", "subject"]
    )


def _alerts() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), server_default="", nullable=False),
        sa.Column("record", column_types.NUMBER, nullable=True),
        sa.Column("metric", sa.Text(), nullable=True),
        sa.Column("system", sa.Text(), server_default="", nullable=False),
        sa.Column("slice", sa.Text(), server_default="", nullable=False),
        sa.Column("first_at", column_types.Moment(), nullable=False),
        sa.Column("last_at", column_types.Moment(), nullable=False),
        sa.Column("count", column_types.NUMBER, server_default="1", nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("acknowledged_at", column_types.Moment(), nullable=True),
        sa.Column("acknowledged_by", column_types.NUMBER, nullable=True),
        sa.Column("resolved_at", column_types.Moment(), nullable=True),
        sa.Column("evidence", column_types.OBJECT, server_default="{}", nullable=False),
        sa.CheckConstraint("state IN ('open', 'acknowledged', 'resolved')", name=op.f("ck_alerts_state")),
        _key("alerts", "acknowledged_by", "users.id"),
        _key("alerts", "project", "projects.id"),
        _key("alerts", "record", "records.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    unresolved = sa.text("state <> 'resolved'")
    op.create_index(
        "ix_alerts_unresolved",
        "alerts",
        ["project", "key"],
        unique=True,
        sqlite_where=unresolved,
        postgresql_where=unresolved,
    )
    op.create_index(op.f("ix_alerts_project_state_last_at"), "alerts", ["project", "state", "last_at"])


def _notifications() -> None:
    op.create_table(
        "notifications",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("alert", column_types.NUMBER, nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("tries", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("next_try_at", column_types.Moment(), nullable=True),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("sent_at", column_types.Moment(), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'sent', 'failed')", name=op.f("ck_notifications_state")),
        _key("notifications", "alert", "alerts.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
    )
    op.create_index(op.f("ix_notifications_alert"), "notifications", ["alert"])
    op.create_index(op.f("ix_notifications_state_next_try_at"), "notifications", ["state", "next_try_at"])


def _scheduled_jobs() -> None:
    op.create_table(
        "scheduled_jobs",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("schedule", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), server_default="UTC", nullable=False),
        sa.Column("settings", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("changed_at", column_types.Moment(), nullable=False),
        sa.Column("changed_by", column_types.NUMBER, nullable=True),
        _key("scheduled_jobs", "changed_by", "users.id"),
        _key("scheduled_jobs", "project", "projects.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduled_jobs")),
        sa.UniqueConstraint("project", "name", name=op.f("uq_scheduled_jobs_project_name")),
    )


def _scheduled_runs() -> None:
    op.create_table(
        "scheduled_runs",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("job", column_types.NUMBER, nullable=False),
        sa.Column("due_at", column_types.Moment(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("tries", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("next_try_at", column_types.Moment(), nullable=True),
        sa.Column("started_at", column_types.Moment(), nullable=True),
        sa.Column("finished_at", column_types.Moment(), nullable=True),
        sa.Column("owner", sa.Text(), server_default="", nullable=False),
        sa.Column("until", column_types.Moment(), nullable=True),
        sa.Column("log", sa.Text(), server_default="", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("record", column_types.NUMBER, nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'failed', 'missed')",
            name=op.f("ck_scheduled_runs_state"),
        ),
        _key("scheduled_runs", "job", "scheduled_jobs.id"),
        _key("scheduled_runs", "record", "records.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduled_runs")),
        sa.UniqueConstraint("job", "due_at", name=op.f("uq_scheduled_runs_job_due_at")),
    )
    op.create_index(op.f("ix_scheduled_runs_state_next_try_at"), "scheduled_runs", ["state", "next_try_at"])
