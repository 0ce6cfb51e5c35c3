"""Checks of long files, of several files and of tables; others have samples in tests/door."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.data import read_qrels
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.files.checks import CHECKS
from rankgate.data.files.validate import make_checklist, validate
from rankgate.data.qrels import Ratings, Scale

CSV = "query_id,doc_id,grade\n"
RUN = "1 Q0 a 1 9 x\n1 Q0 b 2 8 x\n"
QRELS = "1 0 a 1\n1 0 b 0\n"


def qrels(*grades, query="1"):
    """Judgments of one query, a line a grade."""
    return "".join(f"{query} 0 d{i} {grade}\n" for i, grade in enumerate(grades))


def ranked(*scores, query="1"):
    """The list of one query, a line a score."""
    return "".join(f"{query} Q0 d{i} {i + 1} {score} x\n" for i, score in enumerate(scores))


def numbered(name, rule):
    """Twelve queries, each with its own two documents, under other numbers."""
    return "".join(name(rule(q), f"d{q}.{i}", i) for q in range(1, 13) for i in (1, 2))


def a_judgment(query, doc, _):
    return f"{query} 0 {doc} 1\n"


def a_row(query, doc, i):
    return f"{query} Q0 {doc} {i} {9 - i} x\n"


def against_the_grades(best):
    """Twelve queries with lists of grades 0, 1, 2 from the top, or in reverse order."""
    order = [0, 1, 2] if best == "last" else [2, 1, 0]
    judged = [f"{q} 0 d{i} {order[i]}\n" for q in range(12) for i in range(3)]
    lists = [f"{q} Q0 d{i} {i + 1} {9 - i} x\n" for q in range(12) for i in range(3)]
    return "".join(lists), "".join(judged)


def drawn(seeds):
    """A query a seed, with thirty grades drawn by it."""
    return "".join(
        f"{query} 0 d{query}.{i} {grade}\n"
        for query, seed in enumerate(seeds)
        for i, grade in enumerate(random.Random(seed).choices([0, 1, 2], k=30))
    )


OF_LONG_FILES = [
    # check, a run, judgments or a file with the fault, and without it, (severity, line, count) of the finding
    ("stray-grade", None, qrels(*[0, 1] * 60, 3), qrels(*[0, 1] * 60, 2), ("warning", 121, 1)),
    ("copied-grades", None, drawn([1, 2, 3, 2]), drawn([1, 2, 3, 4]), ("note", 91, 2)),
    (
        "numbering",
        numbered(a_row, lambda q: q + 1),
        numbered(a_judgment, lambda q: q),
        numbered(a_judgment, lambda q: q + 1),
        ("warning", None, 12),
    ),
    (
        "grades-against-ranks",
        against_the_grades("last")[0],
        against_the_grades("last")[1],
        against_the_grades("first")[1],
        ("warning", None, 12),
    ),
]


@pytest.fixture
def found(tmp_path):
    """What is found in some texts, by the name of the check."""

    def look(text, against=None, **options):
        paths = []
        for name, content in (("file", text), ("against", against)):
            if content is not None:
                paths.append(tmp_path / name)
                paths[-1].write_bytes(content.encode())
        result = validate(*paths, **options)
        return {problem.check: problem for problem in reversed(result.problems)}

    return look


@pytest.mark.parametrize("case", OF_LONG_FILES, ids=lambda case: case[0])
def test_a_check_of_long_files(found, case):
    name, run, bad, good, expected = case
    faulty, clean = ((bad,), (good,)) if run is None else ((run, bad), (run, good))
    assert name not in found(*clean)
    problem = found(*faulty)[name]
    assert (problem.severity, problem.line, problem.count) == expected
    assert problem.what


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("a1 ", "a1"),
        ("'=x", "=x"),
        ("A1", "a1"),
        ("cafe\u0301", "caf\u00e9"),
        ("7.0", "7"),
        ("MED-010", "MED-10"),
    ],
)
def test_ids_in_other_spellings(found, ours, theirs):
    """Blanks, guards, case, Unicode, numbers that went through a float, zeros."""
    run = f"query_id,doc_id,score\n1,{theirs},2\n1,b,1\n"
    result = found(run, f'{CSV}1,"{ours}",1\n1,b,1\n')["documents-spelled"]
    assert result.example == f"{ours!r} in the judgments, {theirs!r} in the run"


def test_runs_among_each_other(tmp_path):
    texts = {"deep": ranked(3, 2, 1) + ranked(3, 2, 1, query=2), "flat": ranked(3, 2)}
    paths = []
    for name, text in texts.items():
        paths.append(tmp_path / name)
        paths[-1].write_text(text)
    result = {problem.check: problem for problem in validate(paths).problems}
    assert "flat at 2, deep at 3" in result["depths"].what
    assert result["run-queries"].example == "flat lacks query 2"
    assert not validate([paths[0], paths[0]]).problems


def test_a_file_of_queries(found):
    """As many queries as judged queries: numbered consecutively in only one of the files."""
    judged = "".join(f"{q} 0 d 1\n{q} 0 e 0\n" for q in (1, 2, 3))
    result = found("query_id,text\n1,a\n2,b\n4,c\n", judged)["query-file"]
    assert "numbered differently" in result.what
    assert "3 = 4" in result.fix
    result = found("query_id,text\n1,a\n2,b\n", judged)["query-file"]
    assert "numbered differently" not in result.what
    assert "query-file" not in found("query_id,text\n1,a\n2,b\n3,c\n", judged)


def test_the_scale_of_grades(found):
    result = found(qrels(0, 3, 4), scale="0..3")["outside-scale"]
    assert (result.severity, result.line, result.count) == ("error", 3, 1)
    assert "outside-scale" not in found(qrels(0, 3), scale="0..3")
    assert found(qrels(0, 2), scale="0,1,10,100")["outside-scale"].line == 2


def rated(*rows, scale=None):
    names = ["query_id", "doc_id", "rater", "grade"]
    return FileContents(ratings=Ratings(pl.DataFrame(rows, names, orient="row"), scale=scale))


OF_RATINGS = [
    (
        "copied-ratings",
        rated(*((f"q{i}", "d", rater, i % 3) for i in range(20) for rater in "ab")),
        rated(*((f"q{i}", "d", r, i % 3 + (r == "b" and i == 7)) for i in range(20) for r in "ab")),
        20,
    ),
    (
        "rated-again",
        rated(("q", "d", "a", 1), ("q", "d", "a", 2)),
        rated(("q", "d", "a", 1), ("q", "d", "b", 2)),
        1,
    ),
    ("rating-without-grade", rated(("q", "d", "a", None)), rated(("q", "d", "a", 0)), 1),
    (
        "rating-outside",
        rated(("q", "d", "a", 4), scale=Scale(0, 3)),
        rated(("q", "d", "a", 3), scale=Scale(0, 3)),
        1,
    ),
    ("rated-only", FileContents(notes=(Note("documents that are rated only", 2),)), FileContents(), 2),
    ("seen", FileContents(notes=(Note("doublets", 3, ("x",)),)), FileContents(), 3),
]


@pytest.mark.parametrize(("name", "bad", "good", "count"), OF_RATINGS)
def test_ratings_and_what_readers_saw(name, bad, good, count):
    assert name not in {problem.check for problem in validate(good).problems}
    assert {problem.check: problem.count for problem in validate(bad).problems}[name] == count


def test_every_check_is_tested():
    """Here, or by a sample."""
    samples = tomllib.loads((Path(__file__).parents[1] / "door" / "checks.toml").read_text("utf-8"))
    sampled = {sample["finds"][0] for name, sample in samples.items() if name != "*"}
    here = {case[0] for case in [*OF_LONG_FILES, *OF_RATINGS]}
    here |= {check.name for check in CHECKS if check.needs == "golden"}  # test_golden_set.py
    assert sampled | here | {"depths", "run-queries", "query-file", "outside-scale"} == {
        check.name for check in CHECKS
    }
    assert len(CHECKS) == len({check.name for check in CHECKS})


def test_a_clean_pair_has_nothing_to_tell(found):
    assert not found(RUN, QRELS)


def test_checks_say_what_they_look_for():
    checks = make_checklist().checks
    assert len(checks) > 30
    for check in checks:
        assert check.title.endswith("."), check.name


def test_subtopics_are_seen_in_what_stands_twice(found):
    result = found("1 1 a 1\n1 2 a 1\n1 1 b 0\n", from_="trec")["judged-twice"]
    assert "subtopic" in result.fix
    result = found("1 1 a 1\n1 2 a 1\n1 1 a 0\n", from_="trec-subtopics")["unreadable"]
    assert result.line == 3


def test_rows_of_a_query_may_stand_apart(found):
    run_text = "1 Q0 a 1 9 x\n2 Q0 a 1 9 x\n1 Q0 b 2 8 x\n2 Q0 b 2 9.5 x\n"
    result = found(run_text)["rank-order"]
    assert (result.line, result.count) == (4, 1)
    ties = found("1 Q0 a 1 9 x\n2 Q0 a 1 9 x\n1 Q0 b 2 8 x\n1 Q0 c 3 9 x\n2 Q0 b 2 8 x\n")["ties"]
    assert (ties.line, ties.count) == (4, 1)


@pytest.mark.parametrize("kind", ["parquet", "ipc", "ndjson"])
def test_columns_have_ranks_too(tmp_path, kind):
    """Rows of files without lines are named by their number."""
    rows = [("1", "a", 1, 1.0), ("1", "b", 2, 2.0), ("1", "b", 3, 0.5)]
    path = tmp_path / "run"
    table = pl.DataFrame(rows, ["query_id", "doc_id", "rank", "score"], orient="row")
    getattr(table, f"write_{kind}")(path)
    result = {problem.check: problem for problem in validate(path).problems}
    assert {"ranked-twice", "rank-order"} <= set(result)
    line, row = (3, "") if kind == "ndjson" else (None, " (row 3)")
    assert result["ranked-twice"].line == line
    assert result["ranked-twice"].example == f"query 1, document b{row}"


def test_a_grade_is_missing_in_columns(tmp_path):
    path = tmp_path / "qrels"
    rows = [("1", "a", 1), ("1", "b", None), ("1", "a", 2)]
    table = pl.DataFrame(rows, ["query_id", "doc_id", "grade"], orient="row")
    table.write_parquet(path)
    result = {problem.check: problem.severity for problem in validate(path).problems}
    assert result == {"judged-twice": "error", "unrated": "note"}


def test_bytes_that_are_no_text_have_no_line_ends(tmp_path):
    path = tmp_path / "qrels"
    ids = [f"\r\n{i}" for i in range(99)]
    pl.DataFrame({"query_id": ids, "doc_id": ids, "grade": [1, 0, 2] * 33}).write_parquet(path)
    result = {problem.check for problem in validate(path).problems}
    assert result == {"without-positive"}


def test_gains_beyond_all_numbers(found):
    assert "too large" in found(qrels(0, 2000))["huge-grade"].what
    assert "1.3e+30" in found(qrels(0, 100))["huge-grade"].what


def test_a_frame_with_a_grade_that_is_no_number():
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "e"], "grade": ["x", "1"]})
    (problem,) = [problem for problem in validate(frame).problems if problem.severity == "error"]
    assert (problem.check, problem.count) == ("no-grade", 1)


@pytest.mark.parametrize(
    "wrong", ["1,c,\r1\n", "1,c\n", '1,"c"x,1,\n', "1,c,\xff\n"], ids=["return", "few", "many", "bytes"]
)
def test_what_a_reader_refuses_is_an_error_here(tmp_path, wrong):
    """The rows with defects come from the reader itself, so that the two cannot differ."""
    file = tmp_path / "j.csv"
    file.write_bytes(f"{CSV}1,a,1\n1,b,0\n{wrong}".encode("latin1"))
    with pytest.raises(InputError) as refused:
        read_qrels(file)
    problems = validate([file]).problems
    assert [(problem.check, problem.line) for problem in problems] == [("unreadable", refused.value.line)]
