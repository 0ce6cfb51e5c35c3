"""A project after every button of the pages was pressed, so that every table has rows."""

import json
from datetime import timedelta

from rankgate.judging.models.model_queue import Endpoint
from rankgate.store.material import projects, queries_documents
from rankgate.store.records.records import NewRecord, Value
from rankgate.workspace.records.schedule.scheduler import Scheduler
from support.recorded import BEGIN, history
from support.waiting import until

PATH = "/projects/whole"
POOL = "query_id,doc_id,why,best_rank\nq1,d1,top,1\nq1,d2,top,2\nq1,d3,top,3\nq2,d1,top,1\n"
QUERIES = "query_id,text,information_need,frequency\nq1,red bike,what to buy,3\nq2,tent,,1\n"
DOCUMENTS = (
    "doc_id,title,url,image\nd1,the text of d1: a red bike,https://example.org/1,https://example.org/1.png\n"
    "d2,the text of d2,,\nd3,the text of d3,,\n"
)
GOLD = "query_id,doc_id,grade\nq1,d3,1\n"
RUNS = {
    "old.run": "q1 Q0 d1 1 3 old\nq1 Q0 d2 2 2 old\nq2 Q0 d1 1 1 old\n",
    "new.run": "q1 Q0 d2 1 3 new\nq1 Q0 d1 2 2 new\nq2 Q0 d2 1 1 new\n",
}
RULES = (
    '[[channels]]\nname = "team"\nkind = "webhook"\nurl = "https://192.0.2.1/hook"\n'
    '[[rules]]\nid = "low"\nkind = "absolute"\nmetric = "nDCG@10"\nat_least = 0.99\n'
    'channels = ["team"]\n'
)
JOBS = '[[jobs]]\nname = "nightly"\nkind = "alerts"\nschedule = "0 3 * * *"\n'
PROMPT = "{{query}} {{document}} {{grades}}"
MODEL = {"endpoint": "local", "model": "m", "template": PROMPT, "calls": "100"}


def file(text, name="file.csv"):
    """A file of a form."""
    return name, text.encode()


def endpoints(server):
    """The models of a server of this project."""
    return {"local": Endpoint("local", f"{server.url}/v1", models=("m",))}


