"""Recorded results in pages and in the REST API: lists, records, queries, comments."""

from __future__ import annotations

import csv
import io
import re

import pytest

from rankgate.data import read_qrels, read_run
from rankgate.store.blobs import stored_runs
from rankgate.store.people import audit, users
from rankgate.store.records import records
from rankgate.workspace.web.routes import ROUTES
from support.recorded import BEGIN, METRICS, QRELS, evaluated, history, new_record
from support.serving import Visitor

SHOP = "/projects/shop"


@pytest.fixture(scope="module")
def made(team):
    with team.store.read() as connection:
        number = users_project(connection)
    return history(team.store, number)


def users_project(connection, name="shop"):
    from rankgate.store.material import projects

    return projects.get_by_name(connection, name).id


@pytest.fixture(scope="module")
def viewer(team, made):  # noqa: ARG001 - there is something to see
    return team.visitor("viewer")


def rows_of(answer):
    assert answer.status == 200, answer.data
    assert answer.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.data.decode())))


def test_the_overview_has_the_verdict_first(viewer, made):
    found = viewer.get(f"{SHOP}.json").json()["quality"]
    assert found["gate"]["sha256"] == made["verdict"].sha256
    assert found["gate"]["verdict"] == made["verdict"].verdict
    assert {rule["status"] for rule in found["rules"]} >= {made["verdict"].verdict}
    assert [alert["rule"] for alert in found["alerts"]] == ["nDCG@10 fell"]
    assert found["annotations"][0]["kind"] == "deploy"
    assert {trend["name"] for trend in found["trends"]} == {f"{m} of shop" for m in METRICS}
    assert found["judgments"]["name"] == "graded"
    assert found["judgments"]["judged"]
    page = viewer.get(SHOP).data.decode()
    assert page.index('class="word fail"') < page.index('id="trends"') < page.index('id="batches"')


def test_projects_have_their_state(viewer):
    (shop,) = [p for p in viewer.get("/projects.json").json()["projects"] if p["name"] == "shop"]
    assert (shop["verdict"], shop["alerts"]) == ("fail", 1)


@pytest.mark.parametrize(("asked", "count"), [
    ("", 10), ("kind=evaluation", 8), ("kind=gates", 1), ("kind=runs", 8), ("system=shop", 8),
    ("branch=main", 10), ("branch=other", 0), ("verdict=fail", 1), ("verdict=pass", 0),
    ("label=stage%3Dnightly", 8), ("label=stage", 8), ("label=stage%3Dx", 0), ("words=AGAINST", 2),
    ("words=0000000000000000000000000000000000000007", 1), ("words=100%25", 0),
    ("since=2026-03-05", 6), ("until=2026-03-05", 4), ("since=2026-03-02&until=2026-03-04", 2),
])  # fmt: skip
def test_records_are_filtered(viewer, asked, count):
    found = viewer.get(f"{SHOP}/records.json?{asked}").json()
    assert found["total"] == len(found["records"]) == count
    assert len(rows_of(viewer.get(f"{SHOP}/records.csv?{asked}"))) == count
    assert viewer.get(f"{SHOP}/records?{asked}").status == 200


def test_records_are_paged_and_found_by_hash(viewer, made):
    seen, before = [], ""
    while True:
        found = viewer.get(f"{SHOP}/records.json?most=3{before}").json()
        seen += [each["sha256"] for each in found["records"]]
        if found["next"] is None:
            break
        before = f"&before={found['next']}"
    assert len(seen) == len(set(seen)) == 10
    record = made["comparison"].sha256
    found = viewer.get(f"{SHOP}/records.json?words={record[:10]}").json()["records"]
    assert [each["sha256"] for each in found] == [record]


@pytest.mark.parametrize("kind", ["evaluation", "comparison", "verdict"])
def test_a_record_is_its_result_with_files(viewer, made, kind):
    at = f"{SHOP}/records/{made[kind].sha256}"
    found = viewer.get(f"{at}.json").json()
    assert found["result"]["kind"] == kind
    assert viewer.get(f"{at[:-50]}.json").json() == found  # the first letters are enough
    page = viewer.get(at)
    assert page.status == 200
    assert b" style=" not in page.data
    assert found["tables"]
    for each in found["tables"]:
        path = f"{at}/tables/{each['table'].replace('%', '%25')}"
        table = viewer.get(f"{path}.json").json()
        assert len(rows_of(viewer.get(f"{path}.csv"))) == len(table["rows"]) > 0
        assert viewer.get(path).status == 200
        assert f"{path}.csv".encode() in page.data
    values = rows_of(viewer.get(f"{at}/values.csv"))
    assert {row["query_id"] for row in values} == set(QRELS)
    assert b"/query?query=q03&amp;record=" in page.data
    assert viewer.get(f"{at}/tables/none").status == 404
    assert viewer.get(f"{at}/charts/none.svg").status == 404


