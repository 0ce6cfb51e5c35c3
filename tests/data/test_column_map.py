"""Columns that a user names, of judgments, runs and ratings, in every verb that reads files."""

from __future__ import annotations

import json

import polars as pl
import pytest

import rankgate
from rankgate.data.collection import Collection
from support.command import assert_refused
from support.wording import raises

SHEET = """search_term,sku,title,final_rating,rater_ann,rater_bob,score
laptop,100,"15"" laptop",3,3,2,9
laptop,101,mouse,1,1,1,9
phone,200,phone,3,3,,9
phone,201,case,0,0,1,9
"""
RUN = "search_term,sku,bm25,price\nlaptop,101,9,5\nlaptop,100,8,5\nphone,200,7,1\n"
PAIR = "query=search_term,doc=sku"
GRADE, SCORE = f"{PAIR},grade=final_rating", f"{PAIR},score=bm25"
QRELS = {"laptop": {"100": 3, "101": 1}, "phone": {"200": 3, "201": 0}}
RANKED = {"laptop": {"101": 9, "100": 8}, "phone": {"200": 7}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sheet.csv").write_text(SHEET)
    (tmp_path / "run.csv").write_text(RUN)
    (tmp_path / "plain.run").write_text("laptop Q0 100 1 9 x\nphone Q0 200 1 9 x\n")
    return tmp_path


def test_files_and_frames_are_read_by_the_columns_that_are_named(folder):
    truth = rankgate.evaluate(QRELS, RANKED, ["nDCG@3"]).means["nDCG@3"][0]
    columns = {"query": "search_term", "doc": "sku", "grade": "final_rating", "score": "bm25"}
    frames = pl.read_csv(folder / "sheet.csv").drop("score"), pl.read_csv(folder / "run.csv")
    for qrels, ranking in ((folder / "sheet.csv", folder / "run.csv"), frames):
        scores = rankgate.evaluate(Collection(qrels, columns=columns), ranking, ["nDCG@3"])
        assert scores.means["nDCG@3"][0] == pytest.approx(truth)


def test_runs_without_these_columns_are_read_as_they_are(folder, run):
    for ranking, columns in (("plain.run", GRADE), ("run.csv", f"{GRADE},score=bm25")):
        result = run("eval", "sheet.csv", ranking, "-m", "RR", "--columns", columns)
        assert result.code == 0, result.err
    two = ["compare", "sheet.csv", "plain.run", "run.csv", "-m", "RR", "--columns"]
    assert run(*two, f"{GRADE}").code == 2  # nothing says what its score is
    three = ["gate", "sheet.csv", "run.csv", "run.csv", "--columns", f"{GRADE},score=bm25"]
    assert_refused(run(*three), "baseline-is-candidate")
    (folder / "again.csv").write_text(RUN)
    three[3] = "again.csv"
    assert run(*three).code == 0  # the same lists
    (folder / "q.txt").write_text("laptop 0 100 3\nphone 0 200 1\n")
    assert run("eval", "q.txt", "run.csv", "--columns", SCORE).code == 0


def test_columns_of_several_raters_are_their_ratings(folder, run):
    for columns in (f"{PAIR},grade=rater_*", f"{PAIR},grade=rater_ann+rater_bob"):
        counts = json.loads(run("agree", "sheet.csv", "--columns", columns, "--format", "json").out)["counts"]
        assert (counts["ratings"], counts["raters"], counts["overlap"]) == (7, 2, 3)
    agreement = rankgate.agree(pl.read_csv(folder / "sheet.csv"), columns=f"{PAIR},grade=rater_*")
    assert agreement.found.counts["ratings"] == 7
    assert agreement.found.raters["rater"].sort().to_list() == ["rater_ann", "rater_bob"]
    judged = run("resolve", "sheet.csv", "--rule", "mean", "--columns", columns).out
    assert "laptop 0 100 2.5" in judged
    refused = run("eval", "sheet.csv", "plain.run", "--columns", columns)
    assert_refused(refused, "ratings-not-judgments", "sheet.csv", 1)


def test_every_command_of_files_takes_them(folder, run):
    out = run("convert", "sheet.csv", "-", "--to", "trec", "--columns", GRADE).out
    assert out == "laptop 0 100 3\nlaptop 0 101 1\nphone 0 200 3\nphone 0 201 0\n"
    (described,) = json.loads(run("describe", "sheet.csv", "--columns", GRADE, "--format", "json").out)[
        "files"
    ]
    assert described["bytes"] == len(SHEET)
    assert run("validate", "sheet.csv", "--columns", GRADE).code == 0
    long = run("convert", "sheet.csv", "-", "--to", "csv", "--columns", f"{PAIR},grade=rater_*")
    assert long.out.splitlines()[:2] == ["query_id,doc_id,rater,grade", "laptop,100,rater_ann,3"]
    (folder / "rated.csv").write_text("term,sku,who,stars\nq,a,ann,1\nq,a,bob,2\n")
    columns = "query=term,doc=sku,rater=who,grade=stars"
    assert run("agree", "rated.csv", "--columns", columns, "--format", "json").code == 0


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ("query=sku,doc=sku", "duplicate-name"),
        ("query=a,query=b", "duplicate-name"),
        (f"{PAIR},grade=rater_ann+rater_ann", "duplicate-name"),
        (f"{PAIR},stars=title", "missing-column"),
        (f"{PAIR},grade", "invalid-syntax"),
        (f"{PAIR},grade=rater_*,rater=title", "conflicting-options"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_map_that_makes_no_sense_is_an_error(run, columns, code):
    for arguments in (["agree", "sheet.csv"], ["eval", "sheet.csv", "plain.run"]):
        assert_refused(run(*arguments, "--columns", columns), code)


@pytest.mark.parametrize(
    ("columns", "code", "line"),
    [
        ("query=nothere,doc=sku,grade=final_rating", "missing-column", 1),
        (f"{PAIR},grade=judge_*", "missing-column", 1),
        (f"{PAIR},grade=rater_ann+rater_*", "duplicate-column", 1),
        (f"{PAIR},grade=rater_ann+title", "not-a-number", 2),
        (f"{PAIR},grade=title", "not-a-number", 2),
    ],
)
@pytest.mark.usefixtures("folder")
def test_columns_that_are_not_there_or_hold_no_grades_are_named(run, columns, code, line):
    for arguments in (["resolve", "sheet.csv"], ["convert", "sheet.csv", "-", "--to", "csv"]):
        result = run(*arguments, "--columns", columns)
        if arguments[0] == "resolve" and columns.endswith("final_rating"):
            continue  # it is refused for its raters
        assert_refused(result, code, "sheet.csv", line)


def test_bad_rows_of_a_sheet_of_raters_are_named_by_their_own_line(folder, run):
    arguments = ["agree", "s.csv", "--columns", f"{PAIR},grade=rater_*"]
    (folder / "s.csv").write_text(SHEET.replace("phone,200,phone,3", ",200,phone,3"))
    assert_refused(run(*arguments), "empty-value", "s.csv", 4)
    (folder / "s.csv").write_text(SHEET.replace("laptop,101,mouse,1,1,1,9", "laptop,101,mouse"))
    assert_refused(run(*arguments), "wrong-field-count", "s.csv", 3)
    (folder / "s.csv").write_text(SHEET.replace("title", "sku"))
    assert_refused(run(*arguments), "duplicate-column", "s.csv", 1)
    assert_refused(run("agree", "plain.run", *arguments[2:]), "wrong-type", "plain.run", 1)


def test_a_frame_without_the_column_is_refused(folder):
    with raises("missing-column"):
        rankgate.agree(pl.read_csv(folder / "run.csv"), columns=f"{PAIR},grade=rater_*")


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_a_named_rank_may_be_a_distance(kind, tmp_path):
    distances = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["near", "far"], "distance": [0.12, 0.45]})
    source = distances
    if kind == "file":
        source = tmp_path / "distances.csv"
        distances.write_csv(source)
    judgments = {"q": {"near": 1, "far": 0}}
    with raises("missing-column"):
        rankgate.evaluate(judgments, source, metrics=["RR"])
    collection = rankgate.Collection(judgments, columns="rank=distance")
    assert rankgate.evaluate(collection, source, metrics=["RR"]).runs[0].means["RR"] == 1
