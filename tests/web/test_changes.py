"""From a fall to its cause: alert, change-point, two evaluations, queries, both lists, batch."""

from __future__ import annotations

import re
from html import unescape

import pytest

from rankgate.store.material import project_engines, projects
from rankgate.store.rating import batches, tasks
from support.regressed import FELL, HARM, regress
from support.wording import assert_wording

SHOP = "/projects/fallen"


@pytest.fixture(scope="module")
def fallen(team):
    """The evaluations of a project with a seeded regression, and its alert."""
    project = team.project("fallen")
    stored = regress(team.store, project.id)
    manager = team.visitor("manager")
    states = manager.post(f"{SHOP}/alerts/check").json()["states"]
    assert [state["change"] for state in states] == ["fired"]
    return stored


@pytest.fixture(scope="module")
def pair(fallen):
    """The evaluations before and after the fall, as fields of a form."""
    return {"before": fallen[9].sha256, "after": fallen[10].sha256}


@pytest.fixture(scope="module")
def address(pair):
    """The address of their page."""
    return f"{SHOP}/changes?before={pair['before']}&after={pair['after']}"


@pytest.fixture(scope="module")
def viewer(team, fallen):  # noqa: ARG001 - after the history
    return team.visitor("viewer")


def query_page(address, query, form=""):
    """The address of a query's lists."""
    return address.replace("/changes?", f"/changes/query{form}?query={query}&")


def link(html, text):
    """The address of the first link that contains a text."""
    for target, label in re.findall(r'<a [^>]*href="([^"]+)"[^>]*>(.*?)</a>', html, re.DOTALL):
        if text in label:
            return unescape(target)
    raise AssertionError(text)


def test_from_the_alert_to_both_lists(viewer, fallen):
    [alert] = viewer.get(f"{SHOP}/alerts.json").json()["alerts"]
    page = viewer.get(f"{SHOP}/alerts/{alert['id']}").data.decode()
    trend = link(page, "See the change in the trend")
    target, _, anchor = trend.partition("#")
    html = viewer.get(target).data.decode()
    assert f'id="{anchor}"' in html
    changes = link(html, "What changed")
    assert changes == link(page, "Compare the two evaluations")
    for record in fallen[9:11]:
        assert record.sha256 in changes
    html = viewer.get(changes).data.decode()
    assert "The change comes mostly from the system." in html
    lists = viewer.get(link(html, "words of q")).data.decode()
    assert lists.count('<ol class="ranking"') == 2


def test_the_two_evaluations_have_metrics_causes_and_queries(viewer, address):
    data = viewer.get(address.replace("/changes?", "/changes.json?")).json()
    assert data["metric"] == "nDCG@10"
    changes = {row["metric"]: row for row in data["metrics"]}
    assert set(changes) == {"nDCG@10", "P@5", "RR"}
    assert changes["nDCG@10"]["high"] < changes["nDCG@10"]["low"] + 1
    assert changes["nDCG@10"]["high"] < 0
    assert changes["nDCG@10"]["better"] is False
    assert (data["fallen"], data["moved"], data["count"]) == (len(FELL), len(FELL), 24)
    moves = [row["change"] for row in data["queries"]]
    assert moves == sorted(moves)
    assert data["queries"][0]["query_id"] in FELL
    assert data["queries"][0]["judged_before"] == 1.0
    assert data["queries"][0]["judged_after"] == 0.8
    causes = {row["cause"]: row["part"] for row in data["causes"]["rows"]}
    assert causes["system"] == pytest.approx(changes["nDCG@10"]["change"])
    assert causes["judge"] == causes["judgments"] == causes["queries"] == 0
    csv = viewer.get(address.replace("/changes?", "/changes.csv?")).data.decode()
    assert csv.splitlines()[0].startswith("query_id,text,before,after,change")