def test_evidence_of_every_rule(viewer, made):
    at = f"{SHOP}/records/{made['verdict'].sha256}"
    found = viewer.get(f"{at}/tables/evidence_0.json").json()
    rules = viewer.get(f"{at}.json").json()["result"]["rules"]
    assert [row[1] for row in found["rows"]] == [rule["id"] for rule in rules]
    delta = next(rule["delta"] for rule in rules if rule["delta"] is not None)
    assert f"{delta:+.4f}" in {row[6] for row in found["rows"]}


def test_a_result_that_is_not_known_still_has_its_figures(team, viewer, made):
    number = team.project("tomorrow").id
    with team.store.write() as connection:
        result = {"schema_version": 1, "kind": "of_tomorrow", "x": 1}
        at = made["verdict"].evaluated_at
        kept = records.add(connection, team.store.blobs, number, new_record(result, [], None, at))
    at = f"/projects/tomorrow/records/{kept.record.sha256}"
    assert viewer.get(f"{at}.json").json()["result"] == result
    assert viewer.get(at).status == 200
    assert viewer.get(f"{at}/values").status == 404


def test_a_query_over_time_with_both_lists(viewer, made):
    at = f"{SHOP}/query.json?query=q03&metric=nDCG%4010"
    found = viewer.get(f"{at}&record={made['verdict'].sha256}").json()
    assert found["query"]["text"] == "words of q03 <b>&"
    assert len(found["values"]) == 12
    table = viewer.get(f"{SHOP}/records/{made['evaluation'].sha256}/values.csv")
    value = next(row["nDCG@10"] for row in rows_of(table) if row["query_id"] == "q03")
    last = next(row for row in found["values"] if row["system"] == "shop")
    assert last["value"] == float(value)
    for rows in (found["lists"], viewer.get(f"{at}&record={made['comparison'].sha256}")
                 .json()["lists"]):  # fmt: skip
        sides = {row["system"] for row in rows}
        assert len(sides) == 2
        for side in sides:
            own = {row["rank"]: row for row in rows if row["system"] == side}
            assert sorted(own) == list(range(1, 9))
            assert all(row["grade"] == QRELS["q03"][row["doc_id"]] for row in own.values())
    one, two = ([row["doc_id"] for row in found["lists"] if row["system"] == side]
                for side in ("before", "after"))  # fmt: skip
    assert [row["moved"] for row in found["lists"][:8]] == [
        two.index(doc) - one.index(doc) for doc in one
    ]
    assert {row["doc_id"]: row["grade"] for row in found["judgments"]} == QRELS["q03"]
    page = viewer.get(f"{SHOP}/query?query=q03").data.decode()
    assert "title of p0" in page
    assert "words of q03 &lt;b&gt;&amp;" in page
    assert viewer.get(f"{SHOP}/query?query=none").status == 404
    assert len(rows_of(viewer.get(f"{SHOP}/query.csv?query=q03"))) == 36


def test_a_value_is_explained(viewer, made):
    at = f"{SHOP}/explain.json?query=q03&metric=nDCG%4010&record={made['verdict'].sha256}"
    found = viewer.get(f"{at}&system=after").json()["explanation"]
    values = viewer.get(f"{SHOP}/query.json?query=q03&metric=nDCG%4010").json()["values"]
    assert found["value"] == pytest.approx(
        next(v["value"] for v in values if v["system"] == "after")
    )
    assert viewer.get(f"{at}&system=nobody").status == 404
    assert viewer.get(at.replace("nDCG%4010", "nonsense")).status == 404


def test_queries_are_listed_the_worst_first(viewer):
    found = viewer.get(f"{SHOP}/queries.json").json()
    assert found["total"] == len(QRELS) + 1  # and one that is only rated
    values = [row["values"]["nDCG@10"] for row in found["queries"] if row["values"]]
    assert values == sorted(values)
    assert viewer.get(f"{SHOP}/queries.json?words=Q03").json()["total"] == 1
    assert len(rows_of(viewer.get(f"{SHOP}/queries.csv"))) == found["total"]


