"""Records of a log as events: SQL from the texts of a mapping to the table of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.online.database import Database, named, quoted
from rankgate.online.events.table import COLUMNS, KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.online.events.mapping import LogMapping
    from rankgate.online.events.privacy import Privacy

PROBLEMS: Mapping[str, tuple[str, str]] = {
    "invalid-json": ("invalid", "lines are not JSON and were left out"),
    "not-an-event": ("kind IS NULL AND NOT invalid", "records are neither events nor queries"),
    "no-time": ("kind IS NOT NULL AND t IS NULL", "events have no time"),
    "unreadable-time": ('kind IS NOT NULL AND "at" IS NULL AND t IS NOT NULL',
                        "events have a time that cannot be read"),
    "time-without-zone": ("kind IS NOT NULL AND naive", "times name no time zone"),
    "unreadable-rank": ("kind IS NOT NULL AND position IS NULL AND f_rank IS NOT NULL",
                        "ranks are not numbers"),
    "negative-rank": ("position < 0", "ranks are negative"),
    "unreadable-value": ("kind IS NOT NULL AND value IS NULL AND f_value IS NOT NULL",
                         "values are not finite numbers"),
    "unmapped-action": ("unmapped", "events have an action that no kind is known for"),
}  # fmt: skip
"""By code the SQL of records with a problem, and what it is in words."""


def stage(base: Database, mapping: LogMapping) -> None:
    """Make the table ``staged`` of the view ``raw``: typed columns, and what was wrong."""
    zone = quoted(mapping.time_zone)
    flags = "".join(f"flag_{kind}, " for kind in mapping.flags)
    number = "try_cast(f_at AS DOUBLE)"
    micros = (
        f"CASE WHEN abs({number}) >= 1e17 THEN {number} / 1e3 WHEN abs({number}) >= 1e14 "
        f"THEN {number} WHEN abs({number}) >= 1e11 THEN {number} * 1e3 ELSE {number} * 1e6 END"
    )
    zoned = "regexp_matches(f_at, '(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)$')"
    naive = (
        f"{number} IS NULL AND try_cast(f_at AS TIMESTAMP) IS NOT NULL AND "
        f"NOT ({zoned} AND f_at LIKE '%:%')"
    )
    base.run(
        f"CREATE OR REPLACE TEMP TABLE staged AS SELECT source_line, invalid, {flags}f_event_id, "
        f"f_at AS t, {naive} AS naive, CASE WHEN {number} IS NOT NULL THEN "
        f"make_timestamptz(CAST({micros} AS BIGINT)) WHEN {naive} THEN "
        f"timezone({zone}, try_cast(f_at AS TIMESTAMP)) ELSE try_cast(f_at AS TIMESTAMPTZ) END "
        f"AS at, {_kind(mapping)} AS kind, {_unmapped(mapping)} AS unmapped, "
        "coalesce(f_action, 'ubi_query') AS action, f_query_event_id AS query_event_id, "
        'f_query AS query, f_session AS session, f_user AS "user", f_doc_id AS doc_id, '
        "CASE WHEN f_rank NOT LIKE '{%' THEN f_rank END AS f_rank, "
        "CAST(CASE WHEN isfinite(try_cast(f_rank AS DOUBLE)) AND abs(try_cast(f_rank AS DOUBLE)) "
        "< 2e9 THEN try_cast(f_rank AS DOUBLE) END AS INTEGER) AS position, "
        f"{_VALUE} AS f_value, {_finite(_VALUE)} AS value, f_variant AS variant, "
        "try_cast(f_page AS INTEGER) AS page, "
        f"{_finite('f_latency_ms')} AS latency_ms, try_cast(lower(f_cache_hit) AS BOOLEAN) "
        f"AS cache_hit, {_STATE} AS state, f_response_ids AS response_ids, "
        "coalesce(f_application, '') AS application, CASE WHEN json_valid(f_attributes) THEN "
        "json_merge_patch(f_attributes, json_object('application', f_application))::VARCHAR "
        "WHEN f_application IS NOT NULL THEN json_object('application', f_application)::VARCHAR "
        "END AS attributes FROM raw WHERE NOT (container AND f_action IS NULL AND f_query IS NULL)"
    )


_STATE = (
    "CASE WHEN lower(f_state) IN ('ok', 'zero', 'failed') THEN lower(f_state) "
    "WHEN lower(f_state) IN ('error', 'timeout', 'fail') THEN 'failed' "
    "WHEN try_cast(f_hits AS BIGINT) = 0 OR json_array_length(CASE WHEN json_valid(f_response_ids) "
    "THEN f_response_ids END) = 0 THEN 'zero' WHEN try_cast(f_hits AS BIGINT) > 0 OR "
    "json_array_length(CASE WHEN json_valid(f_response_ids) THEN f_response_ids END) > 0 "
    "THEN 'ok' END"
)
_VALUE = "CASE WHEN kind = 'dwell' THEN coalesce(f_seconds, f_value) ELSE f_value END"
_ACTION = "regexp_replace(lower(f_action), '[- ]', '_', 'g')"


def _finite(text: str) -> str:
    return f"CASE WHEN isfinite(try_cast({text} AS DOUBLE)) THEN try_cast({text} AS DOUBLE) END"


def _kind(mapping: LogMapping) -> str:
    whens = " ".join(
        f"WHEN {quoted(action)} THEN {quoted(kind)}" for action, kind in mapping.kinds.items()
    )
    without = "NULL"
    if mapping.kind:
        without = quoted(mapping.kind)
    elif mapping.ubi:
        without = "CASE WHEN f_query IS NOT NULL OR f_query_event_id IS NOT NULL THEN 'search' END"
    return (
        f"CASE WHEN invalid THEN NULL WHEN f_action IS NULL THEN {without} "
        f"ELSE CASE {_ACTION} {whens} ELSE 'other' END END"
    )


def _unmapped(mapping: LogMapping) -> str:
    known = ", ".join(quoted(action) for action in mapping.kinds)
    return f"coalesce(f_action IS NOT NULL AND {_ACTION} NOT IN ({known}), false)"


def write_events(
    base: Database,
    target: str,
    source: tuple[str, str],
    bases: Mapping[str, int],
    mapping: LogMapping,
    privacy: Privacy,
) -> None:
    """Write the events of ``staged`` as Parquet.

    Args:
        base: has the table ``staged``.
        target: the Parquet file.
        source: the name of the log's file, and its hash for ids of events.
        bases: by application the rank from which its log counts.
        mapping: has the flags.
        privacy: what is left out.
    """
    if frequent := privacy.frequent:
        base.run(f"CREATE OR REPLACE TEMP TABLE frequent_queries AS {frequent}")
    name, sha256 = source
    shift = " ".join(f"WHEN {quoted(app)} THEN {1 - first}" for app, first in bases.items())
    rank = f"position + CASE application {shift} ELSE 0 END" if shift else "position"
    number = f"coalesce(f_event_id, {quoted(sha256[:8])} || ':' || source_line)"
    plain = {
        **dict.fromkeys(COLUMNS, ""),
        "event_id": number,
        "rank": f"CASE WHEN {rank} >= 1 THEN {rank} END",
        "state": "CASE WHEN kind = 'search' THEN state END",
        "source_file": quoted(name),
    }
    events = [f"SELECT {_listed(plain)} FROM staged WHERE kind IS NOT NULL"]
    for kind in mapping.flags:
        also = {**plain, "event_id": f"{number} || ':{kind}'", "kind": quoted(kind),
                "action": quoted(kind)}  # fmt: skip
        events.append(f"SELECT {_listed(also)} FROM staged WHERE kind IS NOT NULL AND flag_{kind}")
    events.append(_responses(plain, number))
    kept = {column: privacy.columns().get(column, named(column)) for column in COLUMNS}
    chosen = ", ".join(
        f"CAST({sql} AS {COLUMNS[column]}) AS {named(column)}" for column, sql in kept.items()
    )
    base.run(
        f"COPY (SELECT {chosen} FROM ({' UNION ALL '.join(events)})) TO {quoted(target)} "
        "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
    )


def copy_events(base: Database, path: Path, target: str, privacy: Privacy) -> None:
    """Write a table of events as Parquet, with every column and what privacy leaves of it.

    Raises:
        InputError: kinds that there are not, or a value that its column cannot hold.
    """
    source = f"read_parquet({quoted(str(path))}, file_row_number = true)"
    columns = base.rows(f"DESCRIBE SELECT * FROM {source}")["column_name"].to_list()
    without = {"event_id": f"{quoted(path.name)} || ':' || (file_row_number + 1)",
               "source_file": quoted(path.name), "source_line": "file_row_number + 1"}  # fmt: skip
    plain = ", ".join(
        f"CAST({named(name) if name in columns else without.get(name, 'NULL')} AS {kind}) AS "
        f"{named(name)}"
        for name, kind in COLUMNS.items()
    )
    base.run(f"CREATE OR REPLACE TEMP TABLE staged AS SELECT {plain} FROM {source}")
    unknown = base.rows(
        f"SELECT coalesce(kind, 'null') AS kind FROM staged WHERE kind IS NULL OR kind NOT IN "
        f"({', '.join(map(quoted, KINDS))}) LIMIT 1"
    )
    if len(unknown):
        problem = f"no kind of event is called {unknown.item()!r}; there are {', '.join(KINDS)}."
        raise InputError(problem, source=str(path), code="unknown-kind")
    if frequent := privacy.frequent:
        base.run(f"CREATE OR REPLACE TEMP TABLE frequent_queries AS {frequent}")
    kept = ", ".join(
        f"CAST({privacy.columns().get(name, named(name))} AS {kind}) AS {named(name)}"
        for name, kind in COLUMNS.items()
    )
    base.run(
        f"COPY (SELECT {kept} FROM staged) TO {quoted(target)} "
        "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
    )
    base.run("DROP TABLE staged")


def _responses(plain: Mapping[str, str], number: str) -> str:
    """Impressions from the lists of ids of searches for which the log has no impressions."""
    listed = {
        **plain,
        "event_id": f"{number} || ':' || place",
        "kind": "'impression'",
        "action": "'query_response'",
        "doc_id": "ids[place]",
        "rank": "place",
        "state": "NULL",
        "value": "NULL",
        "latency_ms": "NULL",
    }
    return (
        f"SELECT {_listed(listed)} FROM (SELECT *, unnest(range(1, len(ids) + 1)) AS place FROM ("
        "SELECT *, from_json(response_ids, '[\"VARCHAR\"]') AS ids FROM staged WHERE "
        "kind = 'search' AND json_valid(response_ids) AND query_event_id NOT IN (SELECT "
        "query_event_id FROM staged WHERE kind = 'impression' AND query_event_id IS NOT NULL)))"
    )


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql or named(name)} AS {named(name)}" for name, sql in columns.items())