def test_two_evaluations_are_chosen_on_the_page_and_below_the_trend(viewer, address, fallen):
    trend = viewer.get(f"{SHOP}/trends?metric=nDCG@10&system=shop").data.decode()
    for html, selected in ((viewer.get(address).data.decode(), fallen[9:11]), (trend, fallen[-2:])):
        [form] = re.findall(rf'<form [^>]*action="{SHOP}/changes".*?</form>', html, re.DOTALL)
        options = re.findall(r'<option value="(\w+)"( selected)?>([^<]*)', form)
        hashes = [record.sha256 for record in reversed(fallen)]
        assert [sha256 for sha256, _, _ in options] == hashes * 2
        marked = [sha256 for sha256, mark, _ in options if mark]
        assert marked == [record.sha256 for record in selected]
        assert options[0][2].startswith(f"{fallen[-1].evaluated_at:%Y-%m-%d %H:%M} UTC, shop, 0.")
        assert 'name="metric" value="nDCG@10"' in form


def test_a_metric_is_chosen_by_the_address(viewer, address):
    data = viewer.get(f"{address.replace('/changes?', '/changes.json?')}&metric=RR").json()
    assert data["metric"] == data["metrics"][0]["metric"] == "RR"
    assert "nDCG@10" in viewer.get(f"{address}&metric=no").data.decode()


def test_both_lists_have_moves_grades_and_marks(viewer, address):
    data = viewer.get(query_page(address, "q02", ".json")).json()
    before, after = data["lists"]["before"], data["lists"]["after"]
    assert [row["rank"] for row in before] == list(range(1, 9))
    assert after[0]["doc_id"] == "x1"
    assert (after[0]["grade"], after[0]["shade"], after[0]["moved"]) == (None, "x", None)
    place = {row["doc_id"]: row["rank"] for row in after}
    assert all(row["moved"] == row["rank"] - place[row["doc_id"]] for row in before)
    [first] = [row for row in before if row["doc_id"] == "p0"]
    assert first["title"] == [
        ["A ", False],
        ["red", True],
        [" ", False],
        ["bike", True],
        [" for children", False],
    ]
    html = viewer.get(query_page(address, "q02")).data.decode()
    assert "unjudged" in html
    assert "<mark>red</mark>" in html
    assert '<b class="move">new</b>' in html


def test_characters_are_marked_and_explanations_stand_apart(viewer, address):
    html = viewer.get(query_page(address, "q03")).data.decode()
    assert "<mark>東京</mark>都<mark>の自転車</mark>店" in html
    assert "weight(title:東京) = 2.5" in html
    assert "Explanation of the engine" in html


def test_a_manager_asks_the_engines_for_their_explanations_now(team, viewer, address):
    label, manager = "own explanations", team.visitor("manager")
    assert label not in manager.get(query_page(address, "q02")).data.decode()
    engine = project_engines.ProjectEngine("shop", "http", {})
    with team.store.write() as connection:
        project = projects.get_by_name(connection, "fallen")
        project_engines.save_engine(connection, project.id, engine)
    page = manager.get(query_page(address, "q02")).data.decode()
    assert link(page, label).startswith(f"{SHOP}/live?text=red+bike")
    assert label not in viewer.get(query_page(address, "q02")).data.decode()


def test_hostile_texts_are_shown_as_text(viewer, address):
    html = viewer.get(query_page(address, "q04")).data.decode()
    assert HARM not in html
    assert "&lt;<mark>script</mark>&gt;" in html
    assert HARM not in viewer.get(address).data.decode()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"before": "0" * 64}, 404),
        ({"before": "²"}, 404),
        ({"before": ""}, 400),
        ({"before": "x" * 65}, 400),
        ({"after": "<script>"}, 404),
        ({"query": "nowhere"}, 404),
        ({"query": ""}, 400),
        ({"system": "<b>nobody"}, 200),
        ({"metric": "<script>"}, 200),
    ],
)
def test_wrong_addresses_are_refused_without_their_content(viewer, pair, change, status):
    values = {**pair, "query": "q02", **change}
    fields = "&".join(f"{name}={value}" for name, value in values.items())
    answer = viewer.get(f"{SHOP}/changes/query?{fields}")
    assert answer.status == status
    assert "<script>" not in answer.data.decode().partition("</head>")[2]


