"""Resolved judgments: one grade a pair, the rule that made them, and their hash."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, Scale
from rankgate.store.kept.blobs import Blobs, keep
from rankgate.store.kept.parquet import packed, unpacked
from rankgate.store.rows import (
    addressable,
    all_of,
    named,
    new_id,
    now,
    refuse_unaddressable,
    taken,
    unknown,
)
from rankgate.store.tables.facts import ratings
from rankgate.store.tables.results import judgments

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class StoredJudgments:
    """What is known of judgments without their grades.

    Attributes:
        id: the number.
        name: unique in the project.
        sha256: of the canonical table, as `Qrels.sha256`.
        rows: how many.
        blob: the hash of the grades.
        scale: lowest, highest, labels; empty where nobody knows.
        unjudged: queries without judgments.
        made_by: rule and parameters.
        last_rating: the number of the last rating that the store had then.
        created_at: when they were made.
        created_by: by whom.
    """

    id: int
    name: str
    sha256: str
    rows: int
    blob: str
    scale: Mapping[str, Any]
    unjudged: list[str]
    made_by: Mapping[str, Any]
    last_rating: int
    created_at: datetime
    created_by: int | None


def add(
    connection: Connection,
    blobs: Blobs,
    project: int,
    qrels: Qrels,
    *,
    name: str = "",
    created_by: int | None = None,
) -> StoredJudgments:
    """Add judgments; the same judgments under the same name are added once.

    Args:
        connection: of a store, to write.
        blobs: where the grades go.
        project: the number.
        qrels: the judgments.
        name: by default their own, as far as it can be in the address of a page.
        created_by: a user.

    Raises:
        UsageError: the name is that of other judgments, or cannot be in an address.
    """
    if name:
        refuse_unaddressable("judgments", name)
    name = name or addressable(qrels.name)
    known = find(connection, project, name)
    if known is not None:
        if known.sha256 != qrels.sha256:
            raise taken("judgments", name)
        return known
    last = sa.select(sa.func.max(ratings.c.id)).where(ratings.c.project == project)
    scale = qrels.scale
    new_id(
        connection, judgments, project=project, name=name, sha256=qrels.sha256,
        rows=len(qrels.table), blob=keep(connection, blobs, packed(qrels.table)),
        scale={} if scale is None else {
            "lowest": scale.lowest, "highest": scale.highest,
            "labels": [list(each) for each in scale.labels]},
        unjudged=list(qrels.unjudged), made_by=dict(qrels.made_by or {}),
        last_rating=connection.scalar(last) or 0, created_at=now(), created_by=created_by,
    )  # fmt: skip
    found = find(connection, project, name)
    assert found is not None
    return found


def find(connection: Connection, project: int, name: str) -> StoredJudgments | None:
    """Judgments of a project by name, without their grades; None where there are none."""
    return named(connection, StoredJudgments, judgments, project, name)


def listed(
    connection: Connection, project: int, *, archived: bool = False
) -> list[StoredJudgments]:
    """All judgments of a project, the oldest first; those that are archived only where wanted."""
    return all_of(connection, StoredJudgments, judgments, project, archived=archived)


def read(connection: Connection, blobs: Blobs, project: int, name: str) -> Qrels:
    """Judgments with their grades.

    Raises:
        UsageError: there are none of this name.
        InputError: their blob is missing or damaged.
    """
    found = find(connection, project, name)
    if found is None:
        raise unknown("judgments", name)
    scale = None
    if found.scale:
        labels = tuple((grade, str(label)) for grade, label in found.scale["labels"])
        scale = Scale(found.scale["lowest"], found.scale["highest"], labels)
    table = unpacked(blobs.get(found.blob), blobs.where)
    return Qrels(table, name, scale, tuple(found.unjudged), found.made_by or None, Place(name))
