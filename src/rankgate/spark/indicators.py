"""KPIs of logs on Spark: the expressions of `rankgate.online`, carried out by Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.online.indicators.catalogue import KPIS
from rankgate.online.indicators.compute import check_slices, make_kpi_table
from rankgate.spark.failures import translate_errors
from rankgate.spark.logs import events_label, open_events, refuse_preparation

if TYPE_CHECKING:
    from rankgate.online.events.events import Events
    from rankgate.online.indicators.kpi_table import KpiTable


def kpi(
    events: Events, names: Sequence[str], *, by: Sequence[str], checks: bool = False
) -> KpiTable:
    """Compute KPIs of events on Spark; arguments as of ``rankgate.online.kpi``.

    Raises:
        InputError: no such file; a table without the columns of events.
        UsageError: no such KPI, or nothing that divides a log; an unknown format; checks, or a fact
            of how a log is read, that Spark does not have.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    if checks:
        raise UsageError(
            "the log doctor does not run on Spark; say checks=False, and ask it of a part of the "
            "log on one machine (rankgate online doctor).",
            code="unused-option",
        )
    kpis = [KPIS.named(name) for name in names] or list(KPIS.values())
    check_slices(by)
    refuse_preparation(events)
    with translate_errors(events_label(events.log)):
        base = open_events(events.log)
        try:
            kinds = set(base.rows("SELECT DISTINCT kind FROM events")["kind"])
            measured_kpis = [kpi_ for kpi_ in kpis if kpi_.has_events(kinds, events.success)]
            return make_kpi_table(base, kpis, measured_kpis, by, events.success)
        finally:
            base.close()