def test_comments_are_added_once_and_taken_back(team, viewer):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    given = {"kind": "query", "subject": "q03", "text": "<script>alert(1)</script>",
             "comment_id": "mine"}  # fmt: skip
    number = rater.post(f"{SHOP}/comments", **given).json()["id"]
    assert rater.post(f"{SHOP}/comments", **given).json()["id"] == number
    assert viewer.post(f"{SHOP}/comments", **given).status == 403
    own = manager.post(f"{SHOP}/comments", **given | {"text": "seen"}).json()["id"]
    assert own != number  # the same word of another client
    shown = viewer.get(f"{SHOP}/query?query=q03").data.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
    assert rater.post(f"{SHOP}/comments/{own}/withdraw").status == 403
    assert manager.post(f"{SHOP}/comments/{number}/withdraw").status == 200
    found = viewer.get(f"{SHOP}/query.json?query=q03").json()["comments"]
    assert [(each["withdrawn"], each["text"]) for each in found] == [(True, ""), (False, "seen")]
    queries = viewer.get(f"{SHOP}/queries.json?words=q03").json()["queries"]
    assert queries[0]["comments"] == 1
    with team.store.read() as connection:
        log = [each.action for each in audit.entries(connection, users_project(connection))]
    assert log[:3] == ["comment.withdraw", "comment.add", "comment.add"]


def test_raters_read_no_comments_of_others_on_results(team, made):
    rater, manager = team.visitor("rater"), team.visitor("manager")
    record = {"kind": "record", "subject": made["verdict"].sha256}
    manager.post(f"{SHOP}/comments", **record, text="new finds shoes first")
    manager.post(f"{SHOP}/comments", kind="comparison", subject="old-new", text="new won")
    manager.post(f"{SHOP}/comments", kind="query", subject="q04", text="which of the two?")
    rater.post(f"{SHOP}/comments", **record, text="a question of mine")
    for path in (
        "",
        f"?kind=record&subject={record['subject']}",
        "?kind=comparison",
        "?kind=record",
    ):
        for form in ("", ".json"):
            text = rater.get(f"{SHOP}/comments{form}{path}").data.decode()
            assert "finds shoes" not in text
            assert "new won" not in text
    assert "which of the two" in rater.get(f"{SHOP}/comments").data.decode()
    assert "of mine" in rater.get(f"{SHOP}/comments?kind=record").data.decode()
    assert "finds shoes" in manager.get(f"{SHOP}/comments").data.decode()


def test_forms_of_comments_need_their_word(team, made):
    rater = team.visitor("rater")
    at = f"{SHOP}/comments"
    given = {"kind": "record", "subject": made["verdict"].sha256, "text": "why?"}
    assert rater.ask("POST", at, fields=given, encode_multipart=False).status == 403
    answer = rater.ask("POST", at, fields=given | {"csrf": rater.csrf("/account")},
                       encode_multipart=False)  # fmt: skip
    assert answer.status == 303


def test_a_project_shows_nothing_of_another(team, made):
    other = team.project("other-records")
    with team.store.write() as connection:
        for name in ("viewer", "manager"):
            user = users.get_by_name(connection, name).id
            users.grant(connection, users_project(connection), user, None)
    try:
        for name in ("viewer", "manager"):
            who = team.visitor(name)
            at = f"/projects/{other.name}"
            assert who.get(f"{at}/records.json").json()["total"] == 0
            assert who.get(f"{at}/records.json").json()["choices"] == {
                "kind": {}, "system": {}, "branch": {}, "verdict": {}
            }  # fmt: skip
            assert who.get(f"{at}.json").json()["quality"]["records"] == 0
            assert who.get(f"{at}/comments.json").json()["comments"] == []
            assert who.get(f"{at}/query?query=q03").status == 404
            for record in made.values():
                for path in (record.sha256, record.id, f"{record.sha256}/values",
                             f"{record.sha256}/tables/evidence_0"):  # fmt: skip
                    assert who.get(f"{at}/records/{path}.json").status == 404
                assert who.get(f"{at}/records.json?before={record.id}").status == 404
            listed = who.get("/projects.json").json()["projects"]
            assert "shop" not in {each["name"] for each in listed}
    finally:
        with team.store.write() as connection:
            for name in ("viewer", "manager"):
                user = users.get_by_name(connection, name).id
                users.grant(connection, users_project(connection), user, name)


