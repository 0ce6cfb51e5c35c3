"""Records of a log as events: SQL from the texts of a mapping to the table of events.

`Privacy` has the rules for the words of queries and the ids of users.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from rankgate.core.declare import Range, check_fields
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.online.events.event_lists import ACTION_SQL, is_list_sql
from rankgate.online.events.event_table import COLUMNS, DIMENSION, KINDS, SESSION_PAUSE_SECONDS
from rankgate.online.log_database import Database, quote_identifier, quote_text

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.online.events.log_files import LogMapping


KEY_VARIABLE = "RANKGATE_HASH_KEY"
"""The environment variable that holds the key of hashes."""

_MIN_KEY_LENGTH = 16  # characters of a key


@dataclass(frozen=True)
class Privacy:
    """The treatment of the words of queries and of the ids of users and sessions.

    Attributes:
        queries: Keep the words of queries, drop or hash them, or keep the frequent ones only.
        users: Keep the ids of users and sessions, drop those of users, or hash both.
        min_users: The number of users who must have typed a query for it to count as frequent.

    Raises:
        UsageError: A value that a field cannot have.
    """

    queries: Literal["keep", "drop", "hash", "frequent"] = "keep"
    users: Literal["keep", "drop", "hash"] = "keep"
    min_users: Annotated[int, Range(2)] = 10

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, str | int]:
        """The rules as they are recorded next to the events; never the key."""
        settings: dict[str, str | int] = {"queries": self.queries, "users": self.users}
        return {**settings, "min_users": self.min_users} if self.queries == "frequent" else settings

    def columns(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The SQL that replaces columns of the events, by column.

        If any data are left out, other attributes are left out too: they may hold the same words.

        Raises:
            UsageError: a hash is requested and the environment has no key.
        """
        replacements: dict[str, str] = {}
        if self.queries == "hash":
            replacements["query"] = _hash_sql("query", environment)
        elif self.queries != "keep":
            replacements["query"] = "NULL" if self.queries == "drop" else _FREQUENT
        if self.users == "hash":
            replacements |= {name: _hash_sql(name, environment) for name in ("user", "session")}
        elif self.users == "drop":
            replacements["user"] = "NULL"
        if replacements:
            replacements["attributes"] = _NUMBERS
        return replacements

    @property
    def frequent(self) -> str:
        """SQL of the queries that are kept, from the table ``staged``; empty if not requested."""
        if self.queries != "frequent":
            return ""
        return (
            "SELECT query AS frequent FROM staged WHERE query IS NOT NULL GROUP BY query HAVING "
            f'count(DISTINCT coalesce("user", session)) >= {self.min_users}'
        )


_FREQUENT = "CASE WHEN query IN (SELECT frequent FROM frequent_queries) THEN query END"
_NUMBERS = (
    "CASE WHEN attributes IS NOT NULL THEN to_json({'application': attributes->>'$.application', "
    "'inference_ms': try_cast(attributes->>'$.inference_ms' AS DOUBLE), 'cpu_ms': "
    "try_cast(attributes->>'$.cpu_ms' AS DOUBLE), 'memory_mb': try_cast(attributes->>'$.memory_mb' AS "
    "DOUBLE)})::VARCHAR END"
)


def _hash_sql(column: str, environment: Mapping[str, str]) -> str:
    """A keyed hash: H(k2, H(k1, text)) with SHA-256 and two keys made from the secret key.

    DuckDB can compute this nested form (NMAC); each column has its own keys.
    """
    secret = environment.get(KEY_VARIABLE, "")
    if len(secret) < _MIN_KEY_LENGTH:
        problem = (
            f"a hash needs a key of at least {_MIN_KEY_LENGTH} characters in the variable {KEY_VARIABLE}."
        )
        raise UsageError(problem, code="missing-secret")
    inner, outer = (
        hmac.new(secret.encode(), f"{column}:{round_name}".encode(), hashlib.sha256).hexdigest()
        for round_name in ("inner", "outer")
    )
    name = f'"{column}"'
    return f"left(sha256({quote_text(outer)} || sha256({quote_text(inner)} || {name})), 32)"


