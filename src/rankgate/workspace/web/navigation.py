"""The navigation of a project: six sections with their pages.

Every route of a project belongs to one page of one section, so that each page shows its position. Senders
see only the pages that their role may open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import Identity, Route


@dataclass(frozen=True)
class MenuPage:
    """A page in the second row of the navigation; the routes below its path belong to it.

    Attributes:
        route: the name of the route that its link opens.
        label: the label of the link.
        paths: further paths of a project whose routes belong to the page, such as those of its forms.
        group: the group of records listed on the page; empty for other pages.
    """

    route: str
    label: str
    paths: tuple[str, ...] = ()
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
            MenuPage("queries", "Queries", ("query", "explain")),
            MenuPage("engines", "Engines"),
            MenuPage("material", "Files", ("batches",)),
            MenuPage("export", "Export", ("tables", "contents")),
        ),
    ),
    MenuSection(
        "Judging",
        (
            MenuPage("rate-page", "Rate", ("ratings",)),
            MenuPage("history", "Your ratings"),
            MenuPage("discussions", "Discussion"),
            MenuPage("disputes", "Disagreements"),
            MenuPage("pairs", "Pairs", ("ratings/file",)),
            MenuPage("coverage", "Coverage"),
            MenuPage("next", "Judge next"),
            MenuPage("agreement", "Agreement"),
            MenuPage("judgments", "Judgments", ("tables/judgments", "ratings/evaluation")),
            MenuPage("models", "Models"),
            MenuPage("preferences", "Comparisons"),
            MenuPage("comments", "Comments"),
        ),
    ),
    MenuSection(
        "Evaluations",
        (
            MenuPage("project", "Overview", ("batches/{batch:int}",)),
            MenuPage("steps", "Steps"),
            MenuPage("policy", "Policy"),
            MenuPage("live", "Live comparison"),
            MenuPage(
                "records",
                "Records",
                (
                    *("recorded", "results", "evaluate", "compare", "gate", "changes"),
                    "judgments/{judgments}/evaluation",
                ),
            ),
        ),
    ),
    MenuSection(
        "History",
        (
            MenuPage("trends", "Trends", ("annotations", "recorded/points", "recorded/annotations")),
            MenuPage("alerts", "Alerts"),
            MenuPage("schedule", "Schedule"),
        ),
    ),
    MenuSection(
        "Online",
        (MenuPage("records", "Experiments", group="experiments"), MenuPage("records", "KPIs", group="kpis")),
    ),
    MenuSection(
        "Settings",
        (
            MenuPage("setup", "Setup", ("scale", "guidelines", "display", "metric")),
            MenuPage("people", "People", ("invitations",)),
            MenuPage("work", "Working time"),
            MenuPage("archive", "Archive", ("delete",)),
            MenuPage("log", "Log"),
        ),
    ),
)
"""The sections; a page whose route names a section is one of its last pages."""


def list_sections(routes: Mapping[str, Route]) -> tuple[MenuSection, ...]:
    """The sections with their own pages, and those that routes name."""
    return tuple(
        replace(
            section,
            pages=(
                *section.pages,
                *(
                    MenuPage(route.name, route.title)
                    for route in routes.values()
                    if route.section == section.label
                ),
            ),
        )
        for section in SECTIONS
    )


def current_page(
    sections: Iterable[MenuSection], routes: Mapping[str, Route], route: str, group: str = ""
) -> MenuPage | None:
    """The page that a route belongs to, by the longest path; None outside of projects.

    Args:
        sections: the sections with their pages.
        routes: every route by name.
        route: the name of the route.
        group: the group of the shown records.
    """
    pages = [page for section in sections for page in section.pages]
    below = {
        below: page
        for page in reversed(pages)
        for below in (routes[page.route].path, *(f"{_PROJECT}/{path}" for path in page.paths))
    }
    path = routes[route].path
    fitting = [prefix for prefix in below if path == prefix or path.startswith((f"{prefix}/", f"{prefix}."))]
    page = below[max(fitting, key=len)] if fitting else None
    if page is None or page.route != "records":
        return page
    return next((group_page for group_page in pages if group and group_page.group == group), page)


_PROJECT = "/projects/{project}"


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
    sections = list_sections(routes)
    current = current_page(sections, routes, route, group)
    menu: list[PageRow] = []
    for section in sections:
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
