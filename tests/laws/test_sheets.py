"""Sheets keep all ids, and no program runs the contents of a cell."""

import csv
import io
import tempfile
from pathlib import Path

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from rankgate.core.errors import InputError
from rankgate.core.present.csv_form import guard_cell, unguard_cell
from rankgate.data.text import spreadsheet_cells
from rankgate.judging.rating_tasks import tasks_from_tables
from rankgate.judging.sheet_rows import make_sheet, read_filled_sheets

# no surrogates and no control characters but those of texts; line ends in ids are those of CSV
TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\t=+-@\"', ;_x0"),
    min_size=1,
    max_size=12,
)
POOLS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6, unique=True)


@given(TEXT)
def test_a_guarded_word_begins_like_no_formula_and_comes_back(word):
    assert guard_cell(word)[0] not in "=+-@\t\r"
    assert unguard_cell(guard_cell(word)) == word


@given(POOLS, st.sampled_from(["csv", "xlsx"]))
@example([(" =1", "_x0041_")], "xlsx")
@example([("1", "007"), ("1", "7")], "xlsx")
@example([('"', "a\tb")], "csv")
def test_ids_come_back(pairs, form):
    pool = pl.DataFrame(pairs, schema=["query_id", "doc_id"], orient="row")
    header, rows = make_sheet(tasks_from_tables(pool), "ann", "graded")
    for row in rows:
        row[header.index("grade")] = "2"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{form}"
        with path.open("wb") as out:
            if form == "csv":
                spreadsheet_cells.write_csv(header, rows, out)
            else:
                spreadsheet_cells.write_xlsx(header, rows, out, choices={"grade": ["0", "1", "2", "3"]})
        ratings, notes = read_filled_sheets([spreadsheet_cells.read(path)], pool=pool)
    assert ratings.table.select("query_id", "doc_id").rows() == pairs
    assert notes == ()


@given(POOLS, st.data())
def test_an_id_that_was_changed_is_always_found(pairs, data):
    pool = pl.DataFrame(pairs, schema=["query_id", "doc_id"], orient="row")
    header, rows = make_sheet(tasks_from_tables(pool), "ann", "graded")
    for row in rows:
        row[header.index("grade")] = "2"
    victim, column = data.draw(st.sampled_from(rows)), data.draw(st.sampled_from([1, 2]))
    changed = data.draw(TEXT.filter(lambda word: unguard_cell(word) != unguard_cell(victim[column])))
    victim[column] = changed
    text = io.BytesIO()
    spreadsheet_cells.write_csv(header, rows, text)
    cell_rows = list(csv.reader(io.StringIO(text.getvalue().decode("utf-8-sig"), newline="")))
    cells = spreadsheet_cells.Cells(
        "ann.csv",
        tuple(cell_rows[0]),
        tuple(
            spreadsheet_cells.CsvRow(i, dict(zip(cell_rows[0], row, strict=True)))
            for i, row in enumerate(cell_rows[1:], 2)
        ),
    )
    try:
        read_filled_sheets([cells], pool=pool)
    except InputError as error:
        assert error.line == rows.index(victim) + 2  # noqa: PT017 - the line is what matters
    else:
        raise AssertionError(changed)
