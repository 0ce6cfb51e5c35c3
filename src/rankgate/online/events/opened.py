"""Events for a verb: a folder that ``ingest`` made, a table, or logs that are read on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.errors import InputError
from rankgate.online.database import Database, named, quoted
from rankgate.online.events.ingest import MANIFEST, ZONE, files_of, ingested
from rankgate.online.events.mapping import UBI, LogMapping, read_mapping
from rankgate.online.events.privacy import Privacy
from rankgate.online.events.sources import is_event_table
from rankgate.online.events.table import COLUMNS

if TYPE_CHECKING:
    from rankgate.data.inputs import Frame, Source

EventsLike: TypeAlias = "Source | Sequence[Source] | Frame"
"""A folder of events, a Parquet file or a frame with their columns, or files of logs."""


def open_events(
    base: Database, events: EventsLike, mapping: str | Path | LogMapping | None = None
) -> dict[str, Any]:
    """Make the view ``events``; return the manifest of what was read, empty where there is none.

    Days and weeks are those of the mapping's time zone; of a folder without a mapping, of the zone
    of the mapping that it was read with; else of UTC.

    Args:
        base: where the view is made.
        events: a folder of events, a table of events, or files of logs.
        mapping: says which column of a log holds what; without it logs are UBI.

    Raises:
        InputError: files that cannot be read; a table without the columns of events.
    """
    manifest = _opened(base, events, mapping)
    log_mapping = mapping if isinstance(mapping, LogMapping) else _mapping(mapping)
    zone = log_mapping.time_zone if mapping is not None else manifest.get(ZONE, "UTC")
    base.use_zone(zone)
    return {**manifest, ZONE: zone}


def _opened(
    base: Database, events: EventsLike, mapping: str | Path | LogMapping | None
) -> dict[str, Any]:
    """Make the view ``events``; see `open_events`."""
    if isinstance(events, str | Path) and (Path(events) / MANIFEST).is_file():
        return _folder(base, Path(events))
    if isinstance(events, str | Path):
        files = files_of(events)
        if all(is_event_table(base, each) for each in files):
            several = ", ".join(quoted(str(each)) for each in files)
            _view(base, f"read_parquet([{several}], union_by_name = true)", str(events))
            return {}
    if isinstance(events, str | Path | Sequence):
        chosen = mapping if isinstance(mapping, LogMapping) else _mapping(mapping)
        folder = Path(base.folder) / "events"
        ingested(base, files_of(events), folder, chosen, None, Privacy())
        return _folder(base, folder)
    import polars as pl

    frame = events.lazy().collect() if isinstance(events, pl.DataFrame | pl.LazyFrame) else events
    base.connection.register("given_frame", pl.DataFrame(frame).to_arrow())
    base.run("CREATE TEMP TABLE given_events AS SELECT * FROM given_frame")
    _view(base, "given_events", "events")
    return {}


def _mapping(path: str | Path | None) -> LogMapping:
    return UBI if path is None else read_mapping(path)


def _folder(base: Database, folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    parts = [quoted(str(folder / each["part"])) for each in manifest["files"].values()]
    if not parts:
        raise InputError("no events.", source=str(folder), code="no-events")
    _view(base, f"read_parquet([{', '.join(parts)}])", str(folder))
    return manifest


def _columns(base: Database, source: str) -> Mapping[str, str]:
    rows = base.rows(f"DESCRIBE SELECT * FROM {source}")
    return dict(zip(rows["column_name"], rows["column_type"], strict=True))


def _view(base: Database, source: str, name: str) -> None:
    """The view ``events``, with null for columns that a table does not have."""
    found = _columns(base, source)
    if not {"kind"} <= set(found):
        problem = f"not events: there is no column kind; the columns are {', '.join(found)}."
        raise InputError(problem, source=name, code="missing-column")
    columns = ", ".join(
        f"CAST({named(column) if column in found else 'NULL'} AS {kind}) AS {named(column)}"
        for column, kind in COLUMNS.items()
    )
    base.run(f"CREATE OR REPLACE TEMP VIEW events AS SELECT {columns} FROM {source}")