PROBLEMS: Mapping[str, tuple[str, str]] = {
    "invalid-json": ("invalid", "lines are not JSON and were left out"),
    "not-an-event": ("kind IS NULL AND NOT invalid", "records are neither events nor queries"),
    "no-time": ("kind IS NOT NULL AND t IS NULL", "events have no time"),
    "unreadable-time": (
        'kind IS NOT NULL AND "at" IS NULL AND t IS NOT NULL',
        "events have a time that cannot be read",
    ),
    "time-without-zone": (
        "kind IS NOT NULL AND naive",
        "times name no time zone and are read as UTC (time_zone in the mapping)",
    ),
    "unreadable-rank": (
        "kind IS NOT NULL AND position IS NULL AND f_rank IS NOT NULL",
        "ranks are not numbers",
    ),
    "negative-rank": ("position < 0", "ranks are negative"),
    "unreadable-value": (
        "kind IS NOT NULL AND value IS NULL AND f_value IS NOT NULL",
        "values are not finite numbers",
    ),
    "unreadable-list": ("kind IS NOT NULL AND bad_list", "lists are not arrays of JSON and were left out"),
    "empty-flag": ("kind IS NOT NULL AND empty_flag", "flags are empty and count as no"),
    "unmapped-action": ("unmapped", "events have an action without a known kind"),
}
"""The SQL of records with a problem, and its description, by code."""


def stage_events(base: Database, mapping: LogMapping) -> None:
    """Make the table ``staged`` from the view ``raw``: typed columns, and problems of records."""
    zone = quote_text(mapping.time_zone)
    flags = "".join(f"flag_{kind}, " for kind in (*mapping.flags, "cache_hit"))
    lists = "".join(f"list_{kind}, " for kind in mapping.lists)
    bad_list = " OR ".join(
        ["false", *(f"list_{kind} IS NOT NULL AND NOT {is_list_sql(kind)}" for kind in mapping.lists)]
    )
    empty_flag = " OR ".join(["false", *(f"flag_{kind} IS NULL" for kind in mapping.flags)])
    number, written_time = "try_cast(f_at AS DOUBLE)", "try_cast(f_at AS TIMESTAMP)"
    if mapping.time_format:
        number = "CAST(NULL AS DOUBLE)"
        written_time = f"CAST(try_strptime(f_at, {quote_text(mapping.time_format)}) AS TIMESTAMP)"
    micros = (
        f"CASE WHEN abs({number}) >= 1e17 THEN {number} / 1e3 WHEN abs({number}) >= 1e14 THEN {number} WHEN "
        f"abs({number}) >= 1e11 THEN {number} * 1e3 ELSE {number} * 1e6 END"
    )
    has_zone = "regexp_matches(f_at, '(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)$')"
    naive = f"{number} IS NULL AND {written_time} IS NOT NULL AND NOT ({has_zone} AND f_at LIKE '%:%')"
    base.run(
        f"CREATE OR REPLACE TEMP TABLE staged AS SELECT source_line, invalid, {flags}{lists}{bad_list} AS "
        f"bad_list, {empty_flag} AS empty_flag, f_event_id, f_at AS t, {naive} AS naive, CASE WHEN "
        f"{number} IS NOT NULL THEN make_timestamptz(CAST({micros} AS BIGINT)) "
        f"WHEN {naive} THEN timezone({zone}, {written_time}) ELSE try_cast(f_at AS TIMESTAMPTZ) "
        f"END AS at, {_kind_sql(mapping)} AS kind, {_unmapped_sql(mapping)} AS unmapped, coalesce(f_action, "
        f"'ubi_query') AS action, f_query_event_id AS query_event_id, {_QUERY} AS query, f_session AS "
        'session, f_user AS "user", f_doc_id AS doc_id, CASE WHEN f_rank NOT LIKE '
        "'{%' THEN f_rank END AS f_rank, CAST(CASE WHEN isfinite(try_cast(f_rank AS DOUBLE)) AND "
        "abs(try_cast(f_rank AS DOUBLE)) < 2e9 THEN try_cast(f_rank AS DOUBLE) END AS INTEGER) AS position, "
        f"{_VALUE} AS f_value, {_finite_sql(_VALUE)} AS value, f_variant AS variant, try_cast(f_page AS "
        "INTEGER) AS page, "
        f"{_finite_sql('f_latency_ms')} AS latency_ms, flag_cache_hit = 1 AS cache_hit, "
        f"{_STATE} AS state, f_response_ids AS response_ids, coalesce(f_application, '') AS application, "
        f"{_attributes_sql(mapping)} AS attributes FROM raw WHERE NOT (container AND f_action IS NULL AND "
        "f_query IS NULL)"
    )


# the words of a search may be a list
_QUERY = (
    "CASE WHEN f_query LIKE '[%' AND json_valid(f_query) THEN array_to_string(from_json(f_query, "
    "'[\"VARCHAR\"]'), ' ') ELSE f_query END"
)


def _attributes_sql(mapping: LogMapping) -> str:
    """SQL of a record's attributes as JSON, with its application and dimensions."""
    columns = {"application": "f_application"}
    columns |= {name: quote_identifier(f"f_{DIMENSION}{name}") for name in mapping.dimensions}
    members = ", ".join(f"{quote_text(name)}, {column}" for name, column in columns.items())
    return (
        f"CASE WHEN json_valid(f_attributes) THEN json_merge_patch(f_attributes, json_object({members}))"
        f"::VARCHAR WHEN coalesce({', '.join(columns.values())}) IS NOT NULL THEN "
        f"json_object({members})::VARCHAR END"
    )


