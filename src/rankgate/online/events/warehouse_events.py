"""The table of events as an expression over a table of a database, by the columns of a mapping.

The database computes it: nothing is copied. What needs the reader of files (lists in records,
numbered impressions) is an error that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.errors import InputError, UsageError
from rankgate.online.events.event_table import COLUMNS, SESSION_PAUSE_SECONDS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from rankgate.online.events.log_files import LogMapping

_EVENT_TYPES = {
    "VARCHAR": "string",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
    "TIMESTAMP WITH TIME ZONE": "timestamp('UTC')",
}
_JOINED = "\x1f"

IbisColumn: TypeAlias = Any
"""A column of Ibis, which has no types of its own."""


def is_event_schema(names: Sequence[str]) -> bool:
    """True if a table has the columns of events, so that it needs no mapping."""
    return {"kind", "at", "query_event_id"} <= {*names}


def needs_file_reader(mapping: LogMapping) -> str:
    """The part of a mapping that only the reader of files carries out; empty if there is none."""
    if mapping.lists:
        return "[lists]"
    paths = [path for columns in mapping.fields.values() for path in columns]
    if any("[" in path for path in paths):
        return "list[key]"
    return "response_ids" if mapping.columns.get("response_ids") and not mapping.ubi else ""


def make_events(table: ir.Table, mapping: LogMapping | None, label: str) -> ir.Table:
    """The table of events.

    Args:
        table: the table of the database.
        mapping: the mapping of its columns; None for a table of events.
        label: the name of the table.

    Raises:
        InputError: a column that the table does not have.
    """
    rows = table if mapping is None else _map_columns(table, mapping, label)
    import ibis

    columns = {}
    for name, kind in COLUMNS.items():
        event_type = _EVENT_TYPES[kind]
        columns[name] = rows[name].cast(event_type) if name in rows.columns else ibis.null(event_type)
    return rows.select(**columns)


def _map_columns(table: ir.Table, mapping: LogMapping, label: str) -> ir.Table:
    import ibis

    columns = _Columns(table, mapping, label)
    action = columns.text("action")
    if action is None:
        action, kind = ibis.literal(mapping.kind), ibis.literal(mapping.kind)
    else:
        name = action.lower().replace("-", "_").replace(" ", "_")
        kinds = [(name == known, ibis.literal(kind)) for known, kind in mapping.kinds.items()]
        without_action = ibis.literal(mapping.kind) if mapping.kind else ibis.null("string")
        kind = ibis.cases((action.isnull(), without_action), *kinds, else_="other")
    texts = {
        name: columns.text(name)
        for name in ("event_id", "query_event_id", "query", "session", "user", "doc_id", "variant")
    }
    rank = columns.number("rank")
    if rank is not None and mapping.rank_base != 1:
        rank = rank + (1 if mapping.rank_base == 0 else (rank.min().over(ibis.window()) == 0).cast("int64"))
    value, seconds = columns.number("value"), columns.number("seconds")
    if seconds is not None:
        own = ibis.coalesce(seconds, value) if value is not None else seconds
        value = ibis.cases((kind == "dwell", own), else_=value if value is not None else ibis.null("float64"))
    rows = table.select(
        at=columns.time(),
        action=action,
        kind=kind,
        rank=ibis.null("int32") if rank is None else ibis.cases((rank >= 1, rank)).cast("int32"),
        value=ibis.null("float64") if value is None else value,
        state=columns.state(kind),
        attributes=columns.attributes(),
        source_file=ibis.literal(label),
        **{name: ibis.null("string") if text is None else text for name, text in texts.items()},
        **{
            name: ibis.null("float64") if (number := columns.number(name)) is None else number
            for name in ("page", "latency_ms")
        },
        cache_hit=ibis.null("boolean") if (hit := columns.flag("cache_hit")) is None else hit,
        **{f"flag_{kind}": columns.flag_column(column, kind) for kind, column in mapping.flags.items()},
    )
    rows = rows.filter(rows.kind.notnull())
    if mapping.last_search:
        rows = _link_searches(rows)
    parts = [rows] + [
        rows.filter(rows[f"flag_{kind}"]).mutate(kind=ibis.literal(kind), action=ibis.literal(kind))
        for kind in mapping.flags
    ]
    return parts[0] if len(parts) == 1 else ibis.union(*parts, distinct=False)


def _link_searches(rows: ir.Table) -> ir.Table:
    """Give events without a search the last one of their session, as the reader of files does."""
    import ibis

    visitor = ibis.coalesce(rows.session, rows.user)
    is_search = rows.kind == "search"
    rows = rows.mutate(visitor=visitor, is_search=is_search.cast("int64"))
    own_id = ibis.coalesce(
        rows.query_event_id, rows.event_id, rows.visitor.concat(" ", rows.at.cast("string"))
    )
    rows = rows.mutate(own_id=ibis.cases((rows.is_search == 1, own_id)))
    order = ibis.window(
        group_by="visitor", order_by=["at", ibis.desc("is_search")], preceding=None, following=0
    )
    rows = rows.mutate(number=rows.is_search.sum().over(order))
    of_search = ibis.window(group_by=["visitor", "number"])
    last_at = ibis.cases((rows.is_search == 1, rows.at)).max().over(of_search)
    pause = rows.at.delta(last_at, unit="second")
    is_near = rows.visitor.notnull() & (rows.session.notnull() | (pause <= SESSION_PAUSE_SECONDS))
    found = ibis.cases(((rows.is_search == 1) | is_near, rows.own_id.max().over(of_search)))
    return rows.mutate(query_event_id=ibis.coalesce(rows.query_event_id, found))


class _Columns:
    """The columns of a mapping as columns of Ibis.

    Args:
        table: the table of the database.
        mapping: the mapping.
        label: the name of the table.
    """

    def __init__(self, table: ir.Table, mapping: LogMapping, label: str) -> None:
        self._table, self._mapping, self._label = table, mapping, label

    def values(self, name: str) -> list[IbisColumn]:
        """The columns of a field; empty if it is not mapped.

        Raises:
            InputError: the table has none of them.
        """
        alternatives = self._mapping.fields[name]
        columns = [column for path in alternatives if (column := self._joined(path)) is not None]
        if alternatives and not columns and not (self._mapping.ubi or self._mapping.preset):
            raise self._missing(" or ".join(alternatives), name)
        return columns

    def _missing(self, column: str, name: str) -> InputError:
        problem = f"there is no column {column} for {name}; the columns are {', '.join(self._table.columns)}."
        return InputError(problem, source=self._label, code="missing-column")

    def _joined(self, path: str) -> IbisColumn:
        parts = [self._path(part) for part in path.split("+")]
        if any(part is None for part in parts):
            return None
        if len(parts) == 1:
            return parts[0]
        texts = [_text(part) for part in parts]
        joined = texts[0]
        for text in texts[1:]:
            joined = joined.concat(_JOINED, text)
        return joined

    def _path(self, path: str) -> IbisColumn:
        if path in self._table.columns:
            return self._table[path]
        first, _, inner = path.partition(".")
        if not inner or first not in self._table.columns:
            return None
        column = self._table[first]
        for step in inner.split("."):
            if column.type().is_struct():
                column = column[step] if step in column.type().names else None
            elif column.type().is_json() or column.type().is_string():
                column = column.cast("json")[step]
            else:
                column = None
            if column is None:
                return None
        return column

    def text(self, name: str) -> IbisColumn:
        """A field as text; None if it is not mapped."""
        return _coalesce([_text(column) for column in self.values(name)])

    def number(self, name: str) -> IbisColumn:
        """A field as a number; None if it is not mapped."""
        return _coalesce(
            [
                column.cast("float64") if column.type().is_numeric() else _text(column).try_cast("float64")
                for column in self.values(name)
            ]
        )

    def time(self) -> IbisColumn:
        """The time; numbers are seconds, milliseconds, micro- or nanoseconds since 1970 by their size."""
        return _coalesce([self._time(column) for column in self.values("at")])

    def _time(self, column: IbisColumn) -> IbisColumn:
        import ibis

        zoned = "timestamp('UTC')"
        if column.type().is_timestamp() or column.type().is_date():
            return column.cast(zoned)
        if not column.type().is_numeric():
            if self._mapping.time_format:
                return _text(column).as_timestamp(self._mapping.time_format).cast(zoned)
            return _text(column).cast(zoned)
        number = column.cast("float64")
        size = number.abs()
        unit = ibis.cases((size >= 1e17, 1e9), (size >= 1e14, 1e6), (size >= 1e11, 1e3), else_=1.0)
        epoch = ibis.literal("1970-01-01T00:00:00Z", type=zoned)
        micros = (number / unit * 1e6).round().cast("int64")
        return epoch + micros.as_interval("us")

    def flag(self, name: str) -> IbisColumn:
        """A field as yes or no; None if it is not mapped."""
        return _coalesce([self._flag(column) for column in self.values(name)])

    def flag_column(self, column: str, kind: str) -> IbisColumn:
        """A column of ``[flags]`` as yes or no; null is no."""
        value = self._path(column)
        if value is None:
            raise self._missing(column, kind)
        return self._flag(value).fill_null(False)  # noqa: FBT003

    def _flag(self, column: IbisColumn) -> IbisColumn:
        if column.type().is_boolean():
            return column
        if column.type().is_numeric():
            return column > 0
        words = [word for word, flag in self._mapping.flag_words.items() if flag]
        return _text(column).lower().isin(words)

    def state(self, kind: IbisColumn) -> IbisColumn:
        """The state of searches, from their states or their numbers of results."""
        import ibis

        state, hits = self.text("state"), self.number("hits")
        cases: list[IbisColumn] = []
        if state is not None:
            cases += [
                (state.lower().isin(["ok", "zero", "failed"]), state.lower()),
                (state.lower().isin(["error", "timeout", "fail"]), "failed"),
            ]
        if hits is not None:
            cases += [(hits == 0, "zero"), (hits > 0, "ok")]
        if not cases:
            return ibis.null("string")
        return ibis.cases((kind == "search", ibis.cases(*cases)))

    def attributes(self) -> IbisColumn:
        """The application and the dimensions as an object of JSON."""
        import ibis

        texts = {"application": self.text("application")}
        texts |= {name: self.text(f"dimension {name}") for name in self._mapping.dimensions}
        members = [
            ibis.literal(f'"{name}": ').concat(
                ibis.coalesce(
                    ibis.literal('"').concat(
                        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " "), '"'
                    ),
                    "null",
                )
            )
            for name, text in texts.items()
            if text is not None
        ]
        if not members:
            return ibis.null("string")
        joined = members[0]
        for member in members[1:]:
            joined = joined.concat(", ", member)
        return ibis.literal("{").concat(joined, "}")


def _text(column: IbisColumn) -> IbisColumn:
    """A column as text, null if it is empty."""
    text = column.cast("string")
    if column.type().is_json():
        text = text.re_replace('^"|"$', "").nullif("null")
    return text.nullif("")


def _coalesce(columns: Sequence[IbisColumn]) -> IbisColumn:
    import ibis

    if len(columns) < 2:
        return columns[0] if columns else None
    return ibis.coalesce(*columns)


def refuse_in_database(mapping: LogMapping, label: str) -> None:
    """Check that a mapping can be carried out in PostgreSQL.

    Raises:
        UsageError: it needs the reader of files.
    """
    if part := needs_file_reader(mapping):
        problem = (
            f"{label}: {part} of a mapping is not computed in PostgreSQL; make a view there with a row for "
            "each event, or export the table and read the file."
        )
        raise UsageError(problem, code="unused-option")
