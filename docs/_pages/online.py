"""The page of all that is declared about logs: columns, checks, KPIs, models, users, methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _pages.words import MADE, table
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.simulated_users import USERS
from rankgate.online.events.event_table import COLUMN_MEANINGS, COLUMNS
from rankgate.online.events.log_checks import CHECKS
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.online.interleaving.interleaving_methods import METHODS
from rankgate.online.off_policy.estimators import ESTIMATORS

if TYPE_CHECKING:
    from collections.abc import Iterator

_TABLES = {
    "searches": "Searches",
    "events": "Events",
    "clicks": "Clicks",
    "sessions": "Sessions",
    "users": "Users",
}
_NONE = "–"
_BLOCKS = (
    "A finding blocks the figures that it affects when its share of faults reaches the one given here. Below "
    "it, or without such a share, it is only a warning. `sample-ratio` (at any look, p < 0.01) and "
    "`mean-weight` (importance weights whose mean is not 1) always block."
)
_NULL = (
    "A mean is taken over the rows that count, and is null without such rows: null is not 0. A KPI that "
    "needs events of a kind which the log does not have is null too."
)


def pages() -> Iterator[tuple[str, str]]:
    """One page."""
    parts = [
        f"{MADE}\n# Logs: events, checks, KPIs, click models",
        "How these are used: [Logs of users](../online.md).",
        "## The table of events",
        table(
            ["column", "type", "holds"],
            [[f"`{name}`", kind.lower(), COLUMN_MEANINGS[name]] for name, kind in COLUMNS.items()],
        ),
        "## Checks of the log doctor",
        _BLOCKS,
        table(
            ["check", "finds", "spoils figures of", "blocks from"],
            [
                [
                    f"`{check.name}`",
                    check.title,
                    ", ".join(check.spoils),
                    _NONE if check.blocks_from is None else f"{check.blocks_from:.1%}",
                ]
                for check in CHECKS.values()
            ],
        ),
        "## KPIs",
        _NULL,
    ]
    for name, title in _TABLES.items():
        rows = [
            [f"`{kpi.name}`", kpi.title, kpi.formula, kpi.unit, kpi.better or _NONE, kpi.source or _NONE]
            for kpi in KPIS.values()
            if kpi.table == name
        ]
        header = ["KPI", "what", "definition", "unit", "better", "source"]
        parts += [f"### {title}", table(header, rows)]
    parts += [
        "## Click models",
        table(
            ["model", "what", "formula", "source"],
            [
                [f"`{model.name}`", model.title, model.formula, model.source or _NONE]
                for model in MODELS.values()
            ],
        ),
        "## Simulated users",
        table(
            ["user", "what", "P(click), lowest to highest grade", "P(stop) after such a click"],
            [
                [
                    f"`{user.name}`",
                    user.title,
                    f"{user.click[0]:g} to {user.click[1]:g}",
                    f"{user.stop[0]:g} to {user.stop[1]:g}",
                ]
                for user in USERS.values()
            ],
        ),
        "## Interleaving methods",
        table(
            ["method", "what", "how", "known limit", "source"],
            [
                [f"`{method.name}`", method.title, method.formula, method.bias or _NONE, method.source]
                for method in METHODS.values()
            ],
        ),
        "## Off-policy estimators",
        table(
            ["estimator", "what", "formula", "supposes that", "source"],
            [
                [
                    f"`{estimator.name}`",
                    estimator.title,
                    estimator.formula,
                    estimator.assumption or _NONE,
                    estimator.source,
                ]
                for estimator in ESTIMATORS.values()
            ],
        ),
    ]
    yield "online.md", "\n\n".join(parts) + "\n"
