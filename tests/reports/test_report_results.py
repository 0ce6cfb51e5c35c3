"""``rankgate report`` of results: one, a folder, damaged, hostile, of a kind to come."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from support.command import assert_refused

HOSTILE = "</script><script>alert(1)</script>\"'&\u202e"
ORDERS = {
    "old": lambda i: ["good", "half", "bad", "x"] if i % 3 else ["bad", "half"],
    "new": lambda i: ["half", "bad", "good"] if i % 3 == 1 else ["good", "half"],
    "bad": lambda _: ["bad", "x", "y", "half"],
}


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Twelve queries and three systems; bad is far below the others."""
    monkeypatch.chdir(tmp_path)
    judged = "".join(f"q{i} 0 good 3\nq{i} 0 half 1\nq{i} 0 bad 0\n" for i in range(12))
    (tmp_path / "qrels.txt").write_text(judged)
    for name, order in ORDERS.items():
        rows = [
            f"q{i} Q0 {d} {r} {9 - r + i / 100} t\n" for i in range(12) for r, d in enumerate(order(i), 1)
        ]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    (tmp_path / "results").mkdir()
    return tmp_path


TWO = ["qrels.txt", "old.run", "new.run"]
MADE = {
    "eval": (["eval", *TWO, "--per-query"], "Values of old, new"),
    "compare": (["compare", *TWO], "new against old"),
    "gate": (["gate", *TWO], "Rules: new against old"),
    "blindspots": (["blindspots", *TWO, "-m", "RR@10"], "What the metrics do not see"),
    "holes": (["holes", *TWO, "-m", "nDCG@10"], "What unjudged documents could change"),
    "cutoff": (["cutoff", *TWO[:2]], "Where to cut off the score"),
    "reconcile": (["reconcile", *TWO[:2], "-m", "nDCG@10"], "nDCG@10 of old under all conventions"),
    "bridge": (
        ["reconcile", *TWO[:2], "-m", "nDCG@10", "--from", "trec", "--to", "esci"],
        "nDCG@10 of old: trec to esci",
    ),
    "value": (
        ["reconcile", *TWO[:2], "-m", "nDCG@10", "--value", "0.5"],
        "The conventions that give nDCG@10 = 0.5 for old",
    ),
    "explain": (["explain", *TWO[:2], "--query", "q1", "-m", "nDCG@10"], "nDCG@10 of old for query q1"),
    "stages": (["stages", *TWO], "Stages: old, new"),
    "advise": (["advise", *TWO], "Which metrics to decide by"),
    "scorecard": (["scorecard", *TWO, "-m", "nDCG@10"], "Scorecard"),
    "reusability": (["reusability", *TWO], "The loss of runs outside the pool"),
    "pool": (["pool", *TWO[1:]], "What to judge next"),
    "describe": (["describe", *TWO], "What the files hold"),
    "validate": (["validate", *TWO], "Errors and warnings in files"),
    "admit": (["admit", "qrels.txt", "qrels.txt"], "Does the judge agree with people?"),
}


def words(text):
    """The text of a page, without its markup."""
    body = text[text.index("<body>") :]
    return " ".join(unescape(re.sub(r"<script>.*?</script>|<[^>]*>", " ", body, flags=re.DOTALL)).split())


@pytest.mark.parametrize("name", MADE)
@pytest.mark.usefixtures("data")
def test_every_result_is_a_report(run, name):
    call, title = MADE[name]
    run(*call, "--format", "json", "-o", f"{name}.json")
    result = run("report", f"{name}.json")
    assert result.code == 0, result.err
    text = words(result.out)
    assert title in text
    assert "Inputs and how to reproduce" in text
    assert f"rankgate report {name}.json" in text
    assert not re.search(r"\b(None|True|False|nan)\b(?! of)", text)  # no value of Python
    assert run("report", f"{name}.json").out == result.out


def test_agreement_is_a_report(run, data):
    rows = [f"q{i},d,{rater},{(i + j) % 2}\n" for i in range(20) for j, rater in enumerate("abc")]
    (data / "ratings.csv").write_text("query,document,rater,grade\n" + "".join(rows))
    assert run("agree", "ratings.csv", "--format", "json", "-o", "agree.json").code == 0
    text = words(run("report", "agree.json").out)
    assert "Agreement of raters" in text
    figures = json.loads((data / "agree.json").read_text())["coefficients"]
    name, first = next(iter(figures.items()))
    assert re.search(rf"{re.escape(name)} {first['value']:.3f}", text)


def test_a_folder_tells_the_verdict_first_and_each_convention_once(run, data):
    for name, (call, _) in MADE.items():
        run(*call, "--format", "json", "-o", f"results/{name}.json")
    (data / "results" / "notes.txt").write_text("no result")
    (data / "results" / "other.json").write_text("[1, 2]")
    result = run("report", "results")
    assert result.code == 0, result.err
    heads = re.findall(r"<h2>(.*?)</h2>", result.out)
    assert heads[0] == "Rules: new against old"
    assert "new against old" in heads
    assert heads[-1] == "Inputs and how to reproduce"
    text = words(result.out)
    assert "Results in results" in text
    assert "Files that are not results: notes.txt, other.json." in text
    assert text.count("every choice of the convention trec (") == 1
    ids = re.findall(r' id="([^"]*)"', result.out)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', result.out)) <= set(ids)


