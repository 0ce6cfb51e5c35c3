"""The navigation of a project: where each page is, what each role may follow, and texts of ids."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import pytest

from rankgate.store.material import projects
from rankgate.store.records import records
from rankgate.workspace.web.navigation import SECTIONS, current_page, list_sections
from rankgate.workspace.web.routes import ROUTES
from support.crawling import crawl, path_pattern, route_of
from support.recorded import BEGIN, history, new_record

ROLES = ("admin", "manager", "rater", "viewer")
LABELS = ["Queries", "Judging", "Evaluations", "History", "Online", "Settings"]


class Navigation(HTMLParser):
    """The links of a page's navigation, by row, and which of them are marked."""

    def __init__(self, html):
        super().__init__()
        self.row, self.link = None, None
        self.links, self.current = {"sections": [], "pages": []}, {"sections": [], "pages": []}
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "ul" and values.get("class") in self.links:
            self.row = values["class"]
        elif tag == "a" and self.row:
            self.link = values

    def handle_data(self, data):
        if self.link is not None:
            self.links[self.row].append((data, self.link["href"]))
            if "aria-current" in self.link:
                self.current[self.row].append((data, self.link["aria-current"]))
            self.link = None

    def handle_endtag(self, tag):
        if tag == "ul":
            self.row = None


class Keeper:
    """A visitor, and the pages of a project that were opened."""

    def __init__(self, visitor):
        self.visitor, self.pages = visitor, {}

    def get(self, path):
        answer = self.visitor.get(path)
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        if is_page and path.startswith("/projects/shop"):
            self.pages[path] = answer.data.decode()
        return answer


@pytest.fixture(scope="module")
def shop(team):
    return history(team.store, team.store_project("shop"))


@pytest.fixture(scope="module")
def seen(team, shop):  # noqa: ARG001 - there is something to see
    """The status of every linked address by role, and the pages of the project by role."""
    archived = team.project("over")
    with team.store.write() as connection:
        projects.change(connection, archived.id, archived_at=BEGIN)
    results = {}
    for role in ROLES:
        keeper = Keeper(team.visitor(role))
        statuses, _ = crawl(keeper, most=2)
        results[role] = statuses, keeper.pages
    return results


ROUTES_BY_NAME = {route.name: route for route in ROUTES}


def position(name):
    """The labels of the section and of the page that a route belongs to."""
    sections = list_sections(ROUTES_BY_NAME)
    page = current_page(sections, ROUTES_BY_NAME, name)
    return page and next((section.label, page.label) for section in sections if page in section.pages)


def test_every_route_of_a_project_is_in_one_section():
    of_projects = {route.name for route in ROUTES if route.path.startswith("/projects/{project}")}
    assert {name for name in ROUTES_BY_NAME if position(name)} == of_projects
    assert [section.label for section in SECTIONS] == LABELS
    assert position("record") == ("Evaluations", "Records")
    assert position("rated") == ("Judging", "Judgments"), "by the longest path"
    assert position("evaluation") == ("Evaluations", "Records")
    assert position("batch") == ("Evaluations", "Overview")
    below = {path for section in SECTIONS for page in section.pages for path in page.paths}
    starts = {route.path.removeprefix("/projects/{project}/") for route in ROUTES}
    assert not [path for path in below if not any(start.startswith(path) for start in starts)]


def test_a_page_that_names_a_section_is_its_last_one():
    further = replace(ROUTES_BY_NAME["log"], name="further", title="Further", section="History")
    *_, history, _, _ = list_sections({**ROUTES_BY_NAME, "further": further})
    assert [page.label for page in history.pages] == ["Trends", "Alerts", "Schedule", "Further"]


@pytest.mark.parametrize("role", ROLES)
def test_nobody_sees_a_link_that_they_may_not_follow(seen, role):
    statuses, pages = seen[role]
    assert {address: status for address, status in statuses.items() if status >= 400} == {}
    assert len(pages) >= 3


def _may_send(role, action):
    """True if a role may send the form of an action."""
    return any(
        role in route.needs
        for route in ROUTES
        if route.method == "POST" and path_pattern(route.path).fullmatch(action)
    )


@pytest.mark.parametrize("role", ROLES)
def test_nobody_sees_a_button_that_they_may_not_press(seen, role):
    forms = re.compile('<form [^>]*method="post" action="(/projects/shop[^"]*)"')
    actions = {action for html in seen[role][1].values() for action in forms.findall(html)}
    assert [action for action in sorted(actions) if not _may_send(role, action)] == []
    assert actions or role in {"viewer", "rater"}  # others may have claimed every task


@pytest.mark.parametrize("role", ROLES)
def test_every_page_shows_where_it_is(seen, role):
    for path, html in seen[role][1].items():
        navigation = Navigation(html)
        section, page = position(route_of(path.partition("?")[0]).name)
        if "kind=" in path:  # lists of some kinds are in another section
            continue
        assert [label for label, _ in navigation.current["pages"]] == [page], path
        sections = [] if role == "rater" else [(section, "true")]
        assert navigation.current["sections"] == sections, path


@pytest.mark.parametrize(
    ("role", "labels"), [("admin", LABELS), ("manager", LABELS), ("rater", []), ("viewer", LABELS[:-1])]
)
def test_each_role_has_the_sections_that_it_may_open(seen, role, labels):
    assert seen[role][1]
    for html in seen[role][1].values():
        assert [label for label, _ in Navigation(html).links["sections"]] == labels


def test_results_of_online_experiments_are_in_their_own_section(team, shop):
    viewer = team.visitor("viewer")
    with team.store.write() as connection:
        result = {"schema_version": 1, "kind": "kpi_table"}
        saved = records.add(
            connection, team.store.blobs, team.store_project("shop"), new_record(result, [], None, BEGIN)
        )
    for path, expected in (
        ("records?kind=kpis", ("Online", "KPIs")),
        ("records?kind=kpi_table", ("Online", "KPIs")),
        ("records?kind=experiments", ("Online", "Experiments")),
        ("records?kind=gates", ("Evaluations", "Records")),
        (f"records/{saved.record.sha256}", ("Online", "KPIs")),
        (f"records/{shop['verdict'].sha256}", ("Evaluations", "Records")),
    ):
        navigation = Navigation(viewer.get(f"/projects/shop/{path}").data.decode())
        section, page = expected
        assert [label for label, _ in navigation.current["sections"]] == [section], path
        assert [label for label, _ in navigation.current["pages"]] == [page], path


TEXTS = ((r"q\d\d", "words of {} <b>&"), ("q1", "a bike"), (r"p\d", "title of {}"), (r"d\d", "bike {}"))
"""The texts of the ids of queries and documents of the project."""


@pytest.mark.parametrize("role", ROLES)
def test_texts_stand_wherever_an_id_stands(seen, role):
    id_count = 0
    for path, html in seen[role][1].items():
        words = re.sub(r"<svg.*?</svg>|<select.*?</select>|</?mark>", "", html, flags=re.DOTALL)
        for pattern, text in TEXTS:
            for identifier in set(re.findall(f">({pattern})<", words)):
                assert escape(text.format(identifier)) in words, (path, identifier)
                id_count += 1
    assert id_count > 50 or role == "rater"