class Buttons:
    """Presses every button, one after the other; each method is one step of the project's life."""

    def __init__(self, store, root, rater):
        self.store, self.root, self.rater, self.pressed = store, root, rater, set()

    def press(self, button, path, /, **values):
        """Send the form of a route."""
        values = {key: value if isinstance(value, tuple) else str(value) for key, value in values.items()}
        answer = self.root.send(path, "/account", **values)
        assert answer.status in {200, 303}, (button, answer.data.decode()[-900:])
        self.pressed.add(button)
        return answer

    def get(self, path):
        """The JSON of a page."""
        return self.root.get(f"{PATH}{path}").json()

    def steps(self):
        """The steps, in the order in which a project is set up and used."""
        return (
            self.project,
            self.settings,
            self.files,
            self.batches,
            self.people,
            self.ratings,
            self.final_words,
            self.judgments,
            self.comparisons,
            self.next_pairs,
            self.records,
            self.causes,
            self.metric,
            self.notes,
            self.alerts,
            self.schedule,
            self.models,
            self.account,
            self.archive,
        )

    def project(self):
        self.press("project-add", "/projects", name="whole", title="Whole", scale="graded")

    def settings(self):
        self.press("scale-set", f"{PATH}/scale", scale="0 = no\n1 = fair: so so\n2 = good\n3 = top")
        self.press("guideline-add", f"{PATH}/guidelines", version="1", text="# Be *fair*")
        self.press(
            "display-set",
            f"{PATH}/display",
            fields="title",
            images="https://example.org",
            card="title = title\ntext = html",
        )

    def files(self):
        for name, text in RUNS.items():
            self.press("material-add", f"{PATH}/material", file=file(text, name))
        self.press("material-add", f"{PATH}/material", file=file(RUNS["old.run"]), preview=1)

    def batches(self):
        texts = {"queries": file(QUERIES), "documents": file(DOCUMENTS), "gold": file(GOLD)}
        self.press("batch-add", f"{PATH}/batches", name="first", pool=file(POOL), strategy=2, open=1, **texts)
        self.press(
            "batch-add",
            f"{PATH}/batches",
            name="course",
            kind="training",
            pool=file(POOL),
            gold=file(GOLD),
            deadline="2030-01-01T00:00",
        )
        (first, _) = self.get(".json")["batches"]
        self.press("batch-change", f"{PATH}/batches/{first['id']}", priority=3)
        self.press("batch-rules", f"{PATH}/batches/{first['id']}/rules", stop_ratings=10_000)

    def people(self):
        self.press("grant", f"{PATH}/people", name="rater", role="rater")
        self.press("invite", f"{PATH}/invitations", name="new", role="viewer")
        self.press("invite", f"{PATH}/invitations", role="rater")
        waiting = self.get("/people.json")["invitations"]
        self.press("invitation-revoke", f"{PATH}/invitations/{waiting[0]['id']}/revoke")

    def ratings(self):
        first = self.root.get(f"{PATH}/rate.json").json()["task"]["id"]
        self.press("later", f"{PATH}/ratings/later", task=first)
        for visitor, grade in ((self.root, 0), (self.rater, 3)):
            while (task := visitor.get(f"{PATH}/rate.json").json()["task"]) is not None:
                rating = grade if task["sides"][0]["doc_id"] == "d2" else 2
                answer = visitor.post(
                    f"{PATH}/ratings", task=task["id"], grade=rating, seconds=4, comment="why"
                )
                assert answer.status == 200, answer.data
        last = self.get("/history.json")["ratings"][0]["task"]
        self.press("withdraw", f"{PATH}/ratings/withdraw", task=last)
        self.press("rate", f"{PATH}/ratings", task=last, reason="no knowledge")
        self.press("pairs-reset", f"{PATH}/pairs/reset", rater="rater", query="q2")
        task = self.rater.get(f"{PATH}/rate.json").json()["task"]["id"]
        answer = self.rater.post(f"{PATH}/ratings/many", answers=[{"task": task, "grade": 2}])
        assert answer.status == 200, answer.data
        self.pressed.add("rate-many")

    def final_words(self):
        dispute = self.get("/disputes.json")["disputes"][0]["task"]
        self.press("discuss", f"{PATH}/discussions/{dispute}", text="why")
        self.press("final", f"{PATH}/disputes/{dispute}", grade=1, comment="settled")

    def judgments(self):
        self.press("resolve", f"{PATH}/judgments", name="made", rule="mean", preview=1)
        self.press("resolve", f"{PATH}/judgments", name="made", rule="majority")
        table = self.root.get(f"{PATH}/tables/judgments/file?name=made").data
        metadata = json.dumps({"unjudged": []})
        self.press(
            "judgments-add",
            f"{PATH}/tables/judgments",
            name="sent",
            table=("table.parquet", table),
            about=metadata,
        )

    def comparisons(self):
        for kind in ("documents", "lists"):
            self.press(
                "preferences-add",
                f"{PATH}/preferences",
                name=kind,
                kind=kind,
                first="old",
                second="new",
                strategy=1,
            )
        task = self.root.get(f"{PATH}/rate.json").json()["task"]["id"]
        self.press("rate", f"{PATH}/ratings", task=task, choice="left", comment="clearer")

    def next_pairs(self):
        self.press(
            "next-add",
            f"{PATH}/coverage",
            name="next",
            order="disagreement",
            first="old",
            second="new",
            most=5,
        )

    def records(self):
        with self.store.read() as connection:
            number = projects.get_by_name(connection, "whole").id
        history(self.store, number, days=3)
        result = {"kind": "evaluation", "schema_version": 1}
        self.press("result-add", f"{PATH}/results", name="one", result=file(json.dumps(result)))
        values = (Value("nDCG@10", "shop", 0.5),)
        new = NewRecord(result, BEGIN + timedelta(days=9), values=values)
        self.press("record-add", f"{PATH}/records", record=file(json.dumps(new.to_dict())))
        table = self.root.get(f"{PATH}/tables/judgments/file?name=made").data
        self.press(
            "record-input",
            f"{PATH}/records/inputs",
            kind="judgments",
            name="kept",
            table=("table.parquet", table),
        )

    def causes(self):
        after, before = [
            record["sha256"]
            for record in self.get("/records.json?kind=runs")["records"]
            if record["system"] == "shop"
        ][:2]
        self.press("missing-add", f"{PATH}/changes/batch", before=before, after=after, query="q03")

    def metric(self):
        self.press("metric-set", f"{PATH}/metric", metric="nDCG@10")

    def notes(self):
        self.press(
            "annotation-add",
            f"{PATH}/annotations",
            kind="note",
            text="moved",
            metric="nDCG@10",
            at="2026-03-02T00:00",
        )
        notes = self.get("/recorded/annotations.json")["annotations"]
        self.press("annotation-withdraw", f"{PATH}/annotations/{notes[-1]['id']}/withdraw")
        record = self.get("/records.json")["records"][0]["sha256"]
        for kind, subject in (("query", "q1"), ("query", "q1"), ("record", record)):
            self.press("comment-add", f"{PATH}/comments", kind=kind, subject=subject, text="Look")
        comment = self.get("/comments.json?kind=query&subject=q1")["comments"][0]["id"]
        self.press("comment-withdraw", f"{PATH}/comments/{comment}/withdraw")

    def alerts(self):
        self.press("alert-rules-set", f"{PATH}/alerts/rules", rules=RULES)
        self.press("alerts-check", f"{PATH}/alerts/check")
        for alert in self.get("/alerts.json")["alerts"][:1]:
            self.press("alert-acknowledge", f"{PATH}/alerts/{alert['id']}/acknowledge")

    def schedule(self):
        self.press("jobs-add", f"{PATH}/schedule", jobs=JOBS)
        self.press("job-start", f"{PATH}/schedule/jobs/nightly/start")
        scheduler = Scheduler(self.store, None)
        scheduler.look()
        scheduler.wait()
        scheduler.stop()
        self.press("job-change", f"{PATH}/schedule/jobs/nightly")

    def models(self):
        answer = self.press("model-start", f"{PATH}/models", batch="first", **MODEL)
        number = answer.headers["location"].partition("?")[0].rpartition("/")[2]
        path = f"/models/jobs/{number}.json"
        until(lambda: not self.get(path)["job"]["under_way"])
        assert self.get(path)["job"]["done"]
        rater = self.get("/models.json")["models"][0]["rater"]
        self.press("model-admit", f"{PATH}/models/{rater}/admission", pairs=1)
        self.press("model-withdraw", f"{PATH}/models/{rater}/withdrawal")
        self.press("model-rule", f"{PATH}/models/rule", **MODEL)

    def account(self):
        self.press("language", "/language", language="en", next="/account")
        self.press("token-issue", "/account/tokens", name="ci", project="whole", read=1)
        self.press("token-issue", "/account/tokens", name="old", days=1)
        tokens = self.root.get("/account.json").json()["tokens"]
        self.press("token-revoke", f"/account/tokens/{tokens[-1]['id']}/revoke")
        users = {user["name"]: user["id"] for user in self.root.get("/users.json").json()["users"]}
        self.press("password-link", f"/users/{users['leaver']}/password-link")
        self.press("sessions-end", "/account/sessions/end")
        self.press("user-change", f"/users/{users['leaver']}", sign_in="no", admin="no")
        self.press("user-remove", f"/users/{users['leaver']}/remove", confirm="leaver")

    def archive(self):
        items = {item["name"]: item for item in self.get("/archive.json")["items"]}
        for name in ("course", "old", "sent"):
            path = f"{PATH}/archive/{items[name]['kind']}/{items[name]['id']}"
            self.press("archive-change", path, archived=1)
        self.press("archive-delete", f"{path}/delete", confirm="sent")
        with self.store.write() as connection:
            number = projects.get_by_name(connection, "whole").id
            queries_documents.ensure_queries(connection, number, ["unwanted", "unused"])
        queries_path = f"{PATH}/archive/queries"
        self.press("archive-queries", queries_path, queries="unwanted\nunused", archived=1)
        self.press("archive-queries", queries_path, queries="unused")
        self.press("archive-queries-delete", f"{queries_path}/delete", confirm="archived queries")
        self.press("archive-queries", queries_path, queries="unused", archived=1)
        self.press("project-archive", f"{PATH}/archive", archived=1)
        self.press("project-archive", f"{PATH}/archive")
        self.press("project-add", "/projects", name="unwanted", scale="binary")
        self.press("project-archive", "/projects/unwanted/archive", archived=1)
        self.press("project-delete", "/projects/unwanted/delete", confirm="unwanted")