def test_a_comparison_says_the_same_from_its_json(run, data):  # noqa: ARG001 - the place
    calls = ["-m", "nDCG@10", "-m", "RR"]
    run("compare", *TWO, *calls, "--lists", "--format", "json", "-o", "c.json")
    direct, from_json = run("report", *TWO, *calls).out, run("report", "c.json").out
    tables = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    direct_tables, json_tables = tables.findall(direct), tables.findall(from_json)
    assert direct_tables[0] == json_tables[0]  # metrics
    lists = [table for table in json_tables if 'class="move"' in table]
    assert lists
    assert lists == [table for table in direct_tables if 'class="move"' in table]


def test_without_lists_the_page_says_so(run, data):  # noqa: ARG001 - the place
    run("compare", *TWO, "--format", "json", "-o", "c.json")
    page = run("report", "c.json").out
    assert "The lists were not kept; rankgate compare --format json --lists keeps them." in page
    assert 'id="q0-0-' not in page


def test_a_saved_baseline_is_shown_by_its_tables(run, data):  # noqa: ARG001 - the place
    run("baseline", "save", "main", *TWO[:2], "-m", "RR")
    text = words(run("report", "rankgate/baselines/main.json").out)
    assert "RR" in text
    assert "old" in text


def test_a_kind_to_come_is_an_error_alone_and_left_out_of_a_folder(run, data):
    (data / "new-kind.json").write_text('{"schema_version": 1, "kind": "to_come"}')
    assert_refused(run("report", "new-kind.json"), "unknown-kind", "new-kind.json")
    folder = data / "some"
    folder.mkdir()
    (folder / "new-kind.json").write_text('{"schema_version": 1, "kind": "to_come"}')
    run("eval", *TWO[:2], "-m", "RR", "--format", "json", "-o", folder / "e.json")
    assert "Files that are not results: new-kind.json." in words(run("report", folder).out)


@pytest.mark.parametrize("name", sorted(MADE))
def test_hostile_words_in_any_result_stay_words(run, data, name):
    run(*MADE[name][0], "--format", "json", "-o", "r.json")

    def spoiled(value):
        if isinstance(value, dict):
            return {key: spoiled(child) for key, child in value.items()}
        if isinstance(value, list):
            return [spoiled(child) for child in value]
        return value + HOSTILE if value in {"old", "new", "good", "q1"} else value

    result = spoiled(json.loads((data / "r.json").read_text()))
    (data / "r.json").write_text(json.dumps(result))
    page = run("report", "r.json")
    assert page.code == 0, page.err
    assert page.out.count("<script>") == 1
    assert page.out.count("</script>") == 1
    assert "\u202e" not in page.out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"schema_version": 1, "comparisons": [', "invalid-json"),
        ('{"schema_version": 2, "kind": "comparison", "comparisons": []}', "unknown-version"),
        ('{"schema_version": 1, "kind": "comparison", "comparisons": []}', "damaged-result"),
        ('{"schema_version": 1, "kind": "comparison", "comparisons": [{"baseline": 3}]}', "damaged-result"),
        ('{"schema_version": 1, "kind": "verdict", "verdict": "pass", "rules": [{}]}', "damaged-result"),
        ('{"schema_version": 1, "kind": "evaluation", "runs": [], "convention": {}}', "damaged-result"),
        ('{"schema_version": 1, "kind": "evaluation", "runs": 7, "convention": 3}', "damaged-result"),
    ],
)
def test_damage_is_reported(run, data, text, code):
    (data / "r.json").write_text(text)
    assert_refused(run("report", "r.json"), code, "r.json")


def test_what_is_no_result_is_reported(run, data):
    assert_refused(run("report", "results"), "no-results")
    assert_refused(run("report", "qrels.txt"), "missing-input")
    run("eval", *TWO, "--format", "json", "-o", "e.json")
    result = run("report", "e.json", "-m", "RR")
    assert_refused(result, "conflicting-options")
    assert (data / "e.json").exists()


@pytest.mark.usefixtures("data")
def test_an_evaluation_lists_its_queries_the_worst_first(run):
    """Every third list begins with a bad document."""
    run("eval", *TWO[:2], "-m", "RR(rel=3)@1", "--per-query", "--format", "json", "-o", "eval.json")
    page = words(run("report", "eval.json").out)
    table = page.partition("12 of 12 queries, the worst RR(rel=3)@1 first")[2]
    assert re.findall(r"\bq\d+\b", table) == [
        "q0",
        "q3",
        "q6",
        "q9",
        "q1",
        "q10",
        "q11",
        *(f"q{i}" for i in (2, 4, 5, 7, 8)),
    ]