def link_searches(base: Database, sha256: str) -> None:
    """Give events of ``staged`` without a search the last one of their session.

    Where a visit has no session it is that of the user, up to `SESSION_PAUSE_SECONDS` before.
    """
    own_id = f"CASE WHEN kind = 'search' THEN coalesce(query_event_id, {_event_id_sql(sha256)}) END"
    last = (
        '(PARTITION BY coalesce(session, "user") ORDER BY "at", kind IS DISTINCT FROM \'search\', '
        "source_line ROWS UNBOUNDED PRECEDING)"
    )
    base.run(
        f"CREATE OR REPLACE TEMP TABLE staged AS SELECT * EXCLUDE (last_id, last_at) REPLACE (CASE WHEN "
        "query_event_id IS NOT NULL THEN query_event_id WHEN kind = 'search' OR (coalesce(session, "
        '"user") IS NOT NULL AND (session IS NOT NULL OR "at" <= last_at + INTERVAL '
        f"{SESSION_PAUSE_SECONDS} SECONDS)) THEN last_id END AS query_event_id) FROM (SELECT *, "
        f"last_value({own_id} IGNORE NULLS) OVER {last} AS last_id, last_value(CASE WHEN kind = 'search' "
        f'THEN "at" END IGNORE NULLS) OVER {last} AS last_at FROM staged)'
    )


def _event_id_sql(sha256: str) -> str:
    return f"coalesce(f_event_id, {quote_text(sha256[:8])} || ':' || source_line)"


_STATE = (
    "CASE WHEN lower(f_state) IN ('ok', 'zero', 'failed') THEN lower(f_state) WHEN lower(f_state) IN "
    "('error', 'timeout', 'fail') THEN 'failed' WHEN try_cast(f_hits AS BIGINT) = 0 OR "
    "json_array_length(CASE WHEN json_valid(f_response_ids) THEN f_response_ids END) = 0 THEN 'zero' WHEN "
    "try_cast(f_hits AS BIGINT) > 0 OR json_array_length(CASE WHEN json_valid(f_response_ids) THEN "
    "f_response_ids END) > 0 THEN 'ok' END"
)
_VALUE = "CASE WHEN kind = 'dwell' THEN coalesce(f_seconds, f_value) ELSE f_value END"
_ACTION = ACTION_SQL.replace("action", "f_action")


def _finite_sql(text: str) -> str:
    return f"CASE WHEN isfinite(try_cast({text} AS DOUBLE)) THEN try_cast({text} AS DOUBLE) END"


def _kind_sql(mapping: LogMapping) -> str:
    when_clauses = " ".join(
        f"WHEN {quote_text(action)} THEN {quote_text(kind)}" for action, kind in mapping.kinds.items()
    )
    kind_without_action = "NULL"
    if mapping.kind:
        kind_without_action = quote_text(mapping.kind)
    elif mapping.ubi:
        kind_without_action = (
            "CASE WHEN f_query IS NOT NULL OR f_query_event_id IS NOT NULL THEN 'search' END"
        )
    return (
        f"CASE WHEN invalid THEN NULL WHEN f_action IS NULL THEN {kind_without_action} ELSE CASE {_ACTION} "
        f"{when_clauses} ELSE 'other' END END"
    )


