"""Impact of personalisation by group of users: the result of ``personalization``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

LIFTS = {
    "kpi": pl.String,
    "variant": pl.String,
    "group": pl.String,
    "users": pl.Int64,
    "users_control": pl.Int64,
    "control": pl.Float64,
    "value": pl.Float64,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "lift": pl.Float64,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
}
INTERACTIONS = {
    "kpi": pl.String,
    "variant": pl.String,
    "groups": pl.Int64,
    "statistic": pl.Float64,
    "p_value": pl.Float64,
}
LISTS = {
    "variant": pl.String,
    "queries": pl.Int64,
    "between_users": pl.Float64,
    "from_control": pl.Float64,
}
ALL = "all"
"""The group of all users."""


@dataclass(frozen=True)
class PersonalizationImpact(Result):
    """Variants with personal lists against one without, by group of users.

    Attributes:
        control: the variant without personal lists.
        depth: ranks of lists that are compared.
        grouped_by: where groups come from: a file, or activity in the log.
        lifts: ``kpi``, ``variant``, ``group`` (``all`` first), ``users`` and ``users_control``,
            the rate of ``control`` and the ``value`` of the variant, ``delta``, its 95 % interval
            ``low`` and ``high`` (users are units, delta method), ``lift`` = delta / control,
            ``p_raw``, ``p_value`` (Benjamini and Hochberg over the groups of a KPI and variant).
        interactions: ``kpi``, ``variant``, ``groups``, ``statistic`` and ``p_value`` of Cochran's
            Q: whether groups differ in their delta.
        lists: ``variant``, ``queries`` with lists of two users, ``between_users``: the mean share
            of two users' first documents that differ, ``from_control``: the same of a user of the
            variant and one of the control.
        faults: codes of what the log doctor found that spoils variants.
    """

    kind: ClassVar[str] = "personalization_impact"
    label: ClassVar[str] = "Impact of personalisation"
    document_from: ClassVar[str] = "rankgate.online.users.documents:personalization"
    charts: ClassVar[Mapping[str, str]] = {
        "personalization": "rankgate.online.users.charts:personalization"
    }
    order: ClassVar[int] = 66
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "lifts": LIFTS,
        "interactions": INTERACTIONS,
        "lists": LISTS,
    }

    control: str
    depth: int
    grouped_by: str
    lifts: pl.DataFrame
    interactions: pl.DataFrame
    lists: pl.DataFrame
    faults: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the figures."""
        notices = []
        if self.faults:
            notices.append(
                Notice(
                    "spoiled-variants",
                    f"the log doctor found {', '.join(self.faults)}, which "
                    "makes variants wrong: see rankgate online doctor",
                )
            )
        if self.grouped_by == "activity":
            notices.append(
                Notice(
                    "groups-by-activity",
                    "groups are by how much users searched in this log, "
                    "which a variant can change; --groups takes groups that were known before",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.lifts
