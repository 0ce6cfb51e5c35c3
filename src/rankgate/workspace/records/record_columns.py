"""Columns of recorded evaluations, and how their times and revisions are shown."""

from __future__ import annotations

import polars as pl

from rankgate.core.present.columns import Column


def format_minute(moment: str) -> str:
    """A time in ISO 8601 to the minute.

    >>> format_minute("2026-03-01T12:30:05+00:00")
    '2026-03-01 12:30'
    """
    return moment[:16].replace("T", " ")


def format_revision(revision: str) -> str:
    """The first 12 digits of a revision, and its mark of uncommitted changes.

    >>> format_revision("0123456789abcdef+")
    '0123456789ab+'
    """
    return revision.rstrip("+")[:12] + revision[len(revision.rstrip("+")) :]


KIND = Column("kind", pl.String, "the kind of result")
REVISION = Column("revision", pl.String, "the revision of git", format_revision)
BRANCH = Column("branch", pl.String, "the branch of git")
VERDICT = Column("verdict", pl.String, "the verdict of a gate; null for other results")