def test_missing_documents_are_asked_for_once_and_of_one_person(team, fallen, pair, address):
    manager, viewer, rater = map(team.visitor, ("manager", "viewer", "rater"))
    state = manager.get(query_page(address, "q02", ".json")).json()["missing"]
    assert state == {"documents": 2, "waiting": 0, "batch": None}
    path = f"{SHOP}/changes/batch"
    assert viewer.post(path, **pair).status == 403
    answer = manager.send(path, query_page(address, "q02"), **pair, query="q02", metric="", system="")
    assert answer.status == 303
    assert "/changes/query?query=q02&" in answer.headers["location"]
    state = manager.get(query_page(address, "q02", ".json")).json()["missing"]
    assert (state["documents"], state["waiting"], state["batch"]["total"]) == (2, 2, 2)
    counts = [manager.post(path, **pair).json()["tasks"] for _ in range(2)]
    assert counts == [2 * len(FELL) - 2, 0]
    with team.store.read() as connection:
        project_batches = batches.list_batches(connection, fallen[0].project)
        names = [batch.name for batch in project_batches if batch.name.startswith("Missing")]
    hashes = f"{pair['before'][:8]} {pair['after'][:8]}"
    assert names == [f"Missing grades of 2026-03-10 and 2026-03-11 ({hashes})"]
    answer = manager.post(f"{SHOP}/changes/batch", **pair, rater="rater")
    assert answer.status == 200
    data = answer.json()
    assert (data["tasks"], data["assigned"]) == (0, 2 * len(FELL))
    again = manager.post(f"{SHOP}/changes/batch", **pair, rater="rater").json()
    assert (again["tasks"], again["assigned"]) == (0, 0)
    number = data["batch"]
    assert manager.get(f"{SHOP}/rate.json?batch={number}").json()["task"] is None
    task = rater.get(f"{SHOP}/rate.json?batch={number}").json()["task"]["id"]
    assert rater.post(f"{SHOP}/ratings", task=task, grade=0).status == 200
    for name in ("viewer", "nobody", "<script>"):
        refused = manager.post(f"{SHOP}/changes/batch", **pair, rater=name)
        assert refused.status == 400
        assert_wording(refused.json()["error"]["message"])
    moved = manager.post(f"{SHOP}/changes/batch", **pair, rater="manager").json()
    assert moved["assigned"] == 2 * len(FELL) - 1
    assert rater.get(f"{SHOP}/rate.json?batch={number}").json()["task"] is None
    assert manager.get(f"{SHOP}/rate.json?batch={number}").json()["task"] is not None
    with team.store.read() as connection:
        assert tasks.progress(connection, team.store_project("fallen"), number).done == 1


def test_comments_lead_back_to_the_comparison(team, pair, address):
    manager = team.visitor("manager")
    subject = f"{pair['before']}..{pair['after']}"
    answer = manager.send(f"{SHOP}/comments", address, kind="comparison", subject=subject, text="who knows?")
    assert answer.headers["location"].startswith(f"{SHOP}/changes?before=")
    assert "who knows?" in manager.get(address).data.decode()
    page = query_page(address, "q02")
    answer = manager.send(
        f"{SHOP}/comments", page, kind="query", subject="q02", text="look", comparison=subject
    )
    assert answer.headers["location"].startswith(f"{SHOP}/changes/query?query=q02&before=")
    answer = manager.send(
        f"{SHOP}/comments", page, kind="query", subject="q02", text="b", comparison="//evil.example"
    )
    assert answer.headers["location"].startswith(f"{SHOP}/query?query=q02")
