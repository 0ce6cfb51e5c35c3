"""Annotate a history: what happened, and when."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from rankgate.workspace.records.moment import parse_moment
from rankgate.workspace.records.places.place import open_storage
from rankgate.workspace.records.provenance import provenance


def annotate(
    kind: str,
    text: str,
    to: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    at: str | datetime | None = None,
    revision: str | None = None,
) -> str:
    """Write down what happened, so that ``history`` shows it at its moment.

    Args:
        kind: deploy, judgments, incident or note.
        text: what.
        to: a folder of records.
        store: instead of a folder a store.
        project: the project in the store.
        at: when, if not now.
        revision: of git, of a deploy; by default that of the working directory, or of the build.

    Returns:
        The place.

    Raises:
        UsageError: no such kind, no place, a place that cannot be written.
    """
    happened_at = datetime.now(UTC).replace(microsecond=0) if at is None else parse_moment(at)
    if revision is None:
        revision = provenance().name if kind == "deploy" else ""
    with closing(open_storage(None if to is None else str(to), store, project)) as storage:
        storage.annotate(happened_at, kind, text, revision=revision)
        return storage.name
