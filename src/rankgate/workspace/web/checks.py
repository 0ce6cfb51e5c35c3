"""Checks of the server's health: database, version of the schema, and space on disk."""

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

MIN_FREE_BYTES = 100_000_000
"""Bytes that must be free where the store writes."""


def check_health(store: Store) -> dict[str, str]:
    """The result of each check: ``ok``, or the problem without addresses and paths."""
    results = {"database": "ok", "migrations": "ok", "disk": "ok"}
    try:
        with store.read() as connection:
            if versions.version(connection) != versions.newest_version():
                results["migrations"] = "the store is of another version than the program"
    except RankgateError:
        results["database"] = results["migrations"] = "the database does not answer"
    for location, free in count_free_bytes(store).items():
        if free < MIN_FREE_BYTES:
            results["disk"] = f"{free:,} bytes are free for the {location}"
    return results


def count_free_bytes(store: Store) -> dict[str, int]:
    """Free bytes by location: the ``database`` of SQLite, and the folder of ``blobs``."""
    paths: dict[str, Path] = {}
    if (file := file_of(store.url)) is not None:
        paths["database"] = file.parent
    if isinstance(store.blobs, Folder):
        paths["blobs"] = store.blobs.folder
    free_bytes = {}
    for name, path in paths.items():
        existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        with suppress(OSError):  # the folder of blobs is made with the first one
            free_bytes[name] = shutil.disk_usage(existing).free
    return free_bytes
