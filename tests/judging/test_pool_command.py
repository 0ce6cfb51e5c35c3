"""``rankgate pool`` and ``rankgate reusability``, as a person calls them."""

import json

import pytest

from support.command import assert_refused


@pytest.fixture
def runs(tmp_path):
    old_run, new_run = tmp_path / "old.run", tmp_path / "new.run"
    old_run.write_text("1 Q0 =a 1 9 x\n1 Q0 b 2 8 x\n2 Q0 m 1 3 x\n")
    new_run.write_text("1 Q0 b 1 9 x\n1 Q0 c 2 8 x\n2 Q0 m 1 3 x\n")
    return old_run, new_run


def test_a_pool_says_why_and_runs_no_formula(run, runs):
    result = run("pool", *runs, "--depth", 2)
    assert result.out.splitlines() == [
        "query,document,why,best_rank,systems,stratum,inclusion,query_inclusion,batch",
        "1,b,rank 1 of new; in 2 of 2 systems,1,2,,1.0,1.0,1",
        "2,m,rank 1 of new; in 2 of 2 systems,1,2,,1.0,1.0,1",
        "1, =a,rank 1 of old; in 1 of 2 systems,1,1,,1.0,1.0,1",
        "1,c,rank 2 of new; in 1 of 2 systems,2,1,,1.0,1.0,1",
    ]
    assert result.err == (
        "pool of 2 runs, depth 2: 4 documents; 0 of them judged already; 4 to judge, of 2\n"
        "  queries, by rank, seed 0\n"
    )


def test_blind_says_nothing_of_systems(run, runs):
    header, *rows = run("pool", *runs, "--depth", 2, "--blind", "--seed", 1).out.splitlines()
    assert header == "query,document,batch"
    assert sorted(rows) == ["1, =a,1", "1,b,1", "1,c,1", "2,m,1"]


def test_a_sample_with_its_rest(run, runs, tmp_path):
    rest_path = tmp_path / "rest.qrels"
    command_result = run("pool", *runs, "--strata", "1:1,2:0.5", "--rest", rest_path, "--format", "json")
    result = json.loads(command_result.out)
    assert result["made_by"]["strata"] == "1:1,2:0.5"
    lines = [f"{row['query_id']} 0 {row['doc_id']} -1\n" for row in result["rest"]]
    assert rest_path.read_text() == "".join(lines)
    assert len(result["documents"]) + len(lines) == 4


def test_from_a_sample_to_judgments_with_chances(run, runs, tmp_path):
    sample, rest_path, ratings = (tmp_path / name for name in ("s.csv", "rest.qrels", "r.csv"))
    run("pool", *runs, "--strata", "2:0.5", "--rest", rest_path, "-o", sample)
    rows = [line.split(",")[:2] for line in sample.read_text().splitlines()[1:]]
    ratings.write_text("query_id,doc_id,rater,grade\n" + "".join(f"{q},{d.strip()},ann,1\n" for q, d in rows))
    arguments = ("resolve", ratings, "--sample", sample, "--rest", rest_path)
    command_result = run(*arguments, "--format", "csv")
    result = command_result.out.splitlines()
    assert command_result.code == 0, command_result.err
    assert result[0] == "query_id,doc_id,grade,stratum,inclusion"
    # two of the three documents of query 1, and the only one of query 2
    assert sorted(row.split(",", 2)[2] for row in result[1:]) == [
        "-1,,",
        "1,1-2,0.6666666666666666",
        "1,1-2,0.6666666666666666",
        "1,1-2,1.0",
    ]
    assert run(*arguments).out.count("\n") == len(rows) + len(rest_path.read_text().splitlines())


def test_queries_by_frequency(run, runs, tmp_path):
    sizes = tmp_path / "sizes.csv"
    sizes.write_text("query_id,frequency\n1,99\n2,1\n")
    result = run("pool", *runs, "--queries", 1, "--query-sampling", "pps", "--sizes", sizes)
    assert {row.split(",")[0] for row in result.out.splitlines()[1:]} == {"1"}
    assert "0.99" in result.out


def test_what_cannot_be(run, runs):
    assert run("pool", *runs, "--strata", "many").code == 2
    result = run("pool", *runs, "--order", "influence")
    assert_refused(result, "missing-input")
    result = run("pool", *runs, "--queries", 1, "--query-sampling", "pps")
    assert_refused(result, "missing-input")


def test_reusability_in_every_form(run, runs, tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 =a 1\n1 0 c 1\n2 0 m 1\n")
    arguments = ("reusability", qrels, *runs, "-m", "RR@2", "--depth", 2)
    text = run(*arguments).out
    assert "mean loss" in text
    assert max(map(len, text.splitlines())) <= 80
    rows = json.loads(run(*arguments, "--format", "json").out)["runs"]
    # old: RR 1 of query 1; without =a nothing that it has is relevant
    assert (rows[0]["value"], rows[0]["without"]) == (1.0, 0.5)
    assert run(*arguments, "--format", "csv").out.startswith("run,metric,unique,unique_relevant")
    assert "| run" in run(*arguments, "--format", "markdown").out


def test_ratings_of_sheets_are_added_to_what_was_rated_before(run, tmp_path):
    """A file of ratings loses no rows; a repeated sheet adds only new ratings."""
    (tmp_path / "pool.csv").write_text("query,document\nq1,d1\nq1,d2\n")
    run("sheet", tmp_path / "pool.csv", "--raters", "ann", "-o", tmp_path / "ann.csv")
    earlier_rating = {
        "query_id": "q1",
        "doc_id": "d1",
        "rater": "zoe",
        "grade": 3.0,
        "at": "2026-01-01T00:00:00Z",
    }
    ratings_path = tmp_path / "ratings.jsonl"
    ratings_path.write_text(json.dumps(earlier_rating) + "\n")
    sheet = (tmp_path / "ann.csv").read_text(encoding="utf-8")

    def collected(grades):
        text = sheet
        for document, grade in grades.items():
            text = text.replace(f",{document},,", f",{document},{grade},")
        (tmp_path / "ann.csv").write_text(text, encoding="utf-8")
        result = run("collect", tmp_path / "ann.csv", "--pool", tmp_path / "pool.csv", "-o", ratings_path)
        assert result.code == 0
        rows = [json.loads(line) for line in ratings_path.read_text().splitlines()]
        assert rows[0] == earlier_rating
        return result.err, [(row["doc_id"], row["grade"]) for row in rows[1:]]

    result, rows = collected({"d1": 1})
    assert result.startswith("1 grade by 1 rater; 0 could not be graded\n")
    assert rows == [("d1", 1.0)]
    result, rows = collected({"d1": 1, "d2": 2})
    assert "added: 1; the others are in the file already" in result
    assert rows == [("d1", 1.0), ("d2", 2.0)]
    # a correction is a later row
    assert collected({"d1": 0, "d2": 2})[1] == [("d1", 1.0), ("d2", 2.0), ("d1", 0.0)]
    assert collected({"d1": 1, "d2": 2})[1][-1] == ("d1", 1.0)


@pytest.mark.parametrize(
    ("second", "code", "line"),
    [
        ('{"query_id": "q1", ', "invalid-json", 2),
        ('{"query_id": "q2", "doc_id": "a", "grade": {}}', "wrong-type", None),
    ],
)
def test_a_sheet_of_json_lines_that_cannot_be_read_is_refused(run, tmp_path, second, code, line):
    sheet = tmp_path / "ann.jsonl"
    sheet.write_text(f'{{"query_id": "q1", "doc_id": "a", "grade": 1}}\n{second}\n')
    assert_refused(run("collect", sheet), code, sheet, line)
