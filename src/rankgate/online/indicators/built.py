"""The tables that KPIs are of, each made when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.online.indicators import tables

if TYPE_CHECKING:
    from rankgate.online.database import Database
    from rankgate.online.indicators.kpi import Kpi

_REQUIRED_TABLES: Mapping[str, tuple[str, ...]] = {
    "searches": ("searches",),
    "clicks": ("searches", "clicks"),
    "sessions": ("searches", "sessions"),
    "users": ("searches", "sessions", "users"),
    "events": (),
}


class KpiTables:
    """The tables that KPIs are of, each made when it is first needed."""

    def __init__(
        self, base: Database, success: Sequence[str], kpis: Sequence[Kpi], by: Sequence[str]
    ) -> None:
        """Make no table yet.

        Args:
            base: has ``events``.
            success: what means that a session reached its goal.
            kpis: the KPIs that will be computed.
            by: columns that will divide them.
        """
        self.base = base
        self._chosen = kpis
        self._by = by
        self._success = success
        self._made: dict[str, Any] = {}
        rows = tables.events()
        has_user = rows.user.notnull()
        lacks_session = rows.session.isnull() & (has_user | rows.query_event_id.notnull())
        if base.one(base.text(rows.aggregate(found=lacks_session.any() & has_user.any()))):
            rows = self._make("visits", tables.with_visits(rows))
        self.rows = rows

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a table of Ibis
        if name == "events":
            return self._events()
        for table_name in _REQUIRED_TABLES[name]:
            if table_name not in self._made:
                self._made[table_name] = self._make(table_name, self._expression(table_name))
        return self._made[name]

    def _events(self) -> Any:  # noqa: ANN401 - a table of Ibis
        return self.rows.mutate(
            day=self.rows.at.cast("timestamp").date(), position=self.rows["rank"]
        )

    def _expression(self, name: str) -> Any:  # noqa: ANN401 - a table of Ibis
        base_tables = self._made
        if name == "searches":
            return self._searches()
        if name == "clicks":
            return tables.clicks(self.rows, base_tables["searches"])
        if name == "sessions":
            return tables.sessions(self.rows, base_tables["searches"], self._success)
        return tables.users(base_tables["sessions"])

    def _searches(self) -> Any:  # noqa: ANN401 - a table of Ibis
        """Searches with the columns that are read, as most of the work is in the others."""
        search_table = tables.searches(self.rows)
        more = tables.with_next_search(search_table)
        full = tables.with_bands(more) if "band" in self._by else more
        needed_columns = {column for column in self._by if column in full.columns}
        leaf = tables.load_ibis().table(full.schema(), name="searches")
        for kpi in self._chosen:
            if kpi.table == "searches":
                needed_columns |= tables.read_columns(kpi.of(leaf))
            elif kpi.table != "events":
                needed_columns |= tables.SEARCH_COLUMNS
        source = search_table if needed_columns <= set(search_table.columns) else full
        return source.select([column for column in source.columns if column in needed_columns])

    def _make(self, name: str, expression: Any) -> Any:  # noqa: ANN401 - tables of Ibis
        lib = tables.load_ibis()
        self.base.keep(name, expression)
        return lib.table(lib.schema(expression.schema()), name=name)
