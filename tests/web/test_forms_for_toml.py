"""Forms of alert rules, policies, cards, sweeps and logs of clicks: what they make, and what they refuse."""

from __future__ import annotations

import random
import tomllib
from datetime import datetime, timedelta

import pytest

from rankgate.decisions.gating.policy import parse_policy
from rankgate.engines.project_engines import EngineAccess
from rankgate.store.people import sign_in, users
from rankgate.store.records import scheduled_jobs
from rankgate.workspace.records.alerts.alert_kinds import ALERTS
from rankgate.workspace.records.alerts.alert_rules import add_rule, read_rules, remove_rule
from rankgate.workspace.web.pages.card_proposal import propose_card
from rankgate.workspace.web.pages.document_card import parse_card
from rankgate.workspace.web.routes import ROUTES
from support.searching import PRODUCTS, QUERIES, grade_of, make_shop
from support.serving import PASSWORD, Visitor, served

SHOP = "/projects/shop"
RULES, POLICY = f"{SHOP}/alerts/rules", f"{SHOP}/policy"
SWEEP, CLICKS = f"{SHOP}/steps/sweep", f"{SHOP}/steps/clicks"
PEOPLE = ("admin", "manager", "rater", "viewer", "stranger", "read", "rate", "manage")
"""Users by role, and tokens of the manager by scope."""

ENGINE = {
    "name": "fts",
    "database": "products.db",
    "table": "products",
    "id": "id",
    "weights": [1, 1, "{{words}}"],
    "parameters": {"words": 1.0},
    "fields": {"title": "title"},
}
HOSTILE = (
    "rm -rf / ; $(id)",
    "1; DROP TABLE products --",
    "os.system",
    "module:function",
    "../../etc/passwd",
    "/etc/passwd",
    "rankgate.alerts = evil",
    "${SECRET}",
    "{{query}}",
    'x"\n[command]\ncommand = ["id"]',
)
"""A command, SQL, names of Python, paths, a plug-in, a secret, a template, and TOML in a value."""

FOREIGN_KEYS = (
    "command",
    "sql",
    "function",
    "file",
    "tags",
    "train",
    "setup",
    "undo",
    "fuse",
    "toml",
    "plugin",
)
"""Keys of files of TOML that no form has."""

SWEEP_VALUES = {"engine": "fts", "judgments": "gold", "dial": "words", "values": "1, 2, 5"}
FORMS = {
    **{
        f"{RULES}/kinds/{kind.name}": {"metric": "nDCG@10"}
        | ({"at_least": 0.5} if kind.name == "absolute" else {})
        | ({"drop": 0.03} if kind.name == "relative" else {})
        | ({"days": 3} if kind.name == "stale" else {})
        for kind in ALERTS.all_objects
    },
    POLICY: {"metric": "nDCG@10", "margin": 0.02},
    SWEEP: SWEEP_VALUES,
}
"""The forms, each with values that it takes."""

