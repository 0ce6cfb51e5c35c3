"""Pages on a store that nights filled: evaluations, comparisons and verdicts of runs with dated names."""

import re

import pytest

import rankgate
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.workspace.records.schedule.scheduler import Scheduler
from rankgate.workspace.web.dashboard.gate_outcomes import GateOutcome, shown_status
from support.serving import PASSWORD, Visitor, served
from support.waiting import until

QUERIES = [f"q{n:02}" for n in range(30)]
QRELS = {query: {"a": 2, "b": 1, "c": 0} for query in QUERIES}
GOOD = {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in QUERIES}
BAD = GOOD | {query: {"c": 3.0, "b": 2.0, "a": 1.0} for query in QUERIES[:20]}
WALKED = "/projects/walked"


@pytest.fixture(scope="module")
def nights(team):
    """The records of two nights of the system docs: by kind, first the good night, then the bad one."""
    with team.store.write() as connection:
        project = projects.add(connection, "walked").id
        users.grant(connection, project, users.get_by_name(connection, "viewer").id, "viewer")
    records = {}
    for day, run in ((28, GOOD), (29, BAD)):
        name = f"docs-202611{day}"
        base = {"docs-20261128": GOOD}
        results = {"evaluation": rankgate.evaluate(QRELS, {name: run}, ["nDCG@10"])}
        if run is BAD:
            results["comparison"] = rankgate.compare(QRELS, base, {name: run}, ["nDCG@10"])
            results["verdict"] = rankgate.gate(QRELS, base, {name: run}, ["nDCG@10"])
        for hour, (kind, result) in enumerate(results.items()):
            recorded = rankgate.record(
                result,
                store=team.store.name,
                project="walked",
                system="docs",
                at=f"2026-11-{day}T0{hour}:00",
                qrels=QRELS,
                runs={**base, name: run},
                provenance=rankgate.Provenance(f"r{day}", "main"),
            )
            records[day, kind] = recorded.records["record"][0]
    return records


@pytest.mark.parametrize("kind", ["evaluation", "comparison", "verdict"])
def test_both_lists_are_shown_whatever_the_later_record_is(team, nights, kind):
    visitor = team.visitor("viewer")
    pair = f"before={nights[28, 'evaluation']}&after={nights[29, kind]}"
    page = visitor.get(f"{WALKED}/changes/query.json?query=q03&{pair}&metric=nDCG@10").json()
    before, after = page["lists"]["before"], page["lists"]["after"]
    assert [row["doc_id"] for row in before] == ["a", "b", "c"]
    assert [row["doc_id"] for row in after] == ["c", "b", "a"]
    html = visitor.get(f"{WALKED}/changes/query?query=q03&{pair}&metric=nDCG@10").data.decode()
    assert "No documents" not in html
    explained = visitor.get(
        f"{WALKED}/explain.json?query=q03&metric=nDCG@10&record={nights[29, kind]}&system=docs"
    )
    assert explained.status == 200, explained.data
    assert explained.json()["explanation"]["value"] < 1


def test_a_corpus_without_labels_is_not_called_the_same(team, nights):
    visitor = team.visitor("viewer")
    pair = f"before={nights[28, 'evaluation']}&after={nights[29, 'evaluation']}"
    html = visitor.get(f"{WALKED}/changes?{pair}").data.decode()
    assert "Whether the corpus changed is not known" in html
    assert "The corpus is the same" not in html
    assert "The judge is the same" in html  # the judgments are


def test_a_night_is_one_evaluation(team, nights):  # noqa: ARG001 - after them
    data = team.visitor("viewer").get(f"{WALKED}/trends.json?metric=nDCG@10&system=docs").json()
    with team.store.read() as connection:
        assert len(stored_runs.list_runs(connection, projects.get_by_name(connection, "walked").id)) == 2
    assert data["systems"] == ["docs"]
    assert [point["value"] < 1 for point in data["history"]["series"]] == [False, True]


RULES = '[[rules]]\nid = "fall"\nkind = "relative"\nmetric = "nDCG@10"\ndrop = 0.05\n'


