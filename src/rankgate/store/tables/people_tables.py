"""Tables of users, user rights, and the audit log."""

from __future__ import annotations

import sqlalchemy as sa

from rankgate.store.tables import columns as column_types
from rankgate.store.tables.columns import METADATA, reference, row_id, text

ROLES = ("admin", "manager", "rater", "viewer")
"""The roles in a project, the most powerful first."""

settings = sa.Table("settings", METADATA, sa.Column("name", sa.Text, primary_key=True), text("value"))
"""Settings of the store: its name and the location of its blobs."""

users = sa.Table(
    "users",
    METADATA,
    row_id(),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    text("display", ""),
    column_types.optional_text("password_hash"),
    column_types.optional_text("issuer"),
    column_types.optional_text("subject"),
    column_types.boolean("admin"),
    column_types.boolean("disabled"),
    column_types.moment("created_at"),
    sa.UniqueConstraint("issuer", "subject"),
)
"""Users who sign in by password or by an OpenID Connect identity."""

projects = sa.Table(
    "projects",
    METADATA,
    row_id(),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    text("title", ""),
    text("description", ""),
    column_types.json_column("settings"),
    column_types.moment("created_at"),
    column_types.moment("archived_at", null=True),
)
"""Projects, which own all other data."""

roles = sa.Table(
    "roles",
    METADATA,
    reference("project", "projects.id", key=True),
    reference("user", "users.id", key=True),
    text("role"),
    column_types.one_of("role", "role", *ROLES),
    sa.Index(None, "user"),
)
"""Roles of users in projects."""

invitations = sa.Table(
    "invitations",
    METADATA,
    row_id(),
    sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
    reference("project", "projects.id", null=True),
    column_types.optional_text("role"),
    column_types.boolean("admin"),
    text("name", ""),
    reference("created_by", "users.id", null=True),
    column_types.moment("created_at"),
    column_types.moment("expires_at"),
    column_types.moment("used_at", null=True),
    reference("used_by", "users.id", null=True),
    column_types.moment("revoked_at", null=True),
)
"""Invitation links that let a person become a user once."""

tokens = sa.Table(
    "tokens",
    METADATA,
    row_id(),
    reference("user", "users.id"),
    reference("project", "projects.id", null=True),
    text("name"),
    sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
    column_types.json_column("scopes", "[]"),
    column_types.moment("created_at"),
    column_types.moment("expires_at", null=True),
    column_types.moment("revoked_at", null=True),
    column_types.moment("used_at", null=True),
    sa.Index(None, "user"),
)
"""Tokens of the REST API, stored only as hashes."""

sessions = sa.Table(
    "sessions",
    METADATA,
    row_id(),
    sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
    reference("user", "users.id"),
    text("csrf"),
    column_types.moment("created_at"),
    column_types.moment("seen_at"),
    column_types.moment("expires_at"),
    text("address", ""),
    text("browser", ""),
    sa.Index(None, "user"),
)
"""Sessions of signed-in users; cookies are stored only as hashes."""

one_time_secrets = sa.Table(
    "one_time_secrets",
    METADATA,
    row_id(),
    sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
    reference("user", "users.id"),
    text("purpose"),
    column_types.moment("created_at"),
    column_types.moment("expires_at"),
    sa.Index(None, "user"),
)
"""Links to set a password, and sign-ins that wait for a code: hashes that are deleted after use."""

second_factors = sa.Table(
    "second_factors",
    METADATA,
    reference("user", "users.id", key=True),
    text("secret"),
    column_types.number("last_step"),
    column_types.moment("created_at"),
    column_types.moment("confirmed_at", null=True),
)
"""Second factors; an unconfirmed second factor is not required at sign-in."""

recovery_codes = sa.Table(
    "recovery_codes",
    METADATA,
    row_id(),
    reference("user", "users.id"),
    text("code_hash"),
    sa.Index(None, "user"),
)
"""Recovery codes of second factors: hashes that are deleted after use."""

sign_ins = sa.Table(
    "sign_ins",
    METADATA,
    row_id(),
    text("name"),
    text("address", ""),
    column_types.moment("at"),
    column_types.boolean("good"),
    column_types.boolean("checked", default=True),
    sa.Index(None, "name", "at"),
    sa.Index(None, "address", "at"),
)
"""Sign-in attempts, recorded to slow down password guessing; ``checked`` once the answer is known."""

audit_log = sa.Table(
    "audit_log",
    METADATA,
    row_id(),
    column_types.moment("at"),
    reference("user", "users.id", null=True),
    text("actor", ""),
    text("action"),
    reference("project", "projects.id", null=True),
    text("subject", ""),
    column_types.json_column("details"),
    sa.Index(None, "project", "id"),
)
"""The audit log: actions with actor and time; rows are only added."""
