"""One comment on a pull request: posted to a stand-in of GitHub and GitLab, and its Markdown."""

from __future__ import annotations

import json
import re
import threading
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, urlsplit

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.verdict import Verdict
from rankgate.decisions.gating.verdict_comment import comment_body, make_inert
from support.command import assert_refused
from support.wording import raises

TOKEN = "ghs_0123456789abcdefTOKEN"  # noqa: S105 - of the stand-in
BOT = {"id": 41898282, "login": "github-actions[bot]", "type": "Bot"}
PERSON = {"id": 7, "login": "mallory", "type": "User"}
POLICY = """\
[gate]
holes = "ignore"
[[rules]]
id = "no-worse"
kind = "noninferiority"
metric = "P@1"
margin = 0.1
"""


class Service(BaseHTTPRequestHandler):
    """Issues of GitHub and notes of GitLab, one after the other."""

    def answer(self):
        server, url = self.server, urlsplit(self.path)
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        token = self.headers.get("authorization")
        server.requests.append((self.command, url.path, token))
        if server.status:
            return self.send(server.status, {"message": f"<b>no</b>, {TOKEN}"})
        if server.answer is not None:
            return self.send(200, server.answer)
        if url.path == "/user":
            return self.send(*server.account)
        if self.command == "GET":
            page, size = (int(parse_qs(url.query)[name][0]) for name in ("page", "per_page"))
            return self.send(200, server.comments[(page - 1) * size : page * size])
        if self.command == "POST":
            server.comments.append({"id": next(server.ids), "user": BOT, "author": BOT, **body})
            return self.send(201, server.comments[-1])
        number = int(url.path.rsplit("/", 1)[1])
        (comment,) = [comment for comment in server.comments if comment["id"] == number]
        comment |= body
        return self.send(200, comment)

    do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815 - names of http.server

    def send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.requests, server.comments, server.ids = [], [], count(1)
    server.status = server.answer = None
    server.account = 403, {"message": "Resource not accessible by integration"}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Judgments, a run that is always right, one that is wrong, and a saved baseline."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 d 1\nq{i} 0 e 0\n" for i in range(40)))
    (tmp_path / "rankgate.toml").write_text(POLICY)
    for name, order in (("right", "de"), ("wrong", "ed")):
        lines = [f"q{i} Q0 {doc} {k} {9 - k} t\n" for i in range(40) for k, doc in enumerate(order, 1)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def github(service, project, monkeypatch):
    """The environment of a job of GitHub for pull request 12."""
    variables = {
        "GITHUB_API_URL": f"http://127.0.0.1:{service.server_port}",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "team/shop",
        "GITHUB_REF": "refs/pull/12/merge",
        "GITHUB_RUN_ID": "99",
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_STEP_SUMMARY": str(project / "summary.md"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return service


GATE = ("gate", "qrels.txt", "main", "wrong.run", "--no-log", "--comment", "ranking")


@pytest.fixture
def saved(project, run):
    """The file of a saved baseline."""
    assert run("baseline", "save", "main", "qrels.txt", "right.run", "-m", "P@1").code == 0
    return project / "rankgate/baselines/main.json"


def test_one_comment_is_made_then_updated_then_warns_of_an_old_baseline(github, saved, run):
    result = run(*GATE, "--also", "html=gate.html")
    assert (result.code, result.err) == (1, "")
    (comment,) = github.comments
    assert comment["body"].startswith(
        "<!-- rankgate-comment: ranking -->\n\n## ✘ FAIL: wrong may not replace"
    )
    assert "(https://github.com/team/shop/actions/runs/99#artifacts)" in comment["body"]
    assert "0 days ago" in comment["body"]
    assert {token for _, _, token in github.requests} == {f"Bearer {TOKEN}"}

    assert run("gate", "qrels.txt", "main", "right.run", "--no-log", "--comment", "ranking").code == 0
    (comment,) = github.comments
    assert "PASS" in comment["body"]
    assert "FAIL" not in comment["body"]
    assert "**Warning:**" not in comment["body"]

    old = (datetime.now(UTC) - timedelta(days=45)).strftime("%Y-%m-%dT%H:%M:%SZ")
    saved.write_text(re.sub('"saved_at": "[^"]*"', f'"saved_at": "{old}"', saved.read_text()))
    assert run(*GATE).code == 1
    (comment,) = github.comments
    assert "**Warning:**" in comment["body"]
    assert "45 days ago. Refresh it" in comment["body"]
    command = re.search("`(rankgate baseline refresh main) QRELS RUN`", comment["body"])[1]
    assert run(*command.split()[1:], "qrels.txt", "right.run").code == 0
    assert run(*GATE).code == 1
    assert "**Warning:**" not in github.comments[0]["body"]
    assert run(*GATE, "--refresh-after", "0").code == 1
    assert "**Warning:**" not in github.comments[0]["body"]  # today is not older than 0 days
    assert [request[:2] for request in github.requests][-1] == ("PATCH", "/repos/team/shop/issues/comments/1")


@pytest.mark.usefixtures("saved")
def test_checks_have_comments_of_their_own_and_those_of_others_stay(github, run):
    body = "<!-- rankgate-comment: ranking -->\n\nPASS, says mallory"
    github.comments += [{"id": 500 + i, "user": PERSON, "body": "hello"} for i in range(250)]
    github.comments.append({"id": 900, "user": PERSON, "body": body})
    for name in ("ranking", "ranking", "recall"):
        run(*GATE[:-1], name)
    own = [comment for comment in github.comments if comment["user"] == BOT]
    assert [comment["body"].split("\n")[0] for comment in own] == [
        "<!-- rankgate-comment: ranking -->",
        "<!-- rankgate-comment: recall -->",
    ]
    assert [comment["body"] for comment in github.comments if comment["id"] == 900] == [body]


@pytest.mark.usefixtures("saved")
def test_a_token_of_a_person_updates_the_comment_of_that_person(github, run):
    github.account = 200, PERSON
    github.comments.append({"id": 900, "user": PERSON, "body": "<!-- rankgate-comment: ranking -->\r\nold"})
    run(*GATE)
    (comment,) = github.comments
    assert "FAIL" in comment["body"]


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(
    ("status", "candidate", "code"),
    [
        (403, "right.run", 0),  # the token of a fork
        (403, "wrong.run", 1),
        (401, "wrong.run", 1),
        (404, "wrong.run", 1),
        (429, "wrong.run", 1),
        (500, "right.run", 0),
        (302, "wrong.run", 1),
    ],
)
def test_a_refused_comment_is_in_the_summary_and_the_exit_code_stays(
    github, run, project, status, candidate, code
):
    github.status = status
    result = run(
        "gate", "qrels.txt", "main", candidate, "--no-log", "--format", "github", "--comment", "ranking"
    )
    assert result.code == code
    assert result.out.startswith("::error" if code else "::notice")
    assert f"HTTP {status}" in result.err
    assert TOKEN not in result.err + result.out
    summary = (project / "summary.md").read_text()
    assert summary.count("# ✘ FAIL" if code else "# ✔ PASS") == 1
    assert "<details>" in summary or not code
    assert ("pull-requests: write" in summary) == (status in {401, 403, 404})
    assert TOKEN not in summary
    assert not re.search(r"(?<!\\)<b>", summary)


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize("answer", ["no", [{"id": 1}], {"comments": []}])
def test_an_address_that_is_no_api_of_comments_is_named(github, run, answer):
    github.answer = answer
    result = run(*GATE)
    assert result.code == 1
    assert result.err.startswith("rankgate: no comment was written: http://127.0.0.1")


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(
    "variables",
    [
        {"GITHUB_TOKEN": ""},
        {"GITHUB_REF": "refs/heads/main"},
        {"GITHUB_API_URL": ""},
        {"GITHUB_API_URL": "http://127.0.0.1:1"},
        {"GITHUB_API_URL": "", "CI_API_V4_URL": "http://127.0.0.1:1"},
    ],
)
def test_without_a_pull_request_or_a_token_the_verdict_stands(github, run, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    result = run(*GATE)
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert result.out.startswith("FAIL")
    assert result.err.startswith("rankgate: no comment was written: ")
    assert not github.comments


def test_a_name_that_would_end_the_marker_is_refused_before_anything_is_read(run):
    assert_refused(run("gate", "none", "none", "none", "--comment", "a --> b"), "invalid-name")


@pytest.mark.usefixtures("saved")
def test_a_merge_request_of_gitlab_has_one_note(service, run, monkeypatch):
    service.account = 200, BOT
    variables = {
        "CI_API_V4_URL": f"http://127.0.0.1:{service.server_port}",
        "CI_MERGE_REQUEST_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "12",
        "CI_JOB_URL": "https://gitlab.example.org/shop/-/jobs/3",
        "GITLAB_TOKEN": TOKEN,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GITHUB_API_URL", raising=False)
    for _ in range(2):
        assert run(*GATE, "--also", "html=out.html").code == 1
    (note,) = service.comments
    assert "(https://gitlab.example.org/shop/-/jobs/3/artifacts/file/out.html)" in note["body"]
    path = "/projects/5/merge_requests/12/notes"
    assert [request[:2] for request in service.requests if request[0] != "GET"] == [
        ("POST", path),
        ("PUT", f"{path}/1"),
    ]
    assert {token for *_, token in service.requests} == {f"Bearer {TOKEN}"}


HOSTILE = (
    "@team #12 !3 %v1 ~bug &2 /close GH-7 http://x.org www.y.org a@b.org <b>x</b> [l](//z) `c` $5 | "
    "0123456789abcdef"
)


def test_texts_of_data_link_and_mention_nothing():
    name = HOSTILE.replace(" ", "\u00a0")
    qrels = {f"{i}{name}": {"d": 1} for i in range(30)}
    runs = [dict.fromkeys(qrels, docs) for docs in ({"d": 2.0, f"x{name}": 1.0}, {"d": 1.0, f"x{name}": 2.0})]
    result = gate(qrels, {f"/old {name}": runs[0]}, {f"new {name}": runs[1]}, ["P@1"])
    body = comment_body(result, "ranking")
    html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(body)
    assert "<b>" not in html
    assert "<a " not in html
    text = re.sub("<[^>]*>", "", html)
    assert not re.search(r"(?<!\w)@\w|(?<!&)#\d|!\d|%v|~bug|GH-7|://|\b[0-9a-f]{7,40}\b|a@b", text)
    assert not re.search("(?m)^/", body)  # a quick action of GitLab
    assert "nDCG@10" in make_inert("nDCG@10")
    # the name is still there: what breaks it has no width
    assert name.split("\u00a0")[0] in text.replace("\u200b", "")


def test_the_body_is_as_long_as_github_allows_and_whole_blocks_are_left_out():
    documents = {f"document-{'x' * 300}-{n}": 100.0 - n for n in range(10)}
    qrels = {f"q{i}-{'y' * 500}": {"d": 1} for i in range(30)}
    runs = [{query: {**documents, "d": score} for query in qrels} for score in (200.0, 50.0)]
    policy = ["P@1", *(f"P@{k}" for k in range(2, 11))]
    result = gate(qrels, {"old" * 2000: runs[0]}, {"new" * 2000: runs[1]}, policy)
    body = comment_body(result, "ranking")
    assert 10_000 < len(body) <= 65_536
    assert body.count("<details>") == body.count("</details>") > 0
    assert "does not fit" in body
    assert body.rstrip().endswith("</sub>")


STATEMENT = {
    "required": ["_type", "subject", "predicateType", "predicate"],
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "predicateType": {"const": "https://in-toto.io/attestation/test-result/v0.1"},
        "subject": {"minItems": 1, "items": {"required": ["name", "digest"]}},
        "predicate": {
            "required": ["result", "configuration"],
            "properties": {
                "result": {"enum": ["PASSED", "WARNED", "FAILED"]},
                "configuration": {"items": {"required": ["name", "digest"]}},
            },
        },
    },
}


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize(("candidate", "result"), [("right.run", "PASSED"), ("wrong.run", "FAILED")])
def test_a_statement_has_the_digests_of_all_files(run, project, candidate, result):
    (project / "tags.csv").write_text("query_id,kind\nq1,head\n")
    words = ("gate", "qrels.txt", "main", candidate, "--no-log", "--tags", "tags.csv")
    run(*words, "--also", "intoto=s.json")
    statement = json.loads((project / "s.json").read_text())
    Draft202012Validator(STATEMENT).validate(statement)
    predicate = statement["predicate"]
    assert predicate["result"] == result
    assert predicate[f"{result.lower()}Tests"] == ["no-worse"]
    descriptors = [*statement["subject"], *predicate["configuration"]]
    digests = {item["name"]: item["digest"]["sha256"] for item in descriptors}
    names = [candidate, "qrels.txt", "tags.csv", "rankgate.toml", "rankgate/baselines/main.json"]
    assert sorted(digests) == sorted(names)
    assert digests == {name: sha256((project / name).read_bytes()).hexdigest() for name in names}
    assert [item["name"] for item in statement["subject"]] == [candidate]


def test_an_inconclusive_verdict_is_no_pass_in_a_statement(project, run):
    runs = (project / "right.run").read_text().splitlines(keepends=True)
    wrong = (project / "wrong.run").read_text().splitlines(keepends=True)
    (project / "mostly.run").write_text("".join(wrong[:8] + runs[8:]))
    assert run("gate", "qrels.txt", "right.run", "mostly.run", "--also", "intoto=s.json").code == 3
    predicate = json.loads((project / "s.json").read_text())["predicate"]
    assert (predicate["result"], predicate["failedTests"]) == ("FAILED", ["no-worse"])


def test_a_baseline_is_refreshed_with_its_metrics_and_depth(project, run):
    run(
        "baseline",
        "save",
        "main",
        "qrels.txt",
        "right.run",
        "-m",
        "RR@7",
        "--depth",
        "17",
        "--convention",
        "gdeval",
    )
    path = project / "rankgate/baselines/main.json"
    before = json.loads(path.read_text())
    assert run("baseline", "refresh", "main", "qrels.txt", "wrong.run").code == 0
    after = json.loads(path.read_text())
    kept = ("name", "metrics", "depth", "convention", "qrels")
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert after["run"]["name"] == "wrong"
    assert_refused(run("baseline", "refresh", "other", "qrels.txt", "wrong.run"), "unknown-baseline")


def test_the_time_of_a_baseline_that_does_not_record_it_is_unknown(saved, run, project):
    saved.write_text(re.sub('  "saved_at": "[^"]*",\n', "", saved.read_text()))
    run("gate", "qrels.txt", "main", "right.run", "--no-log", "--also", "comment=c.md")
    assert "baseline main was saved at an unknown time" in (project / "c.md").read_text()


@pytest.mark.usefixtures("saved")
def test_a_verdict_keeps_its_baseline_in_json(run, project):
    run("gate", "qrels.txt", "main", "right.run", "--no-log", "--also", "json=v.json")
    values = json.loads((project / "v.json").read_text())
    assert values["saved_baseline"]["name"] == "main"
    assert Verdict.from_dict(values).to_dict() == values
    assert "main was saved on" in comment_body(Verdict.from_dict(values))


def test_a_comment_cannot_have_any_name():
    result = gate({"q": {"d": 1}}, {"q": {"d": 1.0}}, {"q": {"d": 1.0}}, ["P@1"])
    for name in ("a-->", "a\nb", "x" * 101, "a--b", " a"):
        with raises("invalid-name"):
            comment_body(result, name)


def test_a_rule_is_a_sentence_with_its_next_step(project, run):
    good = (project / "right.run").read_text().splitlines(keepends=True)
    bad = (project / "wrong.run").read_text().splitlines(keepends=True)
    (project / "mostly.run").write_text("".join(bad[:8] + good[8:]))
    text = run("gate", "qrels.txt", "right.run", "mostly.run", "--format", "comment").out
    (row,) = re.findall(r"\| \? inconclusive \| (.*) \|", text)
    assert row.startswith("no-worse: P@1 ")
    assert ". Next: " in row
    assert row.endswith(".")