class Walk:
    """A manager who uploads the run of every night, and presses the buttons of the steps."""

    def __init__(self, address):
        self.visitor = Visitor(address)
        assert self.visitor.sign_in("manager").status == 303

    def upload(self, name, lines, **fields):
        page = f"{WALKED}/material"
        answer = self.visitor.send(page, page, file=(name, "\n".join(lines).encode()), **fields)
        assert answer.status == 303, answer.data

    def night(self, day, run):
        """Upload the run of a night; its name."""
        rows = [f"{query} Q0 {doc} 1 {score} x" for query, docs in run.items() for doc, score in docs.items()]
        self.upload(f"docs-202612{day:02}.run", rows)
        return f"docs-202612{day:02}"

    def press(self, step, **fields):
        """Start a step with the system that its form proposes; its record."""
        page = self.visitor.get(f"{WALKED}/steps").data.decode()
        [form] = re.findall(rf'<form [^>]*action="{WALKED}/steps/{step}".*?</form>', page, re.DOTALL)
        [system] = re.findall(r'name="system"[^>]*? value="([^"]*)"', form)
        values = {"judgments": "qrels", "system": system, "seen": self.last(step)} | fields
        answer = self.visitor.post(f"{WALKED}/steps/{step}", **values)
        assert answer.status == 200, answer.data
        until(lambda: not self.run(step)["under_way"])
        assert self.run(step)["error"] == "", self.run(step)
        return self.run(step)["record"]

    def run(self, step):
        steps = self.visitor.get(f"{WALKED}/steps.json").json()["steps"]
        return next(row["run"] for row in steps if row["name"] == step)

    def last(self, step):
        run = self.run(step)
        return run and run["id"]

    def alerts(self):
        """The numbers and states of all alerts; jobs check the rules, and so does this."""
        assert self.visitor.post(f"{WALKED}/alerts/check").status == 200
        alerts = self.visitor.get(f"{WALKED}/alerts.json").json()["alerts"]
        return [(alert["id"], alert["state"]) for alert in alerts]


@pytest.fixture
def walk(new_file, tmp_path):
    hashed = sign_in.password_hash(PASSWORD)
    with new_file(tmp_path / "judging.db") as store:
        with store.write() as connection:
            project = projects.add(connection, "walked").id
            users.grant(connection, project, users.add(connection, "manager", hashed).id, "manager")
        scheduler = Scheduler(store, tmp_path, seconds=0.2)
        with served(store, per_minute=1_000_000, jobs=tmp_path, schedule=True) as address:
            scheduler.start()
            try:
                yield Walk(address)
            finally:
                scheduler.stop()


def test_nights_of_uploaded_runs_are_one_history(walk):
    judged = [f"{query} 0 {doc} {grade}" for query, grades in QRELS.items() for doc, grade in grades.items()]
    walk.upload("qrels.txt", judged)
    assert walk.visitor.post(f"{WALKED}/alerts/rules", rules=RULES).status == 200
    good = [walk.night(day, GOOD | {f"q{day:02}": {"b": 2.0, "a": 1.0}}) for day in (1, 2)]
    for name in good:
        walk.press("evaluation", run=name)
        assert walk.alerts() == []
    bad = walk.night(3, BAD)
    walk.press("evaluation", run=bad)
    [(alert, state)] = walk.alerts()
    assert state == "open"
    walk.press("comparison", baseline=good[-1], candidate=bad)
    assert walk.press("gate", baseline=good[-1], candidate=bad, system="") is not None  # as it was recorded
    walk.press("evaluation", run=bad)
    walk.press("evaluation", run=walk.night(4, BAD | {"q25": {"b": 2.0, "a": 1.0}}))
    assert walk.alerts() == [(alert, "open")]
    walk.press("evaluation", run=walk.night(5, GOOD))
    assert walk.alerts() == [(alert, "resolved")]

    trend = walk.visitor.get(f"{WALKED}/trends.json?metric=nDCG@10").json()
    assert trend["systems"] == ["docs"]
    verdicts = [point["verdict"] for point in trend["history"]["series"]]
    assert verdicts == [None, None, "fail", None, None]  # the third was evaluated again

    cause = walk.visitor.get(f"{WALKED}/alerts/{alert}.json").json()["cause"]
    assert cause["before"]["value"] > cause["after"]["value"] + 0.05
    assert walk.visitor.get(cause["changes"]).status == 200
    pair = f"before={cause['before']['record']}&after={cause['after']['record']}"
    lists = walk.visitor.get(f"{WALKED}/changes/query.json?query=q05&{pair}&metric=nDCG@10").json()["lists"]
    assert [row["doc_id"] for row in lists["before"]] == ["a", "b", "c"]
    assert [row["doc_id"] for row in lists["after"]] == ["c", "b", "a"]


