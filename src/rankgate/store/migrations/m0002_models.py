"""Language models as raters: jobs, answers, admissions, rules for new runs."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.migrations.m0001_first import guarded
from rankgate.store.tables import columns as column_types

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables, and hold those of facts against changes."""
    op.add_column("assignments", sa.Column("doubt", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("assignments", sa.Column("distance", sa.Double(), nullable=True))
    _jobs()
    _answers()
    _admissions()
    guarded("model_answers", "admissions")


def _number(name: str, *, null: bool = False) -> sa.Column[int]:
    return sa.Column(name, column_types.NUMBER, nullable=null)


def _key(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [to], name=op.f(f"fk_{table}_{column}"))


def _jobs() -> None:
    states = "'waiting', 'running', 'cancelling', 'cancelled', 'stopped', 'failed', 'done'"
    op.create_table(
        "model_jobs",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        _number("project"),
        _number("rater"),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("settings", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("total", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("problem", sa.Text(), server_default="", nullable=False),
        sa.Column("owner", sa.Text(), server_default="", nullable=False),
        sa.Column("until", column_types.Moment(), nullable=True),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        _number("created_by", null=True),
        sa.Column("started_at", column_types.Moment(), nullable=True),
        sa.Column("ended_at", column_types.Moment(), nullable=True),
        sa.CheckConstraint(f"state IN ({states})", name=op.f("ck_model_jobs_state")),
        _key("model_jobs", "created_by", "users.id"),
        _key("model_jobs", "project", "projects.id"),
        _key("model_jobs", "rater", "raters.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_jobs")),
    )
    op.create_index(op.f("ix_model_jobs_project_id"), "model_jobs", ["project", "id"])
    op.create_index(op.f("ix_model_jobs_state"), "model_jobs", ["state"])
    op.create_table(
        "job_tasks",
        _number("job"),
        _number("task"),
        _key("job_tasks", "job", "model_jobs.id"),
        _key("job_tasks", "task", "tasks.id"),
        sa.PrimaryKeyConstraint("job", "task", name=op.f("pk_job_tasks")),
    )
    op.create_table(
        "model_rules",
        _number("project"),
        sa.Column("settings", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("after_run", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("changed_at", column_types.Moment(), nullable=False),
        _number("changed_by", null=True),
        _key("model_rules", "changed_by", "users.id"),
        _key("model_rules", "project", "projects.id"),
        sa.PrimaryKeyConstraint("project", name=op.f("pk_model_rules")),
    )


def _answers() -> None:
    op.create_table(
        "model_answers",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        _number("project"),
        _number("job"),
        _number("rater"),
        _number("task"),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("rating_id", sa.Text(), nullable=True),
        sa.Column("answered", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("grade", sa.Double(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("input_tokens", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("output_tokens", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("cost", sa.Double(), nullable=True),
        sa.Column("attempts", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("answer", sa.Text(), server_default="", nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        _key("model_answers", "job", "model_jobs.id"),
        _key("model_answers", "project", "projects.id"),
        _key("model_answers", "rater", "raters.id"),
        _key("model_answers", "task", "tasks.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_answers")),
    )
    for columns in (["project", "rater", "id"], ["job"], ["rating_id"]):
        name = op.f("_".join(["ix_model_answers", *columns]))
        op.create_index(name, "model_answers", columns)


def _admissions() -> None:
    verdicts = "'pass', 'fail', 'inconclusive', 'withdrawn'"
    op.create_table(
        "admissions",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        _number("project"),
        _number("rater"),
        sa.Column("verdict", sa.Text(), nullable=False),
        _number("result", null=True),
        sa.Column("last_rating", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        _number("user", null=True),
        sa.CheckConstraint(f"verdict IN ({verdicts})", name=op.f("ck_admissions_verdict")),
        _key("admissions", "project", "projects.id"),
        _key("admissions", "rater", "raters.id"),
        _key("admissions", "result", "results.id"),
        _key("admissions", "user", "users.id"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_admissions")),
    )
    op.create_index(op.f("ix_admissions_project_rater_id"), "admissions", ["project", "rater", "id"])
