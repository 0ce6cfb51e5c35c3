"""Recorded results in pages and in the REST API: lists, records, queries, comments."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest

from rankgate.data import read_qrels, read_run
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import audit, users
from rankgate.store.records import records, scheduled_jobs
from rankgate.store.records.records import Value
from rankgate.workspace.web.pages import coverage_pages
from rankgate.workspace.web.routes import ROUTES
from support.recorded import BEGIN, METRICS, QRELS, evaluated, history, new_record, run_of
from support.serving import Visitor

SHOP = "/projects/shop"


@pytest.fixture(scope="module")
def made(team):
    with team.store.read() as connection:
        number = users_project(connection)
    return history(team.store, number)


def users_project(connection, name="shop"):
    return projects.get_by_name(connection, name).id


@pytest.fixture(scope="module")
def viewer(team, made):  # noqa: ARG001 - there is something to see
    return team.visitor("viewer")


def rows_of(answer):
    assert answer.status == 200, answer.data
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.data.decode())))


def test_the_overview_says_what_moved_and_what_is_next(viewer, made):
    overview = viewer.get(f"{SHOP}.json").json()
    quality = overview["quality"]
    assert quality["gate"]["sha256"] == made["verdict"].sha256
    assert quality["gate"]["verdict"] == made["verdict"].verdict
    assert {rule["status"] for rule in quality["rules"]} >= {made["verdict"].verdict}
    assert [alert["rule"] for alert in quality["alerts"]] == ["nDCG@10 fell"]
    assert quality["annotations"][0]["kind"] == "deploy"
    assert {trend["name"] for trend in quality["trends"]} == {f"{m} of shop" for m in METRICS}
    assert quality["judgments"]["name"] == "graded"
    assert quality["judgments"]["judged"]
    result = viewer.get(f"{SHOP}/records/{made['verdict'].sha256}.json").json()["result"]
    mean = next(row for row in result["means"] if row["metric"] == "nDCG@10")
    assert f"{mean['losses']} of 24 queries got worse" in quality["decision"]["sentence"]
    assert overview["attention"][0]["kind"] == "alert"
    assert overview["next_step"] == overview["attention"][0]
    page = viewer.get(SHOP).data.decode()
    order = ("attention", "next-step", "metric", "gate", "moves", "trends", "batches")
    positions = [page.index(f'id="{name}"') for name in order]
    assert positions == sorted(positions)
    assert f'href="{overview["next_step"]["path"]}"' in page


def test_the_metric_of_the_overview_is_one_chart_with_its_marks(viewer, made):
    metric = viewer.get(f"{SHOP}.json").json()["quality"]["metric"]
    assert (metric["metric"], metric["system"]) == ("nDCG@10", "shop")
    assert metric["record"] == made["evaluation"].sha256
    assert (metric["low"], metric["high"]) == pytest.approx((metric["value"] - 0.03, metric["value"] + 0.03))
    page = viewer.get(SHOP).data.decode()
    chart = page[page.index("<figure") : page.index("</figure>")]
    assert chart.count("<circle") == 8
    assert f'href="{SHOP}/records/{made["evaluation"].sha256}"' in chart
    assert "fill-opacity" in chart  # the band of intervals
    assert "new analyser" in chart
    assert "alert: nDCG@10 fell" in chart
    assert page.count("<figure") == 1


def test_queries_that_moved_most_have_their_texts_and_values(viewer, made):
    moves = viewer.get(f"{SHOP}.json").json()["quality"]["moves"]
    assert (moves["baseline"], moves["candidate"]) == ("before", "after")
    assert (moves["metric"], moves["record"]) == ("nDCG@10", made["verdict"].sha256)
    values = rows_of(viewer.get(f"{SHOP}/records/{made['verdict'].sha256}/values.csv"))
    value_of = {(row["system"], row["query_id"]): float(row["nDCG@10"]) for row in values}
    deltas = {query: value_of["after", query] - value_of["before", query] for query in QRELS}
    assert moves["moved"] == sum(delta != 0 for delta in deltas.values())
    assert moves["count"] == len(QRELS)
    largest = sorted(map(abs, deltas.values()))[-len(moves["queries"]) :]
    assert sorted(abs(row["delta"]) for row in moves["queries"]) == pytest.approx(largest)
    assert [row["delta"] for row in moves["queries"]] == sorted(row["delta"] for row in moves["queries"])
    page = viewer.get(SHOP).data.decode()
    for row in moves["queries"]:
        query = row["query_id"]
        assert row["text"] == f"words of {query} <b>&"
        assert row["baseline"] == pytest.approx(value_of["before", query])
        assert row["candidate"] == pytest.approx(value_of["after", query])
        assert f"{SHOP}/query?query={query}&amp;metric=nDCG%4010&amp;record=" in page
    assert "words of q03 &lt;b&gt;&amp;" in page


def test_later_evaluations_explain_the_metric_instead_of_an_older_gate(team):
    """From the evaluation before the fall to the last evaluation, across other low evaluations."""
    project = team.project("nights", pairs=0)
    for day, bad in enumerate([(), (), list(QRELS)[:9], list(QRELS)[:9]]):
        at = BEGIN + timedelta(days=day)
        evaluated(team.store, project.id, "shop", run_of(2, bad), at)
    moves = team.visitor("viewer").get("/projects/nights.json").json()["quality"]["moves"]
    assert (moves["baseline"], moves["candidate"]) == ("2026-03-02", "2026-03-04")
    assert moves["moved"] == 9
    assert not any(row["better"] for row in moves["queries"])


def test_the_team_chooses_the_metric_of_the_overview(team):
    project = team.project("chosen", pairs=0)
    for day in range(3):
        at = BEGIN + timedelta(days=day)
        evaluated(team.store, project.id, "shop", run_of(day), at)
    manager, viewer = team.visitor("manager"), team.visitor("viewer")

    def shown_metric():
        return viewer.get("/projects/chosen.json").json()["quality"]["metric"]["metric"]

    assert shown_metric() == METRICS[0]
    refused = manager.post("/projects/chosen/metric", metric="nDCG@3")
    assert (refused.status, refused.json()["error"]["code"]) == (400, "invalid-value")
    assert viewer.post("/projects/chosen/metric", metric="RR").status == 403
    assert manager.post("/projects/chosen/metric", metric="RR").json() == {"metric": "RR"}
    assert shown_metric() == "RR"
    setup = manager.get("/projects/chosen/setup").data.decode()
    assert "<option selected>RR</option>" in setup
    with team.store.read() as connection:
        entry = next(iter(audit.entries(connection, project.id)))
    assert (entry.action, entry.subject) == ("project.metric", "RR")


def test_lines_of_one_kind_share_a_scale(team):
    project = team.project("scales", pairs=0)
    with team.store.write() as connection:
        for day in range(2):
            figures = [
                Value("A@1", "shop", 0.2 + 0.1 * day),
                Value("B@1", "shop", 0.9 - 0.1 * day),
                Value("latency_ms", "shop", 100.0 + day, higher_is_better=False),
                Value("first", "shop", 0.5),
            ]
            result = {"schema_version": 1, "kind": "of_tomorrow", "day": day}
            new = new_record(result, figures, None, BEGIN + timedelta(days=day))
            records.add(connection, team.store.blobs, project.id, new)
        projects.change(connection, project.id, settings={"metric": "first"})
    page = team.visitor("viewer").get("/projects/scales").data.decode()
    others = page[page.index('id="trends"') :]
    assert "from 0.2 to 0.9" in others
    assert "from 100 to 101" in others
    ends = [float(y) for y in re.findall(r'<circle cx="[^"]*" cy="([^"]*)"', others)]
    assert len(ends) == 3
    assert min(ends) == 4.0  # 101 ms is at the edge of its scale, 0.3 and 0.8 are within theirs
    assert sorted(ends)[1:] == pytest.approx([4 + 28 * 0.1 / 0.7, 32 - 28 * 0.1 / 0.7], abs=0.06)


def test_what_needs_attention_is_first(team):
    project = team.project("urgent", pairs=1)
    evaluated(team.store, project.id, "shop", run_of(1), BEGIN)
    manager, viewer = team.visitor("manager"), team.visitor("viewer")
    with team.store.write() as connection:
        for name, error in (("nightly", "no engine"), ("weekly", "")):
            job = scheduled_jobs.save_job(connection, project.id, name, kind="alerts", schedule="0 3 * * *")
            scheduled_jobs.plan_run(connection, job.id, BEGIN)
            run = scheduled_jobs.take_run(connection, "me", lease=timedelta(minutes=1))
            if error:
                scheduled_jobs.mark_failed(connection, run.id, "me", log="", error=error, next_try_at=None)
            else:
                scheduled_jobs.mark_done(connection, run.id, "me", log="")
    for name, grade in (("manager", 0), ("rater", 3)):
        visitor = team.visitor(name)
        task = visitor.get("/projects/urgent/rate.json").json()["task"]["id"]
        assert visitor.post("/projects/urgent/ratings", task=task, grade=grade).status == 200
    overview = viewer.get("/projects/urgent.json").json()
    assert [step["kind"] for step in overview["attention"]] == ["job", "disputes"]
    assert "nightly" in overview["attention"][0]["text"]
    assert overview["next_step"] == overview["attention"][0]
    for step in overview["attention"]:
        assert viewer.get(step["path"]).status == manager.get(step["path"]).status == 200


def test_an_empty_project_shows_the_first_step(team):
    project = team.project("fresh", pairs=0)
    manager, viewer = team.visitor("manager"), team.visitor("viewer")
    path = "/projects/fresh"

    def first_step(visitor):
        step = visitor.get(f"{path}.json").json()["next_step"]
        page = visitor.get(path).data.decode()
        assert ("First step" in page, f'href="{step["path"]}"' in page) == (True, step["path"] != "")
        return step["label"], step["path"].removeprefix(path)

    assert first_step(manager) == ("See the steps", "/steps")  # there is a query
    assert first_step(viewer) == ("See the steps", "")
    with team.store.write() as connection:
        run = read_run({"q1": {"d1": 1.0}})
        stored_runs.add_run(connection, team.store.blobs, project.id, run, name="one")
    assert first_step(manager) == ("Make a batch of them for raters", "/coverage")
    with team.store.write() as connection:
        judged = read_qrels({"q1": {"d1": 1}})
        stored_runs.add_judgments(connection, team.store.blobs, project.id, judged, name="b c")
    assert first_step(viewer) == ("See the scores", "/judgments/b%20c/evaluation")
    root = team.visitor("root")
    root.send("/projects", "/projects", name="bare", title="Bare", scale="graded")
    bare = root.get("/projects/bare.json").json()["next_step"]
    assert (bare["label"], bare["path"]) == ("Begin", "/projects/bare/steps")


def test_projects_have_their_state(viewer):
    (shop,) = [p for p in viewer.get("/projects.json").json()["projects"] if p["name"] == "shop"]
    assert (shop["verdict"], shop["alerts"]) == ("fail", 1)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("", 10),
        ("kind=evaluation", 8),
        ("kind=gates", 1),
        ("kind=runs", 8),
        ("system=shop", 8),
        ("branch=main", 10),
        ("branch=other", 0),
        ("verdict=fail", 1),
        ("verdict=pass", 0),
        ("label=stage%3Dnightly", 8),
        ("label=stage", 8),
        ("label=stage%3Dx", 0),
        ("words=AGAINST", 2),
        ("words=0000000000000000000000000000000000000007", 1),
        ("words=100%25", 0),
        ("since=2026-03-05", 6),
        ("until=2026-03-05", 4),
        ("since=2026-03-02&until=2026-03-04", 2),
    ],
)
def test_records_are_filtered(viewer, asked, count):
    answer = viewer.get(f"{SHOP}/records.json?{asked}").json()
    assert answer["total"] == len(answer["records"]) == count
    assert len(rows_of(viewer.get(f"{SHOP}/records.csv?{asked}"))) == count
    assert viewer.get(f"{SHOP}/records?{asked}").status == 200


def test_records_are_paged_and_found_by_hash(viewer, made):
    hashes, cursor = [], ""
    while True:
        listing = viewer.get(f"{SHOP}/records.json?most=3{cursor}").json()
        hashes += [entry["sha256"] for entry in listing["records"]]
        if listing["next"] is None:
            break
        cursor = f"&before={listing['next']}"
    assert len(hashes) == len(set(hashes)) == 10
    record = made["comparison"].sha256
    listing = viewer.get(f"{SHOP}/records.json?words={record[:10]}").json()["records"]
    assert [entry["sha256"] for entry in listing] == [record]


@pytest.mark.parametrize("kind", ["evaluation", "comparison", "verdict"])
def test_a_record_is_its_result_with_files(viewer, made, kind):
    url = f"{SHOP}/records/{made[kind].sha256}"
    answer = viewer.get(f"{url}.json").json()
    assert answer["result"]["kind"] == kind
    assert viewer.get(f"{url[:-50]}.json").json() == answer  # the first letters are enough
    page = viewer.get(url)
    assert page.status == 200
    assert b" style=" not in page.data
    assert answer["tables"]
    for entry in answer["tables"]:
        path = f"{url}/tables/{entry['table'].replace('%', '%25')}"
        table = viewer.get(f"{path}.json").json()
        assert len(rows_of(viewer.get(f"{path}.csv"))) == len(table["rows"]) > 0
        assert viewer.get(path).status == 200
        assert f"{path}.csv".encode() in page.data
    values = rows_of(viewer.get(f"{url}/values.csv"))
    assert {row["query_id"] for row in values} == set(QRELS)
    assert b"/query?query=q03&amp;record=" in page.data
    assert viewer.get(f"{url}/tables/none").status == 404
    assert viewer.get(f"{url}/charts/none.svg").status == 404


def test_evidence_of_every_rule(viewer, made):
    url = f"{SHOP}/records/{made['verdict'].sha256}"
    evidence = viewer.get(f"{url}/tables/evidence_0.json").json()
    rules = viewer.get(f"{url}.json").json()["result"]["rules"]
    assert [row[1] for row in evidence["rows"]] == [rule["id"] for rule in rules]
    delta = next(rule["delta"] for rule in rules if rule["delta"] is not None)
    assert f"{delta:+.4f}" in {row[6] for row in evidence["rows"]}


def test_a_result_that_is_not_known_still_has_its_figures(team, viewer, made):
    number = team.project("tomorrow").id
    with team.store.write() as connection:
        result = {"schema_version": 1, "kind": "of_tomorrow", "x": 1}
        at = made["verdict"].evaluated_at
        saved = records.add(connection, team.store.blobs, number, new_record(result, [], None, at))
    at = f"/projects/tomorrow/records/{saved.record.sha256}"
    assert viewer.get(f"{at}.json").json()["result"] == result
    assert viewer.get(at).status == 200
    assert viewer.get(f"{at}/values").status == 404


def test_a_query_over_time_with_both_lists(viewer, made):
    url = f"{SHOP}/query.json?query=q03&metric=nDCG%4010"
    answer = viewer.get(f"{url}&record={made['verdict'].sha256}").json()
    assert answer["query"]["text"] == "words of q03 <b>&"
    assert len(answer["values"]) == 12
    table = viewer.get(f"{SHOP}/records/{made['evaluation'].sha256}/values.csv")
    value = next(row["nDCG@10"] for row in rows_of(table) if row["query_id"] == "q03")
    last = next(row for row in answer["values"] if row["system"] == "shop")
    assert last["value"] == float(value)
    for rows in (answer["lists"], viewer.get(f"{url}&record={made['comparison'].sha256}").json()["lists"]):
        sides = {row["system"] for row in rows}
        assert len(sides) == 2
        for side in sides:
            ranked = {row["rank"]: row for row in rows if row["system"] == side}
            assert sorted(ranked) == list(range(1, 9))
            assert all(row["grade"] == QRELS["q03"][row["doc_id"]] for row in ranked.values())
    base_docs, target_docs = (
        [row["doc_id"] for row in answer["lists"] if row["system"] == side] for side in ("before", "after")
    )
    assert [row["moved"] for row in answer["lists"][:8]] == [
        target_docs.index(doc) - base_docs.index(doc) for doc in base_docs
    ]
    assert {row["doc_id"]: row["grade"] for row in answer["judgments"]} == QRELS["q03"]
    page = viewer.get(f"{SHOP}/query?query=q03").data.decode()
    assert "title of p0" in page
    assert "words of q03 &lt;b&gt;&amp;" in page
    assert viewer.get(f"{SHOP}/query?query=none").status == 404
    assert len(rows_of(viewer.get(f"{SHOP}/query.csv?query=q03"))) == 36


def test_a_value_is_explained(viewer, made):
    url = f"{SHOP}/explain.json?query=q03&metric=nDCG%4010&record={made['verdict'].sha256}"
    explanation = viewer.get(f"{url}&system=after").json()["explanation"]
    values = viewer.get(f"{SHOP}/query.json?query=q03&metric=nDCG%4010").json()["values"]
    assert explanation["value"] == pytest.approx(next(v["value"] for v in values if v["system"] == "after"))
    assert viewer.get(f"{url}&system=nobody").status == 404
    assert viewer.get(url.replace("nDCG%4010", "nonsense")).status == 404


def test_queries_are_listed_the_worst_first(viewer):
    answer = viewer.get(f"{SHOP}/queries.json").json()
    assert answer["total"] == len(QRELS) + 1  # and one that is only rated
    values = [row["values"]["nDCG@10"] for row in answer["queries"] if row["values"]]
    assert values == sorted(values)
    assert viewer.get(f"{SHOP}/queries.json?words=Q03").json()["total"] == 1
    assert len(rows_of(viewer.get(f"{SHOP}/queries.csv"))) == answer["total"]


def test_comments_are_added_once_and_taken_back(team, viewer):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    fields = {"kind": "query", "subject": "q03", "text": "<script>alert(1)</script>", "comment_id": "mine"}
    number = rater.post(f"{SHOP}/comments", **fields).json()["id"]
    assert rater.post(f"{SHOP}/comments", **fields).json()["id"] == number
    assert viewer.post(f"{SHOP}/comments", **fields).status == 403
    manager_number = manager.post(f"{SHOP}/comments", **fields | {"text": "seen"}).json()["id"]
    assert manager_number != number  # the same word of another client
    page = viewer.get(f"{SHOP}/query?query=q03").data.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert rater.post(f"{SHOP}/comments/{manager_number}/withdraw").status == 403
    assert manager.post(f"{SHOP}/comments/{number}/withdraw").status == 200
    comments = viewer.get(f"{SHOP}/query.json?query=q03").json()["comments"]
    assert [(comment["withdrawn"], comment["text"]) for comment in comments] == [(True, ""), (False, "seen")]
    queries = viewer.get(f"{SHOP}/queries.json?words=q03").json()["queries"]
    assert queries[0]["comments"] == 1
    with team.store.read() as connection:
        log = [entry.action for entry in audit.entries(connection, users_project(connection))]
    assert log[:3] == ["comment.withdraw", "comment.add", "comment.add"]


def test_raters_read_no_comments_of_others_on_results(team, made):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    record = {"kind": "record", "subject": made["verdict"].sha256}
    manager.post(f"{SHOP}/comments", **record, text="new finds shoes first")
    manager.post(f"{SHOP}/comments", kind="comparison", subject="old-new", text="new won")
    manager.post(f"{SHOP}/comments", kind="query", subject="q04", text="which of the two?")
    rater.post(f"{SHOP}/comments", **record, text="a question of mine")
    for path in ("", f"?kind=record&subject={record['subject']}", "?kind=comparison", "?kind=record"):
        for form in ("", ".json"):
            text = rater.get(f"{SHOP}/comments{form}{path}").data.decode()
            assert "finds shoes" not in text
            assert "new won" not in text
    assert "which of the two" in rater.get(f"{SHOP}/comments").data.decode()
    assert "of mine" in rater.get(f"{SHOP}/comments?kind=record").data.decode()
    assert "finds shoes" in manager.get(f"{SHOP}/comments").data.decode()


def test_forms_of_comments_need_their_word(team, made):
    rater = team.visitor("rater")
    url = f"{SHOP}/comments"
    fields = {"kind": "record", "subject": made["verdict"].sha256, "text": "why?"}
    assert rater.ask("POST", url, fields=fields, encode_multipart=False).status == 403
    answer = rater.ask("POST", url, fields=fields | {"csrf": rater.csrf("/account")}, encode_multipart=False)
    assert answer.status == 303


def test_a_project_shows_nothing_of_another(team, made):
    other_project = team.project("other-records")
    with team.store.write() as connection:
        for name in ("viewer", "manager"):
            user = users.get_by_name(connection, name).id
            users.grant(connection, users_project(connection), user, None)
    try:
        for name in ("viewer", "manager"):
            visitor = team.visitor(name)
            url = f"/projects/{other_project.name}"
            assert visitor.get(f"{url}/records.json").json()["total"] == 0
            assert visitor.get(f"{url}/records.json").json()["choices"] == {
                "kind": {},
                "system": {},
                "branch": {},
                "verdict": {},
            }
            assert visitor.get(f"{url}.json").json()["quality"]["records"] == 0
            assert visitor.get(f"{url}/comments.json").json()["comments"] == []
            assert visitor.get(f"{url}/query?query=q03").status == 404
            for record in made.values():
                for path in (
                    record.sha256,
                    record.id,
                    f"{record.sha256}/values",
                    f"{record.sha256}/tables/evidence_0",
                ):
                    assert visitor.get(f"{url}/records/{path}.json").status == 404
                assert visitor.get(f"{url}/records.json?before={record.id}").status == 404
            visible = visitor.get("/projects.json").json()["projects"]
            assert "shop" not in {project["name"] for project in visible}
    finally:
        with team.store.write() as connection:
            for name in ("viewer", "manager"):
                user = users.get_by_name(connection, name).id
                users.grant(connection, users_project(connection), user, name)


def test_a_trend_has_points_breaks_and_notes(team, viewer, made):
    url = f"{SHOP}/trends"
    series = viewer.get(f"{url}.json").json()["series"]
    assert {(trend["metric"], trend["system"], trend["points"]) for trend in series} == {
        (metric, "shop", 8) for metric in METRICS
    }
    answer = viewer.get(f"{url}.json?metric=nDCG%4010").json()
    points = answer["history"]["series"]
    assert [point["value"] for point in points][-1] == next(
        trend["value"] for trend in series if trend["metric"] == "nDCG@10"
    )
    assert [annotation["text"] for annotation in answer["annotations"]] == ["new analyser"]
    assert len(rows_of(viewer.get(f"{url}.csv?metric=nDCG%4010"))) == 8
    page = viewer.get(f"{url}?metric=nDCG%4010").data.decode()
    assert page.count("<circle") == 8
    assert f'href="{SHOP}/records/{made["evaluation"].sha256}"' in page
    assert viewer.get(f"{url}.svg?metric=nDCG%4010").data.startswith(b"<svg")
    assert viewer.get(f"{url}.png?metric=nDCG%4010").data.startswith(b"\x89PNG")
    assert viewer.get(f"{url}?metric=none").status == 404
    assert viewer.get(f"{url}?metric=nDCG%4010&branch=none").status == 404
    assert team.address


def test_managers_note_what_happened(team, viewer, made):
    assert made
    manager = team.visitor("manager")
    fields = {
        "kind": "incident",
        "text": "the index <b> was empty",
        "metric": "RR",
        "at": "2026-03-04T12:00",
        "annotation_id": "mine",
    }
    assert viewer.post(f"{SHOP}/annotations", **fields).status == 403
    number = manager.post(f"{SHOP}/annotations", **fields).json()["annotation"]
    assert manager.post(f"{SHOP}/annotations", **fields).json()["annotation"] == number
    texts = [
        [
            annotation["text"]
            for annotation in viewer.get(f"{SHOP}/trends.json?metric={m}").json()["annotations"]
        ]
        for m in ("RR", "P%405")
    ]
    assert texts == [["new analyser", fields["text"]], ["new analyser"]]
    assert "the index &lt;b&gt; was empty" in viewer.get(f"{SHOP}/trends?metric=RR").data.decode()
    assert manager.post(f"{SHOP}/annotations/{number}/withdraw").status == 200
    assert manager.post(f"{SHOP}/annotations/{number + 999}/withdraw").status == 404
    note_rows = viewer.get(f"{SHOP}/trends.json?metric=RR").json()["annotations"]
    assert [annotation["text"] for annotation in note_rows] == ["new analyser"]


TABLES = [route for route in ROUTES if route.tabular]


def test_a_table_as_csv_has_the_rights_of_its_page(team, viewer, made):
    stranger, rater, anonymous = (team.visitor("stranger"), team.visitor("rater"), Visitor(team.address))
    names = {"project": "shop", "record": made["verdict"].sha256, "table": "evidence_0"}
    for route in TABLES:
        path = re.sub(r"\{(\w+)\}", lambda found: names[found[1]], route.path) + ".csv"
        run = made["evaluation"].sha256
        fields = {"query-values": "?query=q03", "change": f"?before={run}&after={run}"}
        path += fields.get(route.name, "")
        assert viewer.get(path).status == (200 if "viewer" in route.needs else 403), path
        assert rater.get(path).status == 403
        assert stranger.get(path).status == 404
        assert anonymous.get(path).status == 401
    assert len(TABLES) >= 6


def test_shares_and_means_have_their_numbers(team):
    """One query of fifty has judgments: of half of its documents."""
    project = team.project("half", pairs=0)
    run = {f"q{i}": {f"d{j}": 10.0 - j for j in range(10)} for i in range(50)}
    qrels = {"q0": {f"d{j}": j % 3 for j in range(5)}}
    evaluated(team.store, project.id, "shop", run, BEGIN, qrels)
    viewer = team.visitor("viewer")
    quality = viewer.get("/projects/half.json").json()["quality"]
    expected = {"5": pytest.approx(5 / (50 * 5)), "10": pytest.approx(5 / (50 * 10))}
    assert quality["judgments"]["judged"] == expected
    assert (quality["judgments"]["judged_queries"], quality["judgments"]["queries"]) == (1, 50)
    assert {trend["n"] for trend in quality["trends"]} == {1}
    page = viewer.get("/projects/half").data.decode()
    assert "<b>1%</b> of the first 10 documents" in page
    assert "over its 50 queries; 1 has judgments" in page
    assert ">1 query ·<" in page
    assert {row["n"] for row in viewer.get("/projects/half/trends.json").json()["series"]} == {1}


def test_runs_without_judged_queries_are_named_and_runs_come_by_page(team, monkeypatch):
    project = team.project("apart", pairs=0)
    with team.store.write() as connection:
        for name, query in (("a", "q1"), ("z", "z9")):
            stored_runs.add_run(
                connection, team.store.blobs, project.id, read_run({query: {"d1": 1.0, "d2": 0.5}}), name=name
            )
        stored_runs.add_judgments(
            connection,
            team.store.blobs,
            project.id,
            read_qrels({"q1": {"d1": 1}, "q2": {"d2": 1}}),
            name="gold",
        )
        stored_runs.add_judgments(
            connection, team.store.blobs, project.id, read_qrels({"x": {"d1": 1}}), name="other"
        )
    viewer = team.visitor("viewer")
    path = "/projects/apart/judgments"
    answer = viewer.get(f"{path}/gold/evaluation.json").json()
    assert [run["name"] for run in answer["evaluation"]["runs"]] == ["a"]
    assert answer["not_scored"] == ["z"]
    page = viewer.get(f"{path}/gold/evaluation")
    assert page.status == 200
    assert "Not scored" in page.data.decode()
    answer = viewer.get(f"{path}/other/evaluation.json").json()
    assert (answer["evaluation"], answer["not_scored"]) == (None, ["a", "z"])
    assert viewer.get(f"{path}/other/evaluation").status == 200
    monkeypatch.setattr(coverage_pages, "_MAX_RUNS", 1)
    first, last = (
        viewer.get(f"{path}/gold/evaluation.json?metrics=RR&after={after}").json() for after in (0, 1)
    )
    assert [run["name"] for run in first["evaluation"]["runs"]] == ["a"]
    assert (first["after"], last["after"], last["not_scored"]) == (1, None, ["z"])
    assert "metrics=RR&amp;after=1" in viewer.get(f"{path}/gold/evaluation?metrics=RR").data.decode()
    for after, name, following in ((0, "a", 1), (1, "z", None)):
        coverage = viewer.get(f"/projects/apart/coverage.json?after={after}").json()
        assert ({row["run"] for row in coverage["coverage"]}, coverage["after"]) == ({name}, following)
