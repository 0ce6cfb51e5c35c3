"""Whether the server can work: database, version of the schema, and space on disk."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError
from rankgate.store import versions
from rankgate.store.address import file_of
from rankgate.store.kept.blobs import Folder

if TYPE_CHECKING:
    from rankgate.store.store import Store

LEAST = 100_000_000
"""Bytes that must be free where the store writes."""


def problems(store: Store) -> dict[str, str]:
    """Each check with ``ok``, or what is wrong; no addresses and no paths."""
    found = {"database": "ok", "migrations": "ok", "disk": "ok"}
    try:
        with store.read() as connection:
            if versions.version(connection) != versions.newest():
                found["migrations"] = "the store is of another version than the program"
    except RankgateError:
        found["database"] = found["migrations"] = "the database does not answer"
    for place, free in disk_free(store).items():
        if free < LEAST:
            found["disk"] = f"{free:,} bytes are free for the {place}"
    return found


def disk_free(store: Store) -> dict[str, int]:
    """Free bytes by place: the ``database`` of SQLite, and the folder of ``blobs``."""
    places: dict[str, Path] = {}
    if (file := file_of(store.url)) is not None:
        places["database"] = file.parent
    if isinstance(store.blobs, Folder):
        places["blobs"] = store.blobs.folder
    found = {}
    for name, place in places.items():
        there = next(each for each in (place, *place.absolute().parents) if each.exists())
        with suppress(OSError):  # the folder of blobs is made with the first one
            found[name] = shutil.disk_usage(there).free
    return found
