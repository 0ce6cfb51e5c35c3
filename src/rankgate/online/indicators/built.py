"""The tables that KPIs are of, each made when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.online.indicators import tables

if TYPE_CHECKING:
    from rankgate.online.database import Database
    from rankgate.online.indicators.kpi import Kpi

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "searches": ("searches",),
    "clicks": ("searches", "clicks"),
    "sessions": ("searches", "sessions"),
    "users": ("searches", "sessions", "users"),
    "events": (),
}


class KpiTables:
    """The tables that KPIs are of, each made when it is first needed."""

    def __init__(
        self, base: Database, success: Sequence[str], chosen: Sequence[Kpi], by: Sequence[str]
    ) -> None:
        """Make no table yet.

        Args:
            base: has ``events``.
            success: what means that a session reached its goal.
            chosen: the KPIs that will be computed.
            by: columns that will divide them.
        """
        self.base = base
        self._chosen = chosen
        self._by = by
        self._success = success
        self._made: dict[str, Any] = {}
        rows = tables.events()
        named = rows.user.notnull()
        lacking = rows.session.isnull() & (named | rows.query_event_id.notnull())
        if base.one(base.text(rows.aggregate(found=lacking.any() & named.any()))):
            rows = self._make("visits", tables.visits(rows))
        self.rows = rows

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a table of Ibis
        if name == "events":
            return self._events()
        for each in _NEEDED[name]:
            if each not in self._made:
                self._made[each] = self._make(each, self._expression(each))
        return self._made[name]

    def _events(self) -> Any:  # noqa: ANN401 - a table of Ibis
        return self.rows.mutate(
            day=self.rows.at.cast("timestamp").date(), position=self.rows["rank"]
        )

    def _expression(self, name: str) -> Any:  # noqa: ANN401 - a table of Ibis
        made = self._made
        if name == "searches":
            return self._searches()
        if name == "clicks":
            return tables.clicks(self.rows, made["searches"])
        if name == "sessions":
            return tables.sessions(self.rows, made["searches"], self._success)
        return tables.users(made["sessions"])

    def _searches(self) -> Any:  # noqa: ANN401 - a table of Ibis
        """Searches with the columns that are read, as most of the work is in the others."""
        plain = tables.searches(self.rows)
        more = tables.followed(plain)
        full = tables.banded(more) if "band" in self._by else more
        wanted = {each for each in self._by if each in full.columns}
        leaf = tables.ibis().table(full.schema(), name="searches")
        for each in self._chosen:
            if each.table == "searches":
                wanted |= tables.read_columns(each.of(leaf))
            elif each.table != "events":
                wanted |= tables.OF_SEARCHES
        found = plain if wanted <= set(plain.columns) else full
        return found.select([each for each in found.columns if each in wanted])

    def _make(self, name: str, expression: Any) -> Any:  # noqa: ANN401 - tables of Ibis
        lib = tables.ibis()
        self.base.keep(name, expression)
        return lib.table(lib.schema(expression.schema()), name=name)