def _unmapped_sql(mapping: LogMapping) -> str:
    mapped_actions = ", ".join(quote_text(action) for action in mapping.kinds)
    return f"coalesce(f_action IS NOT NULL AND {_ACTION} NOT IN ({mapped_actions}), false)"


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
        base: the database with the table ``staged``.
        target: the Parquet file.
        source: the name of the log's file, and its hash for ids of events.
        bases: the first rank of each application's log.
        mapping: the mapping, which has the flags.
        privacy: the data that are left out.
    """
    name, sha256 = source
    shift = " ".join(f"WHEN {quote_text(app)} THEN {1 - first}" for app, first in bases.items())
    rank = f"position + CASE application {shift} ELSE 0 END" if shift else "position"
    number = _event_id_sql(sha256)
    column_sources = {
        **dict.fromkeys(COLUMNS, ""),
        "event_id": number,
        "rank": f"CASE WHEN {rank} >= 1 THEN {rank} END",
        "state": "CASE WHEN kind = 'search' THEN state END",
        "source_file": quote_text(name),
    }
    if mapping.lists and not mapping.last_search:  # the events of a record belong to its search
        column_sources["query_event_id"] = f"coalesce(query_event_id, {number})"
    replaced = " OR ".join(["false", *(lists.replaces_sql(kind) for kind, lists in mapping.lists.items())])
    events = [
        f"SELECT {_select_list(column_sources)} FROM staged WHERE kind IS NOT NULL AND NOT ({replaced})"
    ]
    for kind in mapping.flags:
        # the second of several clicks has another action, as it is no repeated record of the first
        name = f"'{kind}' || CASE WHEN number > 1 THEN ' ' || number ELSE '' END"
        also = {
            **column_sources,
            "event_id": f"{number} || ':' || {name}",
            "kind": quote_text(kind),
            "action": name,
        }
        events.append(
            f"SELECT {_select_list(also)} FROM (SELECT *, unnest(range(1, flag_{kind} + 1)) AS number FROM "
            f"staged WHERE kind IS NOT NULL AND flag_{kind} > 0)"
        )
    for kind, elements in mapping.lists.items():
        element_columns = {
            **column_sources,
            "event_id": f"{number} || ':{kind} ' || place",
            "kind": quote_text(kind),
            "action": f"'{kind}' || CASE WHEN place > 1 THEN ' ' || place ELSE '' END",
            "doc_id": "element_id",
            "rank": "element_rank",
            "value": "element_value",
            "state": "NULL",
            "latency_ms": "NULL",
        }
        rows = elements.rows_sql(kind, mapping.rank_base)
        events.append(f"SELECT {_select_list(element_columns)} FROM ({rows})")
    events.append(_response_impressions_sql(column_sources, number))
    _write_rows(base, f"({' UNION ALL '.join(events)})", target, privacy)


def _write_rows(base: Database, source: str, target: str, privacy: Privacy) -> None:
    """Write rows of SQL with the columns of events as Parquet, as far as privacy permits."""
    if frequent := privacy.frequent:
        base.run(f"CREATE OR REPLACE TEMP TABLE frequent_queries AS {frequent}")
    columns = {name: quote_identifier(name) for name in COLUMNS}
    base.run(
        f"COPY (SELECT {events_sql({**columns, **privacy.columns()})} FROM {source}) TO {quote_text(target)} "
        "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
    )


def events_sql(columns: Mapping[str, str]) -> str:
    """SQL of the columns of events with their types, from the SQL of each; null for others."""
    return ", ".join(
        f"CAST({columns.get(name, 'NULL')} AS {kind}) AS {quote_identifier(name)}"
        for name, kind in COLUMNS.items()
    )


def copy_events(base: Database, path: Path, target: str, privacy: Privacy) -> None:
    """Write a table of events as Parquet, with every column, as far as privacy permits.

    Raises:
        InputError: unknown kinds, or a value that its column cannot hold.
    """
    source = f"read_parquet({quote_text(str(path))}, file_row_number = true)"
    columns = base.rows(f"DESCRIBE SELECT * FROM {source}")["column_name"].to_list()
    column_sql = {
        "event_id": f"{quote_text(path.name)} || ':' || (file_row_number + 1)",
        "source_file": quote_text(path.name),
        "source_line": "file_row_number + 1",
        **{name: quote_identifier(name) for name in columns},
    }
    base.run(f"CREATE OR REPLACE TEMP TABLE staged AS SELECT {events_sql(column_sql)} FROM {source}")
    unknown = base.rows(
        f"SELECT coalesce(kind, 'null') AS kind FROM staged WHERE kind IS NULL OR kind NOT IN "
        f"({', '.join(map(quote_text, KINDS))}) LIMIT 1"
    )
    if len(unknown):
        problem = f"unknown kind of event {unknown.item()!r}; known: {', '.join(KINDS)}."
        raise InputError(problem, source=str(path), code="unknown-kind")
    _write_rows(base, "staged", target, privacy)
    base.run("DROP TABLE staged")


def _response_impressions_sql(column_sources: Mapping[str, str], number: str) -> str:
    """SQL of impressions for searches without any, from their lists of document ids."""
    response_columns = {
        **column_sources,
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
        f"SELECT {_select_list(response_columns)} FROM (SELECT *, unnest(range(1, len(ids) + 1)) AS place "
        "FROM ("
        "SELECT *, from_json(response_ids, '[\"VARCHAR\"]') AS ids FROM staged WHERE kind = 'search' AND "
        "json_valid(response_ids) AND query_event_id NOT IN (SELECT query_event_id FROM staged WHERE kind = "
        "'impression' AND query_event_id IS NOT NULL)))"
    )


def _select_list(columns: Mapping[str, str]) -> str:
    return ", ".join(
        f"{sql or quote_identifier(name)} AS {quote_identifier(name)}" for name, sql in columns.items()
    )
