"""The table of events as an expression over a table of a database, by the columns of a mapping.

The database computes it: nothing is copied. What needs the reader of files (lists in records,
numbered impressions) is an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.errors import InputError
from rankgate.online.events.event_table import DIMENSION, IBIS_TYPES, SESSION_PAUSE_SECONDS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from rankgate.online.events.log_files import LogMapping

_TEXTS = ("event_id", "query_event_id", "query", "session", "user", "doc_id", "variant")

IbisColumn: TypeAlias = Any
"""A column of Ibis, which has no types of its own."""


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

    columns = {
        name: rows[name].cast(kind) if name in rows.columns else ibis.null(kind)
        for name, kind in IBIS_TYPES.items()
    }
    return rows.select(**columns)


def _map_columns(table: ir.Table, mapping: LogMapping, label: str) -> ir.Table:
    import ibis

    columns = _Columns(table, mapping, label)
    action, kind = columns.text("action"), ibis.literal(mapping.kind)
    if mapping.columns.get("action"):
        name = action.lower().replace("-", "_").replace(" ", "_")
        kinds = [
            (name == action_name, ibis.literal(action_kind))
            for action_name, action_kind in mapping.kinds.items()
        ]
        kind = ibis.cases((action.isnull(), kind.nullif("")), *kinds, else_="other")
    rank, value = columns.number("rank"), columns.number("value")
    if mapping.rank_base != 1:
        rank = rank + (
            1 if mapping.rank_base == 0 else ibis.ifelse(rank.min().over(ibis.window()) == 0, 1, 0)
        )
    rows = table.select(
        at=columns.first("at", columns.time, IBIS_TYPES["at"]),
        action=ibis.coalesce(action, kind),
        kind=kind,
        rank=ibis.cases((rank >= 1, rank)).cast("int32"),
        value=ibis.ifelse(kind == "dwell", ibis.coalesce(columns.number("seconds"), value), value),
        state=ibis.cases((kind == "search", columns.state())),
        attributes=columns.attributes(),
        source_file=ibis.literal(label),
        cache_hit=columns.first("cache_hit", columns.flag, "boolean"),
        **{name: columns.text(name) for name in _TEXTS},
        **{name: columns.number(name) for name in ("page", "latency_ms")},
        **{
            f"flag_{kind}": columns.flag(columns.path(column, kind)) for kind, column in mapping.flags.items()
        },
    )
    rows = rows.filter(rows.kind.notnull())
    if mapping.last_search:
        rows = _link_searches(rows)
    flagged = [
        rows.filter(rows[f"flag_{kind}"]).mutate(kind=ibis.literal(kind), action=ibis.literal(kind))
        for kind in mapping.flags
    ]
    return ibis.union(rows, *flagged, distinct=False) if flagged else rows


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
    last_search = ibis.cases(((rows.is_search == 1) | is_near, rows.own_id.max().over(of_search)))
    return rows.mutate(query_event_id=ibis.coalesce(rows.query_event_id, last_search))


class _Columns:
    """The columns of a mapping as columns of Ibis.

    Args:
        table: the table of the database.
        mapping: the mapping.
        label: the name of the table.
    """

    def __init__(self, table: ir.Table, mapping: LogMapping, label: str) -> None:
        self._table, self._mapping, self._label = table, mapping, label

    def first(self, name: str, convert: Callable[[IbisColumn], IbisColumn], kind: str) -> IbisColumn:
        """A field: the first of its columns, converted to a type, that is not null.

        Raises:
            InputError: the table has none of them.
        """
        import ibis

        paths = self._mapping.fields[name]
        columns = [column for path in paths if (column := self._joined(path)) is not None]
        if paths and not columns and not self._mapping.preset:
            raise self._missing(" or ".join(paths), name)
        return ibis.coalesce(*map(convert, columns), ibis.null(kind))

    def path(self, path: str, name: str) -> IbisColumn:
        """A column, or a part of a nested one.

        Raises:
            InputError: the table does not have it.
        """
        column = self._find(path)
        if column is None:
            raise self._missing(path, name)
        return column

    def _missing(self, path: str, name: str) -> InputError:
        names = ", ".join(self._table.columns)
        problem = f"there is no column {path} for {name}; the columns are {names}."
        return InputError(problem, source=self._label, code="missing-column")

    def _joined(self, path: str) -> IbisColumn:
        parts = [self._find(name) for name in path.split("+")]
        if any(column is None for column in parts):
            return None
        texts = parts if len(parts) == 1 else map(_text, parts)
        return reduce(lambda first, second: first.concat("\x1f", second), texts)

    def _find(self, path: str) -> IbisColumn:
        first, *steps = [path] if path in self._table.columns else path.split(".")
        column = self._table[first] if first in self._table.columns else None
        for step in steps:
            if column is None or (column.type().is_struct() and step not in column.type().names):
                return None
            column = (column if column.type().is_struct() else column.cast("json"))[step]
        return column

    def text(self, name: str) -> IbisColumn:
        """A field as text."""
        return self.first(name, _text, "string")

    def number(self, name: str) -> IbisColumn:
        """A field as a number."""
        return self.first(name, lambda column: _text(column).try_cast("float64"), "float64")

    def time(self, column: IbisColumn) -> IbisColumn:
        """A column as times; numbers count from 1970, their size tells seconds from smaller units."""
        import ibis

        if column.type().is_numeric():
            size = column.cast("float64").abs()
            unit = ibis.cases((size >= 1e17, 1e9), (size >= 1e14, 1e6), (size >= 1e11, 1e3), else_=1.0)
            micros = (column / unit * 1e6).round().cast("int64")
            return ibis.literal("1970-01-01T00:00:00Z", type=IBIS_TYPES["at"]) + micros.as_interval("us")
        if column.type().is_string() and self._mapping.time_format:
            column = column.as_timestamp(self._mapping.time_format)
        return column.cast(IBIS_TYPES["at"])

    def flag(self, column: IbisColumn) -> IbisColumn:
        """A column as yes or no."""
        true_words = [word for word, flag in self._mapping.flag_words.items() if flag]
        return column > 0 if column.type().is_numeric() else _text(column).lower().isin(true_words)

    def state(self) -> IbisColumn:
        """The state of searches, from their states or their numbers of results."""
        import ibis

        state, hits = self.text("state").lower(), self.number("hits")
        return ibis.cases(
            (state.isin(["ok", "zero", "failed"]), state),
            (state.isin(["error", "timeout", "fail"]), "failed"),
            (hits == 0, "zero"),
            (hits > 0, "ok"),
        )

    def attributes(self) -> IbisColumn:
        """The application and the dimensions as an object of JSON."""
        import ibis

        columns = {name: f"{DIMENSION}{name}" for name in self._mapping.dimensions}
        members = []
        for name, field in {"application": "application", **columns}.items():
            text = self.text(field).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
            quoted = ibis.coalesce(ibis.literal('"').concat(text, '"'), "null")
            members.append(ibis.literal(f'"{name}": ').concat(quoted))
        joined = reduce(lambda first, second: first.concat(", ", second), members)
        return ibis.literal("{").concat(joined, "}")


def _text(column: IbisColumn) -> IbisColumn:
    """A column as text, null if it is empty."""
    text = column.cast("string")
    if column.type().is_json():
        text = text.re_replace('^"|"$', "").nullif("null")
    return text.nullif("")
