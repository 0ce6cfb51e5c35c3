"""Cells that begin like a formula: data are written as they are, tables for people are guarded."""

from __future__ import annotations

import pytest

QRELS = "query_id,doc_id,grade\n=cmd,@a,1\n=cmd,b,0\nq2,+c,1\n"
RUN = "query_id,doc_id,score\n=cmd,@a,2\n=cmd,z,1\nq2,+c,1\n"
RATINGS = "query_id,doc_id,rater,grade\n=cmd,@a,ann,1\n=cmd,@a,ben,1\nq2,+c,ann,1\n"
LOG = "user_id,item_id,timestamp\n=u,@a,1\n=u,b,2\n=u,c,3\nv,@a,1\nv,b,4\nv,c,5\n"
FILES = {
    "q.csv": QRELS,
    "r.csv": RUN,
    "ratings.csv": RATINGS,
    "other.csv": RUN.replace(",2", ",0"),
    "log.csv": LOG,
}
DATA = {
    "convert q.csv out.csv": "out.csv",
    "convert q.csv out.tsv": "out.tsv",
    "convert r.csv out.csv": "out.csv",
    "resolve ratings.csv --rule majority --format csv -o out.csv": "out.csv",
    "split log.csv --way leave-last --into parts": "parts/train.csv",
}
"""Commands that write data for programs, with the file."""
TABLES = [
    "eval q.csv r.csv -m RR --per-query --format csv",
    "compare q.csv r.csv other.csv -m RR --format csv",
    "holes q.csv r.csv other.csv -m RR@10 --format csv",
    "pool r.csv --depth 2 --format csv",
    "explain q.csv r.csv --query =cmd -m RR --format csv",
    "agree ratings.csv --format csv",
]
"""Commands whose CSV people open in spreadsheet programs."""


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", DATA)
def test_data_for_programs_are_as_they_were(files, run, command):
    result = run(*command.split())
    assert result.code == 0, result.err
    text = (files / DATA[command]).read_text()
    assert "=u" in text or "@a" in text
    assert " =" not in text
    assert " @" not in text


@pytest.mark.parametrize("command", TABLES)
@pytest.mark.usefixtures("files")
def test_tables_for_people_run_no_formula(run, command):
    result = run(*command.split())
    assert result.code in {0, 3}, result.err
    cells = [cell for line in result.out.splitlines() for cell in line.replace('"', "").split(",")]
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]
    assert [cell for cell in cells if cell.startswith((" =cmd", " @a"))] or command.startswith(
        ("compare", "agree")
    )


def test_a_pool_is_read_as_it_was(files, run):
    run("pool", "r.csv", "--depth", "2", "-o", "pool.csv")
    assert " =cmd" in (files / "pool.csv").read_text()
    result = run("sheet", "pool.csv", "--raters", "ann", "-o", "ann.csv")
    assert result.code == 0, result.err
    sheet = files / "ann.csv"
    assert " =cmd" in sheet.read_text()
    rows = [row.replace(",,", ",1,", 1) for row in sheet.read_text().splitlines()]
    sheet.write_text("\n".join(rows) + "\n")
    collected = run("collect", "ann.csv", "-o", "ratings.csv")
    assert "=cmd" in (files / "ratings.csv").read_text(), collected.err
    assert " =cmd" not in (files / "ratings.csv").read_text()


def test_a_guarded_table_of_others_is_named_with_the_option(files, run):
    (files / "guarded.csv").write_text(QRELS.replace("=cmd", " =cmd"))
    text = " ".join(run("eval", "guarded.csv", "r.csv", "-m", "RR").out.split())
    assert "' =cmd' and '=cmd'; match them with --ids trim" in text
