"""Sheets out and back: what people and spreadsheet programs do to them is found by line."""

import csv
from collections import Counter
from datetime import datetime
from itertools import combinations

import polars as pl
import pytest
from openpyxl import Workbook, load_workbook

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.judging.rating_tasks import pool_table
from rankgate.judging.resolution.resolve import resolve
from rankgate.judging.sheets import collect, sheets
from support.wording import raises

IDS = ["a", "007", "=1+1", "3-4", " -x", "1E5"]
POOL = pl.DataFrame({"query_id": ["q"] * len(IDS), "doc_id": IDS})


@pytest.fixture
def sheet(tmp_path):
    """Make a sheet, change its rows by document, and give its path back."""

    def make(change, drop=(), name="ann.csv", scale="graded"):
        path = tmp_path / name
        sheets(POOL, [name.split(".")[0]], scale=scale).write(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            change(row)
        header = [column for column in rows[0] if column not in drop]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, header, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return path

    return make


def graded(row):
    row["grade"] = "2"


def line_of(place, document):
    with place.open(encoding="utf-8", newline="") as file:
        return next(i for i, row in enumerate(csv.DictReader(file), 2) if row["document"] == document)


def on(document, /, **cells):
    """Fill every row, and one of them otherwise."""

    def change(row):
        is_target = row["document"] == document
        graded(row)
        if is_target:
            row.update({name.replace("_", " "): cell for name, cell in cells.items()})

    return change


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_out_and_back(tmp_path, form):
    result = sheets(POOL, ["ann"], guideline="v2")
    (path,) = result.write(tmp_path / f"ann.{form}", form)
    assert path.read_bytes() == result.write(tmp_path / f"again.{form}", form)[0].read_bytes()
    if form == "csv":
        text = path.read_text(encoding="utf-8-sig")
        assert not any(cell[:1] in "=+-@" for row in csv.reader(text.splitlines()) for cell in row if cell)
        path.write_text(text.replace(",,,,ann", ",2,,fine,ann"), encoding="utf-8")
    else:
        book = load_workbook(path)
        page = book.active
        assert page.data_validations.dataValidation[0].formula1 == '"0,1,2,3"'
        for row in range(2, len(IDS) + 2):
            assert page.cell(row, 3).data_type == "s"
            page.cell(row, 4).value, page.cell(row, 6).value = 2, "fine"
        book.save(path)
    collected = collect([path], pool=POOL)
    assert sorted(collected.table["doc_id"].to_list()) == sorted(IDS)
    assert collected.table.select("rater", "grade", "comment", "guideline").unique().rows() == [
        ("ann", 2.0, "fine", "v2")
    ]
    assert collected.notes == ()


def test_nothing_in_a_sheet_says_what_systems_made_of_a_document():
    header, rows = sheets(POOL.with_columns(why=pl.lit("rank 1"), best_rank=1), ["ann"]).tables["ann"]
    assert header == [
        "check",
        "query",
        "document",
        "grade",
        "cannot tell",
        "comment",
        "rater",
        "scale",
        "guideline",
    ]
    assert not any("rank" in cell for row in rows for cell in row)


def test_texts_of_queries_and_documents():
    queries = pl.DataFrame({"query_id": ["q"], "text": ["=HYPERLINK(1)"]})
    documents = pl.DataFrame({"doc_id": IDS, "title": [f"Title {i}" for i in IDS], "grade": "x"})
    header, rows = sheets(POOL, ["ann"], queries=queries, documents=documents).tables["ann"]
    assert header[3:6] == ["query text", "title", "grade of document"]
    assert {row[3] for row in rows} == {" =HYPERLINK(1)"}
    with raises("missing-text", InputError):
        sheets(POOL, ["ann"], documents=documents.filter(pl.col("doc_id") == "a"))


def test_everybody_gets_as_much_and_every_two_meet():
    pool = pl.DataFrame({"query_id": "q", "doc_id": [f"d{i}" for i in range(100)]})
    result = sheets(pool, ["a", "b", "c"], overlap=0.3, seed=4)
    loads = [len(rows) for _, rows in result.tables.values()]
    assert sum(loads) == 130
    assert max(loads) - min(loads) <= 1
    assert result.doubled == 30
    has = {name: {row[2] for row in rows} for name, (_, rows) in result.tables.items()}
    assert set().union(*has.values()) == set(pool["doc_id"])
    assert all(len(has[x] & has[y]) >= 5 for x, y in combinations(has, 2))
    orders = [[row[2] for row in rows] for _, rows in result.tables.values()]
    assert all(order != sorted(order) for order in orders)
    repeated = sheets(pool, ["a", "b", "c"], overlap=0.3, seed=4)
    assert repeated == result
    assert Counter(len(documents) for documents in has.values()).total() == 3


@pytest.mark.parametrize(
    ("raters", "options", "code"),
    [
        (["a", "a"], {}, "duplicate-name"),
        (["a"], {"overlap": 0.1}, "out-of-range"),
        (["a", "b"], {"per_document": 3}, "out-of-range"),
        (["a"], {"scale": "many"}, "unknown-scale"),
    ],
)
def test_raters_that_cannot_be(raters, options, code):
    with raises(code, UsageError):
        sheets(POOL, raters, **options)


def test_a_name_that_no_file_can_have(tmp_path):
    with raises("invalid-name", UsageError):
        sheets(POOL, ["../x", "y"]).write(tmp_path / "out")


def test_places_where_no_sheet_can_be(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "folder"):
        with raises("cannot-write", UsageError):
            sheets(POOL, ["x", "y"]).write(path)


def test_a_text_that_no_cell_can_hold_is_cut_and_not_lost(tmp_path):
    documents = pl.DataFrame({"doc_id": IDS, "body": "word " * 10_000})
    result = sheets(POOL, ["ann"], documents=documents, scale="0..2")
    (path,) = result.write(tmp_path / "ann.xlsx", "xlsx")
    page = load_workbook(path).active
    assert page.cell(2, 4).value.endswith(" […]")
    assert page.data_validations.dataValidation[0].formula1 == '"0,1,2"'
    long = sheets(POOL, ["ann"], scale=",".join(map(str, range(200))))
    (path,) = long.write(tmp_path / "long.xlsx", "xlsx")
    assert not load_workbook(path).active.data_validations.dataValidation


def test_a_half_filled_sheet_is_unrated_not_0(sheet):
    def change(row):
        row["grade"] = "0" if row["document"] == "a" else " "

    collected = collect([sheet(change)], pool=POOL)
    assert collected.table.select("doc_id", "grade").rows() == [("a", 0.0)]
    assert [(note.what.split(",")[0], note.count) for note in collected.notes] == [
        ("rows without a grade", 5),
        ("documents of the pool without a rating", 5),
    ]


def test_cannot_tell_has_its_reason(sheet):
    collected = collect([sheet(on("a", grade="", cannot_tell="page is gone"))], pool=POOL)
    row = collected.table.filter(pl.col("doc_id") == "a").row(0, named=True)
    assert (row["grade"], row["reason"]) == (None, "page is gone")


@pytest.mark.parametrize(
    ("document", "cells", "code"),
    [
        ("3-4", {"document": "04.Mrz"}, "invalid-sheet"),
        ("3-4", {"document": "2026-03-04 00:00:00"}, "invalid-sheet"),
        ("007", {"document": "7"}, "invalid-sheet"),
        ("1E5", {"document": "1E+05"}, "invalid-sheet"),
        ("a", {"document": "b"}, "invalid-sheet"),
        ("a", {"document": ""}, "invalid-sheet"),
        ("a", {"check": "", "document": "new"}, "invalid-sheet"),
        ("a", {"grade": "good"}, "invalid-sheet"),
        ("a", {"grade": "1,5"}, "invalid-sheet"),
        ("a", {"grade": "nan"}, "invalid-sheet"),
        ("a", {"grade": "5"}, "invalid-sheet"),
        ("a", {"grade": "1.5"}, "invalid-sheet"),
        ("a", {"cannot_tell": "?"}, "invalid-sheet"),
        ("a", {"rater": ""}, "invalid-sheet"),
        ("a", {"scale": "detail"}, "mixed-scales"),
    ],
)
def test_what_came_back_wrong(sheet, document, cells, code):
    path = sheet(on(document, **cells))
    with raises(code, InputError) as caught:
        collect([path], pool=POOL)
    assert caught.value.line
    if "document" not in cells and "scale" not in cells:
        assert caught.value.line == line_of(path, document)


def test_without_the_pool_the_check_still_finds_a_changed_id(sheet):
    with raises("invalid-sheet", InputError):
        collect([sheet(on("007", document="7"))])
    collected = collect([sheet(graded, drop=("check",))])
    assert collected.notes[0].what.startswith("sheets without a column check")


def test_one_rater_twice(sheet):
    first, second = sheet(graded), sheet(graded, name="more.csv")
    with raises("invalid-sheet", InputError):
        collect([first, second], pool=POOL, rater="ann")
    duplicate = first.with_name("again.csv")
    duplicate.write_bytes(first.read_bytes())
    with raises("duplicate-document", DuplicateError):
        collect([first, duplicate], pool=POOL)
    assert len(collect([first, second], pool=POOL).table) == 2 * len(IDS)


def test_another_scale(sheet):
    path = sheet(on("a", grade="7"), scale="detail")
    assert 7.0 in collect([path]).table["grade"].to_list()
    with raises("invalid-sheet", InputError):
        collect([path], scale="binary")


def test_a_program_made_a_date_of_an_id(tmp_path):
    """What a spreadsheet program keeps when a CSV of ours is opened and saved as XLSX."""
    path = tmp_path / "ann.xlsx"
    (header, rows) = sheets(POOL, ["ann"]).tables["ann"]
    book = Workbook()
    book.active.append(header)
    for row in rows:
        if row[2] == "3-4":
            row[2] = datetime(2026, 3, 4)  # noqa: DTZ001 - as such programs have it
        book.active.append(row)
    book.save(path)
    with raises("invalid-sheet", InputError):
        collect([path], pool=POOL)


def test_semicolons_and_damaged_files(tmp_path, sheet):
    path = sheet(graded)
    text = path.read_text().replace(",", ";")
    path.write_text(text)
    assert len(collect([path], pool=POOL).table) == len(IDS)
    (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04 broken")
    with raises("invalid-syntax", InputError):
        collect([tmp_path / "bad.xlsx"])
    (tmp_path / "bytes.csv").write_bytes(b"query,document,grade\nq,\x81,1\n")
    with raises("not-utf8", InputError, line=2):
        collect([tmp_path / "bytes.csv"])
    (tmp_path / "head.csv").write_text("query,doc\n1,2\n")
    with raises("missing-column", InputError, line=1):
        collect([tmp_path / "head.csv"])


def test_pools_that_are_none(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("query,document\nq,a\nq,b\nq,a\n")
    with raises("duplicate-document", DuplicateError, line=4):
        pool_table(path)
    path.write_text("query,document,batch\nq,a,first\n")
    with raises("not-a-whole-number", InputError):
        pool_table(path)
    path.write_text("query,document\n")
    with raises("nothing-to-rate", InputError):
        pool_table(path)


def test_an_adjudicator_sees_what_others_said_and_nobody_else_does(tmp_path):
    """Majority: open pairs go to a third person, and no judgment is lost."""
    rows = [
        ("q", f"d{i}", rater, grade, note)
        for i in range(4)
        for rater, grade, note in (("ann", 2, "=off topic"), ("bob", 2 if i < 2 else i % 2, None))
    ]
    names = ["query_id", "doc_id", "rater", "grade", "comment"]
    ratings = pl.DataFrame(rows, schema=names, orient="row")
    resolved = resolve(ratings)
    assert resolved.unresolved["doc_id"].to_list() == ["d2", "d3"]
    sheet_set = sheets(resolved.unresolved, ["cyd"], show=ratings)
    header, cells_ = sheet_set.tables["cyd"]
    shown_grades = {row[header.index("document")]: row[header.index("others' grades")] for row in cells_}
    assert shown_grades == {"d2": "0, 2", "d3": "1, 2"}
    assert {row[header.index("others' comments")] for row in cells_} == {"2: =off topic"}
    assert "others' grades" not in sheets(resolved.unresolved, ["cyd"]).tables["cyd"][0]
    for row in cells_:
        row[header.index("grade")] = "1"
    (path,) = sheet_set.write(tmp_path / "cyd.csv")
    third = collect([path], pool=resolved.unresolved).table
    all_ratings = pl.concat([ratings, third.select(names)], how="vertical_relaxed")
    final = resolve(all_ratings, "adjudicated", {"adjudicator": "cyd"})
    assert final.qrels.table["grade"].to_list() == [2, 2, 1, 1]
    assert final.unresolved.is_empty()
    assert (final.counts["adjudicated"], final.counts["pairs"]) == (2, 4)