def test_a_trend_has_points_breaks_and_notes(team, viewer, made):
    at = f"{SHOP}/trends"
    series = viewer.get(f"{at}.json").json()["series"]
    assert {(each["metric"], each["system"], each["points"]) for each in series} == {
        (metric, "shop", 8) for metric in METRICS
    }
    found = viewer.get(f"{at}.json?metric=nDCG%4010").json()
    points = found["history"]["series"]
    assert [each["value"] for each in points][-1] == next(
        each["value"] for each in series if each["metric"] == "nDCG@10"
    )
    assert [each["text"] for each in found["annotations"]] == ["new analyser"]
    assert len(rows_of(viewer.get(f"{at}.csv?metric=nDCG%4010"))) == 8
    page = viewer.get(f"{at}?metric=nDCG%4010").data.decode()
    assert page.count("<circle") == 8
    assert f'href="{SHOP}/records/{made["evaluation"].sha256}"' in page
    assert viewer.get(f"{at}.svg?metric=nDCG%4010").data.startswith(b"<svg")
    assert viewer.get(f"{at}.png?metric=nDCG%4010").data.startswith(b"\x89PNG")
    assert viewer.get(f"{at}?metric=none").status == 404
    assert viewer.get(f"{at}?metric=nDCG%4010&branch=none").status == 404
    assert team.address


def test_managers_note_what_happened(team, viewer, made):
    assert made
    manager = team.visitor("manager")
    given = {"kind": "incident", "text": "the index <b> was empty", "metric": "RR",
             "at": "2026-03-04T12:00", "annotation_id": "mine"}  # fmt: skip
    assert viewer.post(f"{SHOP}/annotations", **given).status == 403
    number = manager.post(f"{SHOP}/annotations", **given).json()["annotation"]
    assert manager.post(f"{SHOP}/annotations", **given).json()["annotation"] == number
    texts = [
        [
            each["text"]
            for each in viewer.get(f"{SHOP}/trends.json?metric={m}").json()["annotations"]
        ]
        for m in ("RR", "P%405")
    ]
    assert texts == [["new analyser", given["text"]], ["new analyser"]]
    assert "the index &lt;b&gt; was empty" in viewer.get(f"{SHOP}/trends?metric=RR").data.decode()
    assert manager.post(f"{SHOP}/annotations/{number}/withdraw").status == 200
    assert manager.post(f"{SHOP}/annotations/{number + 999}/withdraw").status == 404
    found = viewer.get(f"{SHOP}/trends.json?metric=RR").json()["annotations"]
    assert [each["text"] for each in found] == ["new analyser"]


TABLES = [each for each in ROUTES if each.tabular]


def test_a_table_as_csv_has_the_rights_of_its_page(team, viewer, made):
    stranger, rater, nobody = team.visitor("stranger"), team.visitor("rater"), Visitor(team.address)
    names = {"project": "shop", "record": made["verdict"].sha256, "table": "evidence_0"}
    for route in TABLES:
        path = re.sub(r"\{(\w+)\}", lambda found: names[found[1]], route.path) + ".csv"
        path += "?query=q03" if route.name == "query-values" else ""
        assert viewer.get(path).status == 200, path
        assert rater.get(path).status == 403
        assert stranger.get(path).status == 404
        assert nobody.get(path).status == 401
    assert len(TABLES) >= 6


def test_shares_and_means_have_their_numbers(team):
    """One query of fifty has judgments: of half of its documents."""
    made = team.project("half", pairs=0)
    run = {f"q{i}": {f"d{j}": 10.0 - j for j in range(10)} for i in range(50)}
    qrels = {"q0": {f"d{j}": j % 3 for j in range(5)}}
    evaluated(team.store, made.id, "shop", run, BEGIN, qrels)
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


def test_runs_without_judged_queries_are_named(team):
    made = team.project("apart", pairs=0)
    with team.store.write() as connection:
        for name, query in (("a", "q1"), ("z", "z9")):
            stored_runs.add_run(connection, team.store.blobs, made.id,
                     read_run({query: {"d1": 1.0, "d2": 0.5}}), name=name)  # fmt: skip
        stored_runs.add_judgments(connection, team.store.blobs, made.id,
                      read_qrels({"q1": {"d1": 1}, "q2": {"d2": 1}}), name="gold")  # fmt: skip
        stored_runs.add_judgments(
            connection, team.store.blobs, made.id, read_qrels({"x": {"d1": 1}}), name="other"
        )
    viewer = team.visitor("viewer")
    path = "/projects/apart/judgments"
    found = viewer.get(f"{path}/gold/evaluation.json").json()
    assert [run["name"] for run in found["evaluation"]["runs"]] == ["a"]
    assert found["not_scored"] == ["z"]
    page = viewer.get(f"{path}/gold/evaluation")
    assert page.status == 200
    assert "Not scored" in page.data.decode()
    found = viewer.get(f"{path}/other/evaluation.json").json()
    assert (found["evaluation"], found["not_scored"]) == (None, ["a", "z"])
    assert viewer.get(f"{path}/other/evaluation").status == 200