def _record_nights(team, project, runs):
    """Record an evaluation of each run of the system docs; their numbers."""
    numbers = []
    for day, run in enumerate(runs, 1):
        name = f"docs-{day}"
        recorded = rankgate.record(
            rankgate.evaluate(QRELS, {name: run}, ["nDCG@10", "P@5"]),
            store=team.store.name,
            project=project,
            system="docs",
            at=f"2026-11-{day:02}",
            qrels=QRELS,
            runs={name: run},
            provenance=rankgate.Provenance("r", "main"),
        )
        numbers.append(recorded.records["record"][0])
    return numbers


def _project(team, name):
    with team.store.write() as connection:
        project = projects.add(connection, name).id
        users.grant(connection, project, users.get_by_name(connection, "viewer").id, "viewer")
    return f"/projects/{name}"


UNSEEN = {query: {f"x{n}": 9.0 - n for n in range(8)} | {"a": 5.5, "b": 0.4} for query in QUERIES}
"""Lists that begin with documents that nobody judged."""


@pytest.mark.parametrize("gated", [False, True])
def test_unjudged_documents_make_pages_as_undecided_as_the_gate(team, gated):
    at = _project(team, "gated" if gated else "undecided")
    numbers = _record_nights(team, at.rpartition("/")[2], [GOOD, GOOD, UNSEEN])
    verdict = rankgate.gate(QRELS, {"docs-2": GOOD}, {"docs-3": UNSEEN}, ["nDCG@10"])
    assert verdict.verdict == "inconclusive"
    if gated:
        runs = {"docs-2": GOOD, "docs-3": UNSEEN}
        place = {"store": team.store.name, "project": at.rpartition("/")[2], "at": "2026-11-03T01:00"}
        rankgate.record(verdict, **place, system="docs", qrels=QRELS, runs=runs)
    visitor = team.visitor("viewer")
    pair = f"before={numbers[1]}&after={numbers[2]}&metric=nDCG@10"
    page = visitor.get(f"{at}/changes.json?{pair}").json()
    first = page["metrics"][0]
    assert (first["better"], first["status"]) == (False, "inconclusive")
    assert first["reason"] == verdict.rules[0].outcome.reason
    assert {query["status"] for query in page["queries"]} == {"inconclusive"}
    addresses = (f"{at}/changes?{pair}", f"{at}/changes/query?{pair}&query=q03", at, f"{at}/trends")
    for address in addresses:
        html = visitor.get(address).data.decode()
        assert "inconclusive" in html, address
        assert "> worse<" not in html, address  # the sentence of the rule has the word


def test_a_fall_among_judged_documents_is_called_worse(team):
    at = _project(team, "decided")
    numbers = _record_nights(team, "decided", [GOOD, GOOD, BAD])
    visitor = team.visitor("viewer")
    pair = f"before={numbers[1]}&after={numbers[2]}&metric=nDCG@10"
    page = visitor.get(f"{at}/changes.json?{pair}").json()
    assert page["metrics"][0]["status"] == "fail"
    assert {query["status"] for query in page["queries"]} == {"fail"}
    for address in (f"{at}/changes?{pair}", f"{at}/changes/query?{pair}&query=q03", at, f"{at}/trends"):
        assert "worse" in visitor.get(address).data.decode(), address


@pytest.mark.parametrize(
    ("better", "gate", "status"),
    [
        (False, None, "fail"),
        (True, None, "pass"),
        (None, None, ""),
        (False, "pass", ""),  # a loss that the gate allows
        (True, "pass", "pass"),
        (False, "inconclusive", "inconclusive"),
        (None, "fail", "fail"),
    ],
)
def test_a_change_has_the_colour_of_the_gate(better, gate, status):
    assert shown_status(gate and GateOutcome(gate, "why"), better=better) == status
