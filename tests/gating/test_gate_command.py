"""``rankgate gate`` and ``baseline``: three words, every form, baselines without their engine."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from support.command import assert_refused

CLAIMS = {
    "PASS": "{} may replace old",
    "FAIL": "{} may not replace old",
    "INCONCLUSIVE": "not settled whether {} may replace old",
}
POLICY = """\
[[rules]]
id = "no-worse"
kind = "noninferiority"
metric = "RR"
margin = 0.05

[[rules]]
id = "few-drops"
kind = "per_query"
metric = "RR"
max_drop = 0.6
tier = "warn"
"""


def ranked(places, name):
    """A run with the relevant document of query i at rank i."""
    lines = []
    for i, rank in enumerate(places):
        docs = [f"x{j}" for j in range(1, 10)]
        docs.insert(rank - 1, "good")
        lines += [f"q{i} Q0 {doc} {r} {20 - r} {name}" for r, doc in enumerate(docs, 1)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def place(here):
    """A project: judgments, a policy, and runs that are as good, worse and undecided."""
    (here / "qrels.txt").write_text("".join(f"q{i} 0 good 1\n" for i in range(40)))
    (here / "rankgate.toml").write_text(POLICY)
    for name, places in {
        "old": [2] * 40,
        "same": [1] * 40,
        "worse": [5] * 40,
        "unclear": [1, 10, 10, 2] * 10,
    }.items():
        (here / f"{name}.run").write_text(ranked(places, name))
    return here


@pytest.mark.parametrize(
    ("name", "code", "word"), [("same", 0, "PASS"), ("worse", 1, "FAIL"), ("unclear", 3, "INCONCLUSIVE")]
)
@pytest.mark.usefixtures("place")
def test_the_exit_code_is_the_verdict(run, name, code, word):
    result = run("gate", "qrels.txt", "old.run", f"{name}.run")
    assert result.code == code
    assert result.out.startswith(f"{word}: {CLAIMS[word].format(name)}\n")
    assert all(len(line) <= 80 for line in result.out.splitlines())


def test_every_form_says_the_same_word(run, place):
    forms = {form: f"verdict.{form}" for form in ("json", "markdown", "junit", "github", "html")}
    also = [word for form, name in forms.items() for word in ("--also", f"{form}={name}")]
    assert run("gate", "qrels.txt", "old.run", "worse.run", *also).code == 1
    text = {form: (place / name).read_text() for form, name in forms.items()}
    result = json.loads(text["json"])
    assert (result["verdict"], result["exit_code"]) == ("fail", 1)
    assert [rule["id"] for rule in result["rules"]] == ["no-worse", "few-drops"]
    assert result["rules"][0]["delta"] == pytest.approx(1 / 5 - 1 / 2)
    assert text["markdown"].startswith("## ✘ FAIL: worse may not replace old\n")
    assert text["github"].startswith("::error ")
    suite = ET.fromstring(text["junit"]).find("testsuite")  # noqa: S314 - our own words
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failed = {case.get("name"): case.find("failure") for case in suite.iter("testcase")}
    assert failed["few-drops"] is None
    assert "worse by more than the margin" in failed["no-worse"].get("message")
    page = _Words()
    page.feed(text["html"])
    assert "fail: worse may not replace old" in page.words
    assert "://" not in text["html"]
    # the rule that decided leads the page; its bounds and the interval say what they are
    assert "no-worse: RR -0.3000 (bounds " in page.words
    assert "bounds: one-sided" in page.words
    assert "two-sided 95% interval" in page.words


@pytest.mark.usefixtures("place")
def test_losses_are_counted_and_no_list_of_queries_ends_in_four_dots(run):
    result = run("gate", "qrels.txt", "old.run", "worse.run")
    assert "largest losses by RR (3 of 40 queries that lost)" in result.out
    strict = POLICY.replace("max_drop = 0.6", "max_drop = 0.1")
    (Path.cwd() / "rankgate.toml").write_text(strict)
    lines = run("gate", "qrels.txt", "old.run", "worse.run", "--format", "github").out.splitlines()
    (drops,) = [line for line in lines if "few-drops" in line]
    assert "q0 (-0.300), q1 (-0.300)" in drops
    assert ", … Next: look at these queries" in drops


class _Words(HTMLParser):
    """The words of a page; every element that opens must close."""

    def __init__(self):
        super().__init__()
        self.words = ""

    def handle_data(self, data):
        self.words += data


def test_names_in_the_page_are_escaped(run, place):
    (place / "qrels.txt").write_text("".join(f"<script>{i} 0 good 1\n" for i in range(12)))
    for name in ("old", "worse"):
        hits = [name == "old" or i == 11 for i in range(12)]  # a run without any is refused
        lines = [f"<script>{i} Q0 {'good' if hits[i] else 'x'} 1 1 t\n" for i in range(12)]
        (place / f"{name}.run").write_text("".join(lines))
    result = run("gate", "qrels.txt", "old.run", "worse.run", "--format", "html")
    assert "&lt;script&gt;0" in result.out
    assert result.out.count("<script>") == 1  # the page's own


def test_a_saved_baseline_needs_no_run(run, place):
    assert run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR").code == 0
    (place / "old.run").unlink()
    result = run("gate", "qrels.txt", "main", "worse.run", "--format", "json")
    assert result.code == 1
    assert json.loads(result.out)["looks"] == 1
    (baseline,) = json.loads(run("baseline", "show", "main", "--format", "json").out)["baselines"]
    (look,) = baseline["looks"]
    assert (look["candidate"], look["verdict"]) == ("worse", "fail")
    assert baseline["means"] == {"RR": 0.5}
    assert "main" in run("baseline", "list").out


def test_a_stale_baseline_decides_nothing(run, place):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    (place / "qrels.txt").write_text("".join(f"q{i} 0 good 1\n" for i in range(5, 42)))
    result = run("gate", "qrels.txt", "main", "same.run")
    assert result.code == 3
    text = " ".join(result.out.split())
    assert "scored by other judgments" in text
    assert "5 of its 40 queries were removed, 2 queries were added" in text
    assert "rankgate baseline save main" in text
    policy = POLICY + '[[rules]]\nid = "pinned"\nkind = "drift"\n'
    (place / "rankgate.toml").write_text(policy)
    result = run("gate", "qrels.txt", "main", "same.run", "--format", "json")
    ends = {rule["id"]: rule["status"] for rule in json.loads(result.out)["rules"]}
    assert (result.code, ends["pinned"], ends["no-worse"]) == (1, "fail", "inconclusive")


def test_what_did_not_drift_passes(run, place):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    (place / "rankgate.toml").write_text(POLICY + '[[rules]]\nkind = "drift"\n')
    result = run("gate", "qrels.txt", "main", "same.run")
    assert result.code == 0
    assert "40 queries and their judgments are as they were saved" in " ".join(result.out.split())


@pytest.mark.usefixtures("place")
def test_a_margin_below_the_noise_is_refused(run):
    result = run("gate", "qrels.txt", "old.run", "same.run", "--noise", "worse.run")
    assert_refused(result, "margin-below-noise")


@pytest.mark.usefixtures("place")
def test_a_saved_noise_floor_is_kept(run):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    assert run("baseline", "noise", "main", "qrels.txt", "worse.run").code == 0
    result = run("gate", "qrels.txt", "main", "same.run")
    assert_refused(result, "margin-below-noise")


@pytest.mark.parametrize(
    ("change", "code", "line"),
    [
        (("rankgate.toml", POLICY.replace("margin = 0.05", "margn = 0.05")), "invalid-policy", 5),
        (("rankgate.toml", POLICY.replace("0.05", "-1")), "invalid-policy", 5),
        (("same.run", ranked([1] * 39, "same")), "values-differ", None),
        (("same.run", "q0 Q0 good 1 nan t\n"), "not-a-number", 1),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(run, place, change, code, line):
    (place / change[0]).write_text(change[1])
    result = run("gate", "qrels.txt", "old.run", "same.run")
    assert_refused(result, code, change[0] if line else None, line)


@pytest.mark.parametrize(
    ("pair", "code"),
    [(("RMITBM1", "OHSU_RUN2"), 0), (("OHSU_RUN2", "RMITBM1"), 1), (("CSIROmedNIR", "OHSU_RUN2"), 3)],
)
@pytest.mark.usefixtures("here")
def test_pairs_of_trec_covid(run, shared, pair, code):
    folder = shared / "trec-covid-r1"
    runs = [folder / "runs" / f"{name}.gz" for name in pair]
    assert run("gate", folder / "qrels.covid-round1.txt", *runs).code == code


@pytest.mark.parametrize(
    ("pair", "code"),
    [
        (("manual_bm25", "manual_ance"), 0),
        (("manual_ance", "manual_bm25"), 1),
        (("manual_ance", "manual_ance_bert"), 3),
    ],
)
@pytest.mark.usefixtures("here")
def test_pairs_of_cast(run, shared, pair, code):
    folder = shared / "cast2021"
    runs = [folder / "runs" / f"org_{name}.run.gz" for name in pair]
    assert run("gate", folder / "trec-cast-qrels-docs.2021.qrel.gz", *runs).code == code


def looks(run, name, *more):
    result = run("gate", "qrels.txt", "main", f"{name}.run", "--format", "json", *more)
    return json.loads(result.out)["looks"]


def test_every_look_is_logged_and_the_same_run_is_the_same_look(run, place):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    baseline_bytes = (place / "rankgate/baselines/main.json").read_bytes()
    assert [looks(run, name) for name in ("same", "worse", "same", "unclear")] == [1, 2, 1, 3]
    lines = (place / "rankgate/baselines/main.looks.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["pass", "fail", "pass", "inconclusive"]
    assert (place / "rankgate/baselines/main.json").read_bytes() == baseline_bytes
    assert looks(run, "old", "--no-log") == 4
    assert looks(run, "old", "--no-log") == 4


def test_a_look_that_was_cut_short_is_none_and_a_damaged_one_is_reported(run, place):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    looks(run, "same")
    log = place / "rankgate/baselines/main.looks.jsonl"
    log.write_bytes(log.read_bytes() + b'{"at": "2026-')
    assert looks(run, "worse") == 2
    assert len(log.read_text().splitlines()) == 2
    log.write_text("{}\n")
    result = run("gate", "qrels.txt", "main", "same.run")
    assert_refused(result, "wrong-document", line=1)


def test_looks_go_on_when_a_judgment_is_added(run, place):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    looks(run, "same")
    with (place / "qrels.txt").open("a") as stream:
        stream.write("q0 0 x1 0\n")
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR", "--force")
    assert looks(run, "worse") == 2


def test_fresh_queries_begin_anew(run, place):
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR")
    looks(run, "same")
    for name in ("qrels.txt", "old.run", "worse.run"):
        text = (place / name).read_text()
        (place / name).write_text("".join(f"new-{line}\n" for line in text.splitlines()))
    run("baseline", "save", "main", "qrels.txt", "old.run", "-m", "RR", "--force")
    assert looks(run, "worse") == 1


def test_a_candidate_with_more_queries_is_the_same_candidate(run, place):
    """Queries are added twice; then comes another candidate."""
    policy = (place / "rankgate.toml").read_text()
    (place / "rankgate.toml").write_text('[gate]\nlooks = "anytime"\n' + policy)
    result = []
    for count, name in ((20, "same"), (30, "same"), (40, "same"), (40, "worse")):
        (place / "some.txt").write_text("".join(f"q{i} 0 good 1\n" for i in range(count)))
        run("baseline", "save", "main", "some.txt", "old.run", "-m", "RR", "--force")
        verdict = json.loads(run("gate", "some.txt", "main", f"{name}.run", "--format", "json").out)
        result += [(verdict["looks"], note) for note in verdict["notes"] if "at these queries" in note]
    assert [look for look, _ in result] == [1, 2, 3, 4]
    assert [note[:19] for _, note in result] == [
        "candidate 1, look 1",
        "candidate 1, look 2",
        "candidate 1, look 3",
        "candidate 2, look 4",
    ]
    assert "alpha is 0.03 instead of 0.05" in result[0][1]


@pytest.mark.usefixtures("place")
def test_details_leave_the_json_as_it_is(run):
    words = ("gate", "qrels.txt", "old.run", "same.run", "--format", "json")
    assert run(*words, "--details").out == run(*words).out
