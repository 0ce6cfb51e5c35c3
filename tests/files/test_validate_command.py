"""``rankgate validate`` and ``rankgate describe``, as a person calls them."""

import json

import pytest

from rankgate.data.files.checks import CHECKS
from support.command import assert_refused


@pytest.fixture
def wrong(tmp_path):
    """Judgments with two errors and a note."""
    path = tmp_path / "wrong.qrels"
    path.write_text("1 0 a 1\n1 0 a 2\n1 0 b nan\n1 0 c -1\n")
    return path


def test_errors_exit_with_2_and_all_are_reported(run, wrong):
    result = run("validate", wrong)
    assert result.code == 2
    assert not result.err
    assert result.out == (
        "2 errors, 1 note\n\n"
        f"{wrong}: read as trec, 4 judgments\n"
        "error  line 2: 1 row judging a document again for the same query, 1 document\n"
        "         with another grade [judged-twice]\n"
        "       example: query 1, document a\n"
        "       fix: remove all but one of them; rankgate resolve does that for ratings\n"
        "         of several people\n"
        "error  line 3: 1 row with a grade that is not a finite number (nan) [no-grade]\n"
        "       example: query 1, document b\n"
        "       fix: write a number such as 2, or leave the row out where there is no\n"
        "         grade\n"
        "note   line 4: 1 negative grade (-1): in the pool, never relevant; tools differ\n"
        "         over whether such a document is judged [negative-grade]\n"
        "       fix: make sure that they mean spam or unjudged, and are not part of the\n"
        "         scale\n"
    )


def test_warnings_exit_with_0(run, small):
    qrels, ranking = small
    result = run("validate", ranking, "--against", qrels)
    assert result.code == 0
    assert "[queries-in-common]" in result.out
    assert "1 of 4 of the run are not in the judgments" in " ".join(result.out.split())
    assert "without a document of a positive grade" in result.out.replace("\n", " ").replace("  ", "")
    assert result.out.startswith("2 warnings, 1 note\n")
    assert max(len(line) for line in result.out.splitlines() if line[0:1] != "/") <= 80


def test_nothing_wrong(run, tmp_path):
    path = tmp_path / "q.qrels"
    path.write_text("1 0 a 1\n1 0 b 0\n")
    assert run("validate", path).out == (
        f"no errors, warnings or notes\n\n{path}: read as trec, 2 judgments\n  no problems found\n"
    )


def test_for_programs(run, wrong):
    outcome = run("validate", wrong, "--format", "json")
    assert outcome.code == 2
    result = json.loads(outcome.out)
    assert result["schema_version"] == 1
    assert result["valid"] is False
    assert result["counts"] == {"error": 2, "warning": 0, "note": 1}
    assert result["files"][0]["format"] == "trec"
    assert result["problems"][0] == {
        "check": "judged-twice",
        "severity": "error",
        "file": str(wrong),
        "line": 2,
        "what": "1 row judging a document again for the same query, 1 document with another grade",
        "count": 1,
        "example": "query 1, document a",
        "fix": "remove all but one of them; rankgate resolve does that for ratings of several people",
    }


def test_for_pages(run, wrong):
    title, _, heading, *page = run("validate", wrong, "--format", "markdown").out.splitlines()
    assert title == "2 errors, 1 note"
    assert heading.startswith("### ")
    assert page[3].startswith("| error | line 2: 1 row judging a document again")


@pytest.mark.parametrize("content", [b"\x00\x01\x02\x03" * 99, b"", b"{", b"1 0 \xff 1\n", b"x,y\n1"])
def test_what_cannot_be_read_is_an_error_in_the_list(run, tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    result = run("validate", path, "--format", "json")
    assert result.code == 2
    assert json.loads(result.out)["problems"][0]["check"] == "unreadable"


def test_no_such_file_among_others(run, small, tmp_path):
    result = run("validate", small[0], tmp_path / "none", small[1])
    assert result.code == 2
    assert "no such file; check the path [unreadable]" in result.out
    assert "bm25.run: read as trec, 8 ranked documents" in result.out


def test_judgments_are_needed_to_hold_against(run, small):
    result = run("validate", small[1], "--against", small[1])
    assert result.code == 2
    assert "it has no judgments to compare the others with" in result.out


def test_the_list_has_every_check(run):
    _, _, table = run("validate", "--list").out.partition("finds\n")
    assert [check.name for check in CHECKS] == [
        line.split()[0] for line in table.splitlines() if line[0] != " "
    ]
    checks = json.loads(run("validate", "--list", "--format", "json").out)["checks"]
    assert checks[0] == {
        "name": "byte-order-mark",
        "severity": "note",
        "needs": "bytes",
        "title": "The file begins with a byte order mark.",
    }


def test_something_is_needed(run):
    assert_refused(run("validate"), "missing-input")


def test_standard_input_and_format(run):
    result = run("validate", "-", stdin=b"1 0 a 1\n1 0 a 1\n")
    assert "standard input: read as trec, 2 judgments" in result.out
    result = run("validate", "-", "--from", "csv", stdin=b"1 0 a 1\n")
    assert result.code == 2
    assert "nFDG" not in run("validate", "-", "--from", "nFDG", stdin=b"1").out


def test_three_columns_may_be_said_to_be_a_run(run):
    lines = b"1 a 3\n1 b 2\n"
    assert "2 judgments" in run("validate", "-", stdin=lines).out
    assert "2 ranked documents" in run("validate", "-", "--as", "run", stdin=lines).out


def test_describe(run, small, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")  # paths of any length
    qrels, ranking = small
    result = run("describe", qrels, ranking, "-k", "2")
    assert result.code == 0
    out = result.out
    assert "judgments  7 of 5 documents for 4 queries; a query has 1 to 3, the middle" in out
    assert "grades     0: 2, 1: 3, 2: 1, 3: 1; queries without a positive grade: 1" in out
    assert "8 rows of 7 documents for 4 queries" in out
    assert "2 to 9; rows tied with the one above: 1" in out
    # of two places, query 1 has a (and u, tied with b), 2 has x (and y), 3 has z and nothing more
    assert "bm25  small            3     66.7%" in out
    assert "in common" in out  # the head is in one line or two, by the length of the paths


def test_describe_for_programs(run, small):
    result = json.loads(run("describe", *small, "--format", "json").out)
    assert result["schema_version"] == 1
    first, second = result["files"]
    assert first["judgments"]["grades"] == [[0.0, 2], [1.0, 3], [2.0, 1], [3.0, 1]]
    assert second["runs"][0]["tag"] == "bm25"
    assert result["overlaps"][0]["queries"] == [4, 4, 3]
    assert result["overlaps"][0]["documents"] == [5, 7, 5]
    assert len(first["sha256"]) == len(first["judgments"]["sha256"]) == 64
    page = run("describe", *small, "--format", "markdown").out
    assert page.count("### ") == 2
    assert "| file | and file |" in page


def test_describe_stops_at_what_cannot_be_read(run, wrong):
    assert_refused(run("describe", wrong), "not-a-number", wrong, 3)
