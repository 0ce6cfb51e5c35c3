"""The first schema. Written by alembic's autogenerate; a migration never changes."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.tables import columns as column_types

revision = "0001"
down_revision = None

_APPEND_ONLY = ("ratings", "preferences", "audit_log")


def upgrade() -> None:
    """Make all tables, and hold those of facts against changes."""
    _tables()
    guarded(*_APPEND_ONLY)


def guarded(*tables: str) -> None:
    """Hold tables of facts against changes."""
    for table in tables:
        if op.get_bind().dialect.name == "sqlite":
            _guard_sqlite(table)
        else:
            _guard_postgresql(table)


def _guard_sqlite(table: str) -> None:
    for change in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT "
            f"RAISE(ABORT, '{table} is only added to'); END"
        )


def _guard_postgresql(table: str) -> None:
    op.execute(
        "CREATE OR REPLACE FUNCTION rankgate_only_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
        "EXCEPTION '% is only added to', TG_TABLE_NAME; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} FOR EACH STATEMENT "
        "EXECUTE FUNCTION rankgate_only_added()"
    )


def _tables() -> None:
    op.create_table(
        "blobs",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_blobs")),
    )
    op.create_table(
        "projects",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("settings", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("archived_at", column_types.Moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("name", name=op.f("uq_projects_name")),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
    )
    op.create_table(
        "sign_ins",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), server_default="", nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        sa.Column("good", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ins")),
    )
    op.create_index(op.f("ix_sign_ins_address_at"), "sign_ins", ["address", "at"])
    op.create_index(op.f("ix_sign_ins_name_at"), "sign_ins", ["name", "at"])
    op.create_table(
        "users",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("display", sa.Text(), server_default="", nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("issuer", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("admin", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_users_issuer_subject")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=True),
        sa.Column("actor", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=True),
        sa.Column("subject", sa.Text(), server_default="", nullable=False),
        sa.Column("details", column_types.OBJECT, server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_audit_log_project")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_audit_log_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index(op.f("ix_audit_log_project_id"), "audit_log", ["project", "id"])
    op.create_table(
        "batches",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), server_default="rating", nullable=False),
        sa.Column("strategy", sa.Text(), server_default="1", nullable=False),
        sa.Column("most", column_types.NUMBER, server_default="5", nullable=False),
        sa.Column("priority", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("deadline", column_types.Moment(), nullable=True),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("blind", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("by_query", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("seed", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("guideline", sa.Text(), nullable=True),
        sa.Column("settings", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("created_by", column_types.NUMBER, nullable=True),
        sa.CheckConstraint(
            "kind IN ('rating', 'training', 'documents', 'lists')", name=op.f("ck_batches_kind")
        ),
        sa.CheckConstraint("state IN ('open', 'paused', 'closed')", name=op.f("ck_batches_state")),
        sa.CheckConstraint("strategy IN ('1', '2', '3', 'agree')", name=op.f("ck_batches_strategy")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_batches_created_by")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_batches_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
        sa.UniqueConstraint("project", "name", name=op.f("uq_batches_project_name")),
    )
    op.create_table(
        "documents",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("of_query", sa.Text(), server_default="", nullable=False),
        sa.Column("fields", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_documents_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint(
            "project", "doc_id", "of_query", name=op.f("uq_documents_project_doc_id_of_query")
        ),
    )
    op.create_table(
        "guidelines",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("created_by", column_types.NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_guidelines_created_by")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_guidelines_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_guidelines")),
        sa.UniqueConstraint("project", "version", name=op.f("uq_guidelines_project_version")),
    )
    op.create_table(
        "invitations",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=True),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("admin", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("created_by", column_types.NUMBER, nullable=True),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("expires_at", column_types.Moment(), nullable=False),
        sa.Column("used_at", column_types.Moment(), nullable=True),
        sa.Column("used_by", column_types.NUMBER, nullable=True),
        sa.Column("revoked_at", column_types.Moment(), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_invitations_created_by")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_invitations_project")),
        sa.ForeignKeyConstraint(["used_by"], ["users.id"], name=op.f("fk_invitations_used_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_invitations_secret_hash")),
    )
    op.create_table(
        "judgments",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("rows", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("scale", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("unjudged", column_types.OBJECT, server_default="[]", nullable=False),
        sa.Column("made_by", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("last_rating", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("created_by", column_types.NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["blob"], ["blobs.sha256"], name=op.f("fk_judgments_blob")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_judgments_created_by")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_judgments_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgments")),
        sa.UniqueConstraint("project", "name", name=op.f("uq_judgments_project_name")),
    )
    op.create_table(
        "queries",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("information_need", sa.Text(), nullable=True),
        sa.Column("tags", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("frequency", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_queries_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queries")),
        sa.UniqueConstraint("project", "query_id", name=op.f("uq_queries_project_query_id")),
    )
    op.create_table(
        "raters",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("kind", sa.Text(), server_default="person", nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=True),
        sa.Column("identity", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.CheckConstraint("kind IN ('person', 'model')", name=op.f("ck_raters_kind")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_raters_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_raters")),
        sa.UniqueConstraint("kind", "name", name=op.f("uq_raters_kind_name")),
        sa.UniqueConstraint("user", name=op.f("uq_raters_user")),
    )
    op.create_table(
        "results",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), server_default="", nullable=False),
        sa.Column("summary", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("created_by", column_types.NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["blob"], ["blobs.sha256"], name=op.f("fk_results_blob")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_results_created_by")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_results_project")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_results")),
    )
    op.create_index(op.f("ix_results_project_kind_id"), "results", ["project", "kind", "id"])
    op.create_table(
        "roles",
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.CheckConstraint("role IN ('admin', 'manager', 'rater', 'viewer')", name=op.f("ck_roles_role")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_roles_project")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_roles_user")),
        sa.PrimaryKeyConstraint("project", "user", name=op.f("pk_roles")),
    )
    op.create_index(op.f("ix_roles_user"), "roles", ["user"])
    op.create_table(
        "runs",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tag", sa.Text(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("rows", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("queries", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("states", sa.Text(), nullable=True),
        sa.Column("ordered", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("made_by", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("created_by", column_types.NUMBER, nullable=True),
        sa.ForeignKeyConstraint(["blob"], ["blobs.sha256"], name=op.f("fk_runs_blob")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_runs_created_by")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_runs_project")),
        sa.ForeignKeyConstraint(["states"], ["blobs.sha256"], name=op.f("fk_runs_states")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("project", "name", name=op.f("uq_runs_project_name")),
    )
    op.create_table(
        "scale_grades",
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("grade", sa.Double(), nullable=False),
        sa.Column("label", sa.Text(), server_default="", nullable=False),
        sa.Column("colour", sa.Text(), server_default="", nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_scale_grades_project")),
        sa.PrimaryKeyConstraint("project", "grade", name=op.f("pk_scale_grades")),
    )
    op.create_table(
        "sessions",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=False),
        sa.Column("csrf", sa.Text(), nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("seen_at", column_types.Moment(), nullable=False),
        sa.Column("expires_at", column_types.Moment(), nullable=False),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_sessions_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_sessions_secret_hash")),
    )
    op.create_index(op.f("ix_sessions_user"), "sessions", ["user"])
    op.create_table(
        "tokens",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("user", column_types.NUMBER, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("scopes", column_types.OBJECT, server_default="[]", nullable=False),
        sa.Column("created_at", column_types.Moment(), nullable=False),
        sa.Column("expires_at", column_types.Moment(), nullable=True),
        sa.Column("revoked_at", column_types.Moment(), nullable=True),
        sa.Column("used_at", column_types.Moment(), nullable=True),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_tokens_project")),
        sa.ForeignKeyConstraint(["user"], ["users.id"], name=op.f("fk_tokens_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_tokens_secret_hash")),
    )
    op.create_index(op.f("ix_tokens_user"), "tokens", ["user"])
    op.create_table(
        "cursors",
        sa.Column("batch", column_types.NUMBER, nullable=False),
        sa.Column("rater", column_types.NUMBER, nullable=False),
        sa.Column("place", column_types.NUMBER, nullable=False),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name=op.f("fk_cursors_batch")),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name=op.f("fk_cursors_rater")),
        sa.PrimaryKeyConstraint("batch", "rater", name=op.f("pk_cursors")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("batch", column_types.NUMBER, nullable=False),
        sa.Column("query", column_types.NUMBER, nullable=False),
        sa.Column("document", column_types.NUMBER, nullable=True),
        sa.Column("other_document", column_types.NUMBER, nullable=True),
        sa.Column("run", column_types.NUMBER, nullable=True),
        sa.Column("other_run", column_types.NUMBER, nullable=True),
        sa.Column("priority", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("place", column_types.NUMBER, nullable=False),
        sa.Column("gold", sa.Double(), nullable=True),
        sa.Column("gold_why", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), server_default="open", nullable=False),
        sa.Column("grades", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("answers", column_types.NUMBER, server_default="0", nullable=False),
        sa.Column("pool", column_types.OBJECT, server_default="{}", nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'done', 'disputed')", name=op.f("ck_tasks_state")),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name=op.f("fk_tasks_batch")),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_tasks_document")),
        sa.ForeignKeyConstraint(["other_document"], ["documents.id"], name=op.f("fk_tasks_other_document")),
        sa.ForeignKeyConstraint(["other_run"], ["runs.id"], name=op.f("fk_tasks_other_run")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_tasks_project")),
        sa.ForeignKeyConstraint(["query"], ["queries.id"], name=op.f("fk_tasks_query")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_tasks_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("batch", "query", "subject", name=op.f("uq_tasks_batch_query_subject")),
    )
    op.create_index(
        op.f("ix_tasks_batch_state_priority_place"), "tasks", ["batch", "state", "priority", "place"]
    )
    op.create_index(op.f("ix_tasks_project_query_document"), "tasks", ["project", "query", "document"])
    op.create_table(
        "assignments",
        sa.Column("task", column_types.NUMBER, nullable=False),
        sa.Column("rater", column_types.NUMBER, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("until", column_types.Moment(), nullable=True),
        sa.Column("grade", sa.Double(), nullable=True),
        sa.Column("choice", sa.Text(), server_default="", nullable=False),
        sa.Column("at", column_types.Moment(), nullable=False),
        sa.CheckConstraint("state IN ('locked', 'later', 'answered')", name=op.f("ck_assignments_state")),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name=op.f("fk_assignments_rater")),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"], name=op.f("fk_assignments_task")),
        sa.PrimaryKeyConstraint("task", "rater", name=op.f("pk_assignments")),
    )
    op.create_index(op.f("ix_assignments_rater_state_task"), "assignments", ["rater", "state", "task"])
    op.create_table(
        "preferences",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("preference_id", sa.Text(), nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("task", column_types.NUMBER, nullable=True),
        sa.Column("query", column_types.NUMBER, nullable=False),
        sa.Column("rater", column_types.NUMBER, nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("guideline", sa.Text(), nullable=True),
        sa.Column("at", column_types.Moment(), nullable=True),
        sa.Column("recorded_at", column_types.Moment(), nullable=False),
        sa.Column("corrects", sa.Text(), nullable=True),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("right", sa.Text(), nullable=False),
        sa.Column("choice", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "choice IN ('left', 'right', 'equal', 'none')", name=op.f("ck_preferences_choice")
        ),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_preferences_project")),
        sa.ForeignKeyConstraint(["query"], ["queries.id"], name=op.f("fk_preferences_query")),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name=op.f("fk_preferences_rater")),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"], name=op.f("fk_preferences_task")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_preferences")),
        sa.UniqueConstraint("preference_id", name=op.f("uq_preferences_preference_id")),
    )
    op.create_index(op.f("ix_preferences_project_id"), "preferences", ["project", "id"])
    op.create_table(
        "ratings",
        sa.Column("id", column_types.NUMBER, autoincrement=True, nullable=False),
        sa.Column("rating_id", sa.Text(), nullable=False),
        sa.Column("project", column_types.NUMBER, nullable=False),
        sa.Column("task", column_types.NUMBER, nullable=True),
        sa.Column("query", column_types.NUMBER, nullable=False),
        sa.Column("rater", column_types.NUMBER, nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("guideline", sa.Text(), nullable=True),
        sa.Column("at", column_types.Moment(), nullable=True),
        sa.Column("recorded_at", column_types.Moment(), nullable=False),
        sa.Column("corrects", sa.Text(), nullable=True),
        sa.Column("document", column_types.NUMBER, nullable=False),
        sa.Column("grade", sa.Double(), nullable=True),
        sa.Column("final", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("training", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("source", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_ratings_document")),
        sa.ForeignKeyConstraint(["project"], ["projects.id"], name=op.f("fk_ratings_project")),
        sa.ForeignKeyConstraint(["query"], ["queries.id"], name=op.f("fk_ratings_query")),
        sa.ForeignKeyConstraint(["rater"], ["raters.id"], name=op.f("fk_ratings_rater")),
        sa.ForeignKeyConstraint(["task"], ["tasks.id"], name=op.f("fk_ratings_task")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ratings")),
        sa.UniqueConstraint("rating_id", name=op.f("uq_ratings_rating_id")),
    )
    op.create_index(op.f("ix_ratings_project_id"), "ratings", ["project", "id"])
    op.create_index(
        op.f("ix_ratings_project_query_document_rater_id"),
        "ratings",
        ["project", "query", "document", "rater", "id"],
    )
    op.create_index(op.f("ix_ratings_task"), "ratings", ["task"])
