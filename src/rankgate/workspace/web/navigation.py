"""The navigation of a project: six sections with their pages.

Every route of a project belongs to exactly one page of one section, so that each page shows its
position. Senders see only the pages that their role may open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.engines.configuration import ENGINES
from rankgate.workspace.records.alerts.alert_kinds import ALERTS

if TYPE_CHECKING:
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import Identity, Route


@dataclass(frozen=True)
class MenuPage:
    """A page in the second row of the navigation.

    Attributes:
        route: the name of the route that its link opens.
        label: the label of the link.
        further_routes: the names of further routes of the page, such as those of its forms.
        group: the group of records listed on the page; empty for other pages.
    """

    route: str
    label: str
    further_routes: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True)
class MenuSection:
    """A section with the pages in its second row."""

    label: str
    pages: tuple[MenuPage, ...]


SECTIONS = (
    MenuSection(
        "Queries",
        (
            MenuPage("queries", "Queries", ("queries-add", "query-values", "explain", "explain-value")),
            MenuPage(
                "engines",
                "Engines",
                (
                    "engine-try",
                    "engine-delete",
                    "sandbox",
                    *(f"sandbox-{kind.name}" for kind in ENGINES.all_objects),
                    *(f"engine-save-{kind.name}" for kind in ENGINES.all_objects),
                ),
            ),
            MenuPage("material", "Files", ("material-add", "batch-add")),
            MenuPage("export", "Export", ("export-file", "table-file", "contents")),
        ),
    ),
    MenuSection(
        "Judging",
        (
            MenuPage("rate-page", "Rate", ("query", "rate", "rate-many", "withdraw", "later")),
            MenuPage("history", "Your ratings"),
            MenuPage("discussions", "Discussion", ("discuss",)),
            MenuPage("disputes", "Disagreements", ("final",)),
            MenuPage("pairs", "Pairs", ("pairs-reset", "ratings-file")),
            MenuPage("coverage", "Coverage", ("next-add",)),
            MenuPage("next", "Judge next"),
            MenuPage("agreement", "Agreement"),
            MenuPage("judgments", "Judgments", ("resolve", "judgments-file", "judgments-add", "rated")),
            MenuPage(
                "models",
                "Models",
                (
                    "model",
                    "model-start",
                    "model-rule",
                    "model-rule-end",
                    "model-admit",
                    "model-withdraw",
                    "model-job",
                    "model-cancel",
                    "model-resume",
                ),
            ),
            MenuPage("preferences", "Comparisons", ("preferences-add", "preferences-file")),
            MenuPage("comments", "Comments", ("comment-add", "comment-withdraw")),
        ),
    ),
    MenuSection(
        "Evaluations",
        (
            MenuPage("project", "Overview", ("batch-change", "batch", "batch-rules")),
            MenuPage(
                "steps",
                "Steps",
                (
                    "step-snapshot",
                    "step-batch",
                    "step-judgments",
                    "step-evaluation",
                    "step-comparison",
                    "step-gate",
                    "clicks",
                    "step-clicks",
                    "sweep",
                    "step-sweep",
                ),
            ),
            MenuPage("policy", "Policy", ("policy-set", "policy-clear")),
            MenuPage("live", "Live comparison", ("live-rate",)),
            MenuPage(
                "records",
                "Records",
                (
                    "record",
                    "record-table",
                    "record-svg",
                    "record-png",
                    "record-values",
                    "record-add",
                    "record-input",
                    "recorded",
                    "recorded-file",
                    "recorded-input",
                    "result-add",
                    "evaluation",
                    "evaluate",
                    "compare",
                    "gate",
                    "change",
                    "query-change",
                    "missing-add",
                ),
            ),
        ),
    ),
    MenuSection(
        "History",
        (
            MenuPage(
                "trends",
                "Trends",
                ("trend-svg", "trend-png", "points", "annotations", "annotation-add", "annotation-withdraw"),
            ),
            MenuPage(
                "alerts",
                "Alerts",
                (
                    "alert",
                    "alert-acknowledge",
                    "alert-rules",
                    "alert-rules-set",
                    "alert-rule-delete",
                    *(f"alert-rule-add-{kind.name}" for kind in ALERTS.all_objects),
                    "alerts-check",
                    "alert-channel-test",
                ),
            ),
            MenuPage(
                "schedule",
                "Schedule",
                ("schedule-run", "schedule-engine", "jobs-add", "job-change", "job-start", "job-cancel"),
            ),
        ),
    ),
    MenuSection(
        "Online",
        (MenuPage("records", "Experiments", group="experiments"), MenuPage("records", "KPIs", group="kpis")),
    ),
    MenuSection(
        "Settings",
        (
            MenuPage("setup", "Setup", ("scale-set", "guideline-add", "display-set", "metric-set")),
            MenuPage("people", "People", ("invite", "invitation-revoke", "grant")),
            MenuPage("work", "Working time"),
            MenuPage(
                "archive",
                "Archive",
                (
                    "archive-change",
                    "archive-queries",
                    "archive-queries-delete",
                    "archive-queries-delete-page",
                    "archive-delete",
                    "archive-delete-page",
                    "project-archive",
                    "project-delete",
                    "project-delete-page",
                ),
            ),
            MenuPage("log", "Log"),
        ),
    ),
)


def current_page(route: str, group: str = "") -> MenuPage | None:
    """The page that a route belongs to; None outside of projects.

    Args:
        route: the name of the route.
        group: the group of the shown records.

    >>> current_page("record", "kpis").label, current_page("record", "gates").label
    ('KPIs', 'Records')
    """
    pages = [page for section in SECTIONS for page in section.pages]
    page = next((page for page in pages if route in (page.route, *page.further_routes)), None)
    if page is None or page.route != "records":
        return page
    return next((group_page for group_page in pages if group and group_page.group == group), page)


def make_menu(
    identity: Identity, routes: Mapping[str, Route], base: str, route: str, group: str = ""
) -> list[PageRow]:
    """The sections and pages that a sender may open, with the current ones; empty outside projects.

    Args:
        identity: the sender.
        routes: every route by name.
        base: the path of the server.
        route: the name of the current route.
        group: as in `current_page`.
    """
    if identity.project is None:
        return []
    current = current_page(route, group)
    menu: list[PageRow] = []
    for section in SECTIONS:
        pages = [page for page in section.pages if (identity.role or "") in routes[page.route].needs]
        links: list[PageRow] = [
            {
                "label": page.label,
                "address": _page_address(routes[page.route], page, base, identity.project.name),
                "current": page is current,
            }
            for page in pages
        ]
        if links:
            menu.append(
                {
                    "label": section.label,
                    "address": links[0]["address"],
                    "current": current in section.pages,
                    "pages": links,
                }
            )
    return menu


def _page_address(route: Route, page: MenuPage, base: str, project: str) -> str:
    query_string = f"?kind={page.group}" if page.group else ""
    return f"{base}{route.path.replace('{project}', project)}{query_string}"