LABELS = {"id", "system", "branch", "slice"}
"""Fields of alert rules that are names for people or of series, kept as the text that they are."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory, new_file):
    """A project with queries, judgments and an engine that has a dial; its people and their tokens."""
    folder = tmp_path_factory.mktemp("forms")
    (folder / "shop").mkdir()
    make_shop(folder / "shop" / "products.db")
    hashed = sign_in.password_hash(PASSWORD)
    with new_file(folder / "judging.db", f"{folder}/blobs") as store:
        with store.write() as connection:
            users.add(connection, "admin", hashed, admin=True)
        access = EngineAccess(folder=folder)
        with served(store, per_minute=1_000_000, engines=access, jobs=folder) as address:
            admin = Visitor(address)
            admin.sign_in("admin")
            admin.post("/projects", name="shop", title="Shop", scale="0..2")
            with store.write() as connection:
                for name in PEOPLE[1:5]:
                    user = users.add(connection, name, hashed)
                    if name != "stranger":
                        users.grant(connection, 1, user.id, name)
                manager = users.get_by_name(connection, "manager").id
                tokens = {
                    scope: sign_in.issue_token(connection, manager, scope, [scope])[1] for scope in PEOPLE[5:]
                }
            people = {name: Visitor(address, tokens.get(name)) for name in PEOPLE}
            for name in PEOPLE[:5]:
                people[name].sign_in(name)
            maker = people["manager"]
            assert maker.post(f"{SHOP}/queries", text="\n".join(QUERIES)).status == 200
            assert maker.post(f"{SHOP}/engines/kinds/sqlite", **ENGINE).status == 200
            judged = "".join(
                f"q{number} 0 {doc_id} {grade_of(query, title)}\n"
                for number, query in enumerate(QUERIES, 1)
                for doc_id, title in PRODUCTS.items()
            )
            sent = maker.send(f"{SHOP}/material", "/account", file=("gold.txt", judged.encode()))
            assert sent.status == 303
            [judgments] = maker.get(f"{SHOP}/contents.json").json()["judgments"]
            SWEEP_VALUES["judgments"] = judgments["name"]
            yield store, people


def error_of(answer):
    return answer.status, answer.json()["error"]["code"]


def state(store):
    """Everything that a form could change: the settings of the project, and its jobs."""
    from rankgate.store.material import projects

    with store.read() as connection:
        jobs = [(job.name, dict(job.settings)) for job in scheduled_jobs.list_jobs(connection, 1)]
        return projects.get(connection, 1).settings, jobs


def fields_of(path):
    """The fields of a form, as its route declares them."""
    [route] = [r for r in ROUTES if r.method == "POST" and r.path.replace("{project}", "shop") == path]
    return route.fields


@pytest.mark.parametrize("path", FORMS)
def test_no_form_takes_commands_sql_names_of_python_paths_or_plug_ins(shop, path):
    store, people = shop
    before = state(store)
    manager = people["manager"]
    for field in fields_of(path):
        if field.name in {"preview", "seen"} or (field.name in LABELS and path.startswith(RULES)):
            continue
        for value in HOSTILE:
            answer = manager.post(path, **{**FORMS[path], field.name: value})
            if field.kind == "flag":
                assert answer.status == 400, (field.name, value)
                continue
            assert answer.status == 400, (field.name, value, answer.data)
            assert state(store) == before
    for key in FOREIGN_KEYS:
        answer = manager.post(path, **FORMS[path], **{key: "x"})
        assert error_of(answer) == (400, "invalid-value"), key
    assert state(store) == before


@pytest.mark.parametrize("path", [*FORMS, CLICKS, f"{RULES}/delete", f"{POLICY}/clear"])
@pytest.mark.parametrize("name", [name for name in PEOPLE if name not in {"admin", "manager", "manage"}])
def test_only_managers_and_their_tokens_send_these_forms(shop, path, name):
    store, people = shop
    before = state(store)
    for value in (None, *HOSTILE):
        values = FORMS.get(path, {})
        changed = values if value is None else dict.fromkeys(values, value)
        answer = people[name].post(path, **changed)
        assert answer.status == (404 if name == "stranger" else 403), value
    assert state(store) == before


def test_a_name_of_a_rule_is_a_text_and_nothing_else(shop):
    store, people = shop
    manager, before = people["manager"], state(store)[0].get("alerts", "")
    for number, value in enumerate(HOSTILE):
        for field in sorted(LABELS - {"slice"}):
            path = f"{RULES}/kinds/absolute"
            given = {"metric": "nDCG@10", "at_least": 0.5, "id": f"r{number}"} | {field: value}
            assert manager.post(path, **given).status == 200
            [rule] = read_rules(state(store)[0]["alerts"]).rules
            assert (rule.id if field == "id" else rule[field]) == value
            assert set(tomllib.loads(state(store)[0]["alerts"])) == {"rules"}
            assert manager.post(f"{RULES}/delete", rule=rule.id).status == 200
    assert state(store)[0]["alerts"].strip() == before.strip()


def test_a_rule_of_a_form_is_the_rule_of_the_file(shop):
    _, people = shop
    manager = people["manager"]
    form = {"metric": "nDCG@10", "drop": "0.05", "id": "fall", "to": "a@example.org, b@example.org"}
    page = f"{SHOP}/alerts/rules"
    answer = manager.send(f"{RULES}/kinds/relative", page, **form)
    assert (answer.status, "done=alert-rule-add-relative" in answer.headers["location"]) == (303, True)
    text = manager.get(f"{page}.json").json()["rules"]
    assert tomllib.loads(text) == {
        "channels": [{"name": "mail", "kind": "email", "to": ["a@example.org", "b@example.org"]}],
        "rules": [
            {"id": "fall", "kind": "relative", "metric": "nDCG@10", "drop": 0.05, "channels": ["mail"]}
        ],
    }
    again = manager.post(f"{RULES}/kinds/stale", metric="nDCG@10", days=3, to="a@example.org b@example.org")
    assert again.json()["rules"] == ["fall", "stale nDCG@10"]
    assert len(read_rules(manager.get(f"{page}.json").json()["rules"]).channels) == 1
    both = manager.send(f"{RULES}/kinds/relative", page, **form | {"margin": "0.1", "id": "two"})
    assert b"give drop or margin, one of them" in both.data
    assert b'value="0.05"' in both.data  # what was typed stays
    html = manager.get(page).data.decode()
    assert "Who gets an e-mail" in html
    assert html.count("alerts/rules/delete") == 2
    for name in ("fall", "stale nDCG@10"):
        assert manager.send(f"{RULES}/delete", page, rule=name).status == 303
    assert error_of(manager.post(f"{RULES}/delete", rule="fall")) == (400, "unknown-rule")


def test_a_rule_is_added_and_removed_without_a_change_of_other_lines():
    text = '# ours\n[alerts]\nquiet = "22:00-07:00"  # nights\n\n[[rules]]\nkind = "verdict"\nmetric = "AP"\n'
    added = add_rule(text, {"id": "x", "kind": "stale", "metric": "AP", "days": 2, "system": None})
    assert added.startswith(text)
    assert [rule.id for rule in read_rules(added).rules] == ["verdict-1", "x"]
    assert remove_rule(added, "x").rstrip() == text.rstrip()
    without_first = remove_rule(added, "verdict-1")
    assert [rule.id for rule in read_rules(without_first).rules] == ["x"]
    assert "# nights" in without_first


def test_a_policy_of_the_form_is_that_of_its_toml_and_of_the_gate(shop):
    store, people = shop
    manager = people["manager"]
    form = {
        "metric": "nDCG@10",
        "margin": "0.05",
        "relative": "1",
        "tier": "warn",
        "further": "RR@10",
        "must_have": "red shoes = p1\nq2 = p4",
        "within": "3",
        "must_have_tier": "block",
    }
    shown = manager.send(POLICY, POLICY, preview="1", **form).data.decode()
    assert "[[rules]]" in shown
    assert state(store)[0].get("policy", "") == ""
    assert manager.send(POLICY, POLICY, **form).status == 303
    text = manager.get(f"{POLICY}.json").json()["policy"]
    rules = {rule.id: rule for rule in parse_policy(text, "policy").rules}
    metric = rules["nDCG@10"]
    assert (metric.kind, metric.tier, metric["relative"], metric["margin"]) == (
        "noninferiority",
        "warn",
        0.05,
        None,
    )
    assert rules["RR@10"].tier == "warn"
    assert [rules[name]["within"] for name in ("q1 has p1", "q2 has p4")] == [3, 3]
    assert {"sees-the-change", "judged"} <= set(rules)
    assert people["viewer"].get(f"{POLICY}.json").json()["policy"] == text
    assert 'name="margin"' not in people["viewer"].get(POLICY).data.decode()
    html = manager.get(POLICY).data.decode()
    assert "q1 = p1" in html  # the form begins with the policy that is kept
    for wrong, field in (
        ({"must_have": "red shoes"}, "must_have"),
        ({"must_have": "no such query = p1"}, "must_have"),
        ({"metric": "nosuch@10"}, "metric"),
        ({"further": "nosuch@10"}, "metric"),
    ):
        page = manager.send(POLICY, POLICY, **form | wrong).data.decode()
        assert f'id="policy-set-{field}-problem"' in page, wrong
    assert manager.send(f"{POLICY}/clear", POLICY).status == 303
    assert manager.get(f"{POLICY}.json").json()["policy"] == ""


def test_a_sweep_states_its_cost_and_starts_one_job(shop):
    store, people = shop
    manager = people["manager"]
    cost = manager.post(SWEEP, **SWEEP_VALUES, rate=5, preview=True).json()
    assert (cost["points"], cost["queries"], cost["requests"]) == (3, 5, 30)
    assert cost["seconds"] >= 6  # 30 requests at 5 a second
    two = manager.post(SWEEP, **SWEEP_VALUES | {"values": "1, 2, 2.5, 3"}, preview=True).json()
    assert two["requests"] == 40
    many = ",".join(str(number) for number in range(2, 250))
    assert b"too many" in manager.post(SWEEP, **SWEEP_VALUES | {"values": many}).data
    assert not state(store)[1]
    assert manager.post(SWEEP, **SWEEP_VALUES, rate=5).json()["started"]
    [(name, settings)] = state(store)[1]
    assert name == "step-sweep"
    assert settings["values"]["dials"] == ["words=1, 2, 5"]
    assert 'action="/projects/shop/steps/sweep"' in manager.get(SWEEP).data.decode()


def click_log(queries, searches=1500):
    """A log of shown results, in which the first document of a query is clicked most."""
    draw = random.Random(1)
    begin = datetime(2026, 3, 2)  # noqa: DTZ001 - written with its zone
    lines = ["session,user,query,rank,doc,clicked,time"]
    for search in range(searches):
        query = draw.choice(queries)
        documents = draw.sample(["p1", "p2", "p3", "p4"], 4)
        moment = (begin + timedelta(minutes=search)).isoformat()
        for rank, doc_id in enumerate(documents, 1):
            clicked = int(draw.random() < 0.7**rank * (0.9 if doc_id == "p1" else 0.1))
            lines.append(f"s{search},u{search % 90},{query},{rank},{doc_id},{clicked},{moment}Z")
    return "\n".join(lines).encode()


def test_clicks_become_judgments_of_the_queries_of_the_project(shop):
    store, people = shop
    manager = people["manager"]
    log = ("log.csv", click_log(["Red Shoes ", "red shoes", "not ours"]))
    stated = manager.send(CLICKS, CLICKS, log=log, judgments="clicks", preview="1").data.decode()
    assert "1,500 searches" in stated
    assert "the project has 1 of the queries" in stated
    assert "query = " in stated
    assert len(manager.get(f"{SHOP}/contents.json").json()["judgments"]) == 1
    assert manager.send(CLICKS, CLICKS, log=log, judgments="clicks").status == 303
    with store.read():
        qrels = _judgments(store, "clicks")
    grades = {doc: grade for query, doc, grade in qrels.select("query_id", "doc_id", "grade").rows()}
    assert set(qrels["query_id"]) == {"q1"}
    assert grades["p1"] == 2  # the highest grade of the project's scale
    assert set(grades.values()) <= {0, 1, 2}
    taken = manager.send(CLICKS, CLICKS, log=log, judgments="clicks")
    assert b"is the name of other judgments" in taken.data
    foreign = manager.send(CLICKS, CLICKS, log=("log.csv", click_log(["other"])), judgments="more")
    assert b"no query of it is a query of the project" in foreign.data
    for value in HOSTILE:
        answer = manager.send(CLICKS, CLICKS, log=("log.csv", value.encode()), judgments="hostile")
        assert answer.status == 400, value
    assert b"choose one of" in manager.send(CLICKS, CLICKS, log=log, judgments="m", model="os.system").data
    database = manager.send(CLICKS, CLICKS, log=("log.duckdb", b"DUCK"), judgments="m")
    assert b"is a file that ends in .csv" in database.data


def _judgments(store, name):
    from rankgate.store.stored_project import StoredProject

    return StoredProject(store, "shop", 1).judgments(name).table


DOCUMENTS = [
    {
        "sku": f"A{number}",
        "name": f"A red bike, number {number}",
        "text": f"<p>A <b>fast</b> bike.</p><img src='https://cdn.example.org/{number}.png'>",
        "photo": f"https://img.example.org/{number}.jpg?w=200",
        "page": f"https://shop.example.org/{number}",
        "url": f"https://shop.example.org/{number}",
        "notes": "**new** in [shops](https://example.org)",
    }
    for number in range(5)
]


def test_a_card_is_proposed_from_tags_images_and_links():
    proposal = propose_card(DOCUMENTS)
    card = {field.field: (field.position, field.kind) for field in parse_card(proposal.card)}
    assert card == {
        "name": ("title", "text"),
        "sku": ("badge", "text"),
        "text": ("body", "html"),
        "photo": ("body", "image"),
        "notes": ("body", "markdown"),
    }
    assert proposal.images == ("https://img.example.org", "https://cdn.example.org")
    assert proposal.links == ("page",)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"title": "a < b and c > d"},
        {"title": "x", "text": ""},
        {"n": 3, "text": "javascript:alert(1)"},
        {"text": "a<b", "more": "5 * 3 * 2"},
    ],
)
def test_plain_documents_need_no_card(fields):
    assert propose_card([fields] * 3).card == ""


def test_trying_an_engine_shows_the_card_and_runs_no_script(shop, tmp_path_factory):
    import sqlite3
    from contextlib import closing

    _, people = shop
    manager = people["manager"]
    folder = next(tmp_path_factory.getbasetemp().glob("forms*"))
    with closing(sqlite3.connect(folder / "shop" / "pages.db")) as database:
        database.executescript("CREATE VIRTUAL TABLE pages USING fts5(id, name UNINDEXED, body);")
        body = "<p>red <b>shoes</b><script>alert(1)</script></p>"
        database.executemany(
            "INSERT INTO pages VALUES (?, ?, ?)", [(f"d{n}", f"Shoe {n}", body) for n in "12"]
        )
        database.commit()
    fields = "name = name\nbody = body"
    form = {"name": "pages", "database": "pages.db", "table": "pages", "id": "id", "fields": fields}
    page = f"{SHOP}/engines?kind=sqlite"
    saving = f"{SHOP}/engines/kinds/sqlite"
    html = manager.send(saving, page, preview="1", query="shoes", **form).data.decode()
    assert "Keep this card" in html
    assert "<p>red <b>" in html
    assert "<script>alert" not in html
    assert 'value="name = title\nbody = html"' in html
    kept = {
        "card": "name = title\nbody = html",
        "fields": "",
        "images": "",
        "image_prefix": "",
        "language": "",
    }
    assert manager.send(f"{SHOP}/display", page, **kept).status == 303
    assert (
        "Keep this card" not in manager.send(saving, page, preview="1", query="shoes", **form).data.decode()
    )


def sandbox(visitor, engine="fts", **changes):
    given = {name: value for name, value in ENGINE.items() if name not in {"name", "database"}}
    judged = {"judgments": SWEEP_VALUES["judgments"], "metric": "nDCG@10", "preview": True}
    return visitor.post(f"{SHOP}/engines/{engine}/sandbox/sqlite", **given | judged | changes)


def test_the_metric_of_a_sandbox_is_that_of_the_edited_engine(shop):
    import rankgate

    store, people = shop
    before, manager = state(store), people["manager"]
    kept = sandbox(manager).json()
    assert (kept["problem"], kept["edited"], kept["queries"], kept["unjudged"]) == ("", False, 5, 0.0)
    edited = sandbox(manager, match="and").json()
    assert edited["edited"]
    assert edited["value"] < kept["value"] == pytest.approx(edited["value"] - edited["delta"])
    assert edited["delta_low"] <= edited["delta"] <= edited["delta_high"]
    assert edited["moved"][0]["delta"] == min(query["delta"] for query in edited["moved"])
    judged = _judgments(store, SWEEP_VALUES["judgments"])
    grades = {}
    for query, doc, grade in judged.select("query_id", "doc_id", "grade").rows():
        grades.setdefault(query, {})[doc] = grade
    lists = {}
    for number, text in enumerate(QUERIES, 1):
        words = set(text.split())
        found = [doc for doc, title in PRODUCTS.items() if words <= set(title.split())]
        lists[f"q{number}"] = dict.fromkeys(found, 1.0)  # every document with all words has the top grade
    means = rankgate.evaluate(grades, {"and": lists}, ["nDCG@10"]).means
    assert edited["value"] == pytest.approx(means["nDCG@10"][0])
    assert state(store) == before


def test_a_sandbox_stays_within_the_limits_of_the_server(shop):
    store, people = shop
    manager, before = people["manager"], state(store)
    for key in ("database", "sql", "command", "url", "function", "dsn", "ca", "folder"):
        assert error_of(sandbox(manager, **{key: "x"})) == (400, "invalid-value"), key
    assert error_of(sandbox(manager, engine="nope")) == (404, "unknown-engine")
    assert error_of(sandbox(manager, metric="os.system")) == (400, "unknown-metric")
    assert error_of(sandbox(manager, judgments="../../etc/passwd")) == (400, "unknown-judgments")
    for value in HOSTILE:
        answer = sandbox(manager, table=value)
        assert (answer.status == 400) or answer.json()["problem"], value  # the engine has no such table
    for name in ("rater", "viewer", "stranger"):
        assert sandbox(people[name]).status == (404 if name == "stranger" else 403)
    assert state(store) == before


def test_keeping_a_sandbox_saves_the_engine_and_takes_a_snapshot(shop):
    store, people = shop
    manager = people["manager"]
    page = manager.get(f"{SHOP}/engines/fts/sandbox").data.decode()
    assert "SQL" not in page
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    assert error_of(sandbox(manager, match="and", preview=False, seen="other")) == (409, "name-taken")
    assert sandbox(manager, match="and", preview=False, seen=seen).json()["started"]
    settings = {engine["name"]: engine for engine in manager.get(f"{SHOP}/engines.json").json()["engines"]}
    assert settings["fts"]["settings"]["match"] == "and"
    assert settings["fts"]["settings"]["database"] == "products.db"
    [job] = [values for name, values in state(store)[1] if name == "step-snapshot"]
    assert job["values"]["engine"] == "fts"


def test_the_rate_of_the_server_is_the_most_that_an_engine_gets():
    access = EngineAccess(rate=5.0)
    assert [access.limit_rate(rate) for rate in (None, 2.0, 9.0)] == [5.0, 2.0, 5.0]
    assert [EngineAccess().limit_rate(rate) for rate in (None, 2.0)] == [None, 2.0]
