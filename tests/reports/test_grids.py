"""Grids as text, Markdown, LaTeX and CSV."""

import csv
import io
import subprocess

import pytest

from rankgate.core.present import csv_form, markup_tables, text_tables, write_results
from rankgate.core.present.document_model import Grid, make_printable

NASTY = ["a|b", "a\nb", "50 % & more", "x_y^z~{}\\", "#1 $2", "<b>", "日本", "\x1b[31mred", "*"]


def of(count, width=6):
    """A grid of one row and as many columns, each of a width."""
    header = tuple(f"{i:0>{width}}" for i in range(count))
    return Grid(("run", *header), (("bm25", *("0.5000" for _ in header)),))


def test_what_fits_stays_as_it_is():
    grid = of(9)
    assert text_tables.fit_table(grid) == text_tables.text_table(grid)
    assert len(text_tables.text_table(grid).split("\n")[0]) == 4 + 9 * (6 + 2)


def test_what_does_not_fit_is_turned():
    text = text_tables.fit_table(of(10)).split("\n")
    assert text[0] == "run       bm25"
    assert text[1] == "000000  0.5000"
    assert len(text) == 11


def test_what_does_not_fit_either_way_is_cut():
    rows = tuple((f"run{i}", *["0.5"] * 20) for i in range(20))
    text = text_tables.fit_table(Grid(("run", *(f"metric{i}" for i in range(20))), rows))
    pieces = text.split("\n\n")
    assert max(map(len, text.split("\n"))) <= 80
    assert [piece.split()[0] for piece in pieces] == ["run"] * len(pieces)
    heads = [word for piece in pieces for word in piece.split("\n")[0].split()[1:]]
    assert heads == [f"metric{i}" for i in range(20)]


def test_every_piece_keeps_what_says_of_what_its_rows_are():
    rows = tuple(("AP", f"one{i}", f"two{i}", *["0.5"] * 12) for i in range(20))
    header = ("metric", "first", "second", *(f"figure{i}" for i in range(12)))
    text = text_tables.fit_table(Grid(header, rows, frozenset({0, 1, 2}), keys=3))
    pieces = text.split("\n\n")
    assert len(pieces) > 1
    assert {tuple(piece.split("\n")[1].split()[:3]) for piece in pieces} == {("AP", "one0", "two0")}
    assert [word for piece in pieces for word in piece.split("\n")[0].split()[3:]] == [*header[3:]]


def test_a_head_that_breaks_at_a_stroke_is_one_word_when_turned():
    grid = Grid(("run", "won/tied/\nlost"), (("a", "1/2/3"),))
    assert grid.turned.rows[0][0] == "won/tied/lost"


def test_a_column_too_wide_stays_whole():
    grid = Grid(("run", "x" * 100, "y" * 100), (("a", "1", "2"), ("b", "1", "2")))
    assert text_tables.fit_table(grid).split("\n\n")[0].split("\n")[0] == f"run  {'x' * 100}"


def test_wide_signs_keep_the_columns_straight():
    text = text_tables.text_table(Grid(("run", "AP"), (("日本", "0.5"), ("e\u0301", "1.0"))))
    assert [text_tables.text_width(line) for line in text.split("\n")] == [9, 9, 9]


@pytest.mark.parametrize("word", NASTY)
def test_one_row_is_one_line_in_every_form(word):
    grid = Grid(("run", "AP"), ((word, "0.5"),))
    assert len(text_tables.text_table(grid).split("\n")) == 2
    assert len(markup_tables.markdown_table(grid).split("\n")) == 3
    assert len(markup_tables.latex_table(grid).split("\n")) == 7
    assert "\x1b" not in text_tables.text_table(grid) + markup_tables.markdown_table(
        grid
    ) + markup_tables.latex_table(grid)


@pytest.mark.parametrize("word", NASTY)
def test_a_cell_of_markdown_cannot_end_early(word):
    (row,) = markup_tables.markdown_table(Grid(("run", "AP"), ((word, "0.5"),))).split("\n")[2:]
    assert row.replace("\\|", "").count("|") == 3


def test_signs_of_latex_are_printed_as_they_are():
    assert markup_tables.escape_latex("50%_&#${}") == r"50\%\_\&\#\$\{\}"
    assert markup_tables.escape_latex("~^\\") == (r"\textasciitilde{}\textasciicircum{}\textbackslash{}")
    assert markup_tables.escape_latex("–") == "--"


def test_latex_prints_what_its_font_of_text_has_in_other_places():
    assert markup_tables.escape_latex("p <0.001 | >1") == "p $<$0.001 $|$ $>$1"
    assert markup_tables.escape_latex("[-0.05, +0.1]") == "[$-$0.05, +0.1]"
    assert markup_tables.escape_latex("run-2") == "run-2"


def test_a_row_of_latex_is_not_taken_by_the_end_of_the_row_above():
    rows = markup_tables.latex_table(Grid(("[run]", "AP"), (("[2cm]", "0.5"), ("*", "0.4")))).split("\n")
    assert [rows[2], *rows[4:6]] == [r"{}[run] & AP \\", r"{}[2cm] & 0.5 \\", r"{}* & 0.4 \\"]


@pytest.mark.tex
def test_latex_compiles_whatever_names_hold(tmp_path):
    words = [word for word in NASTY if word.isascii()]
    words += ["[2cm]", "<0.001", "-0.5", "`'\"", "é – → ✔ ✘ Δ ≥ ρ Φ … ᵃᵇ"]
    result = markup_tables.latex_table(Grid(("[name]", "AP"), tuple((word, "-0.5") for word in words)))
    (tmp_path / "result.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}"
        f"\n{result}\n"
        r"\end{document}",
        encoding="utf-8",
    )
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "result.tex"]
    process = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert process.returncode == 0, process.stdout[-1500:].decode(errors="replace")


@pytest.mark.parametrize("word", NASTY)
def test_csv_reads_back(word):
    text = csv_form.guarded_csv(("name", "value"), [(word, 0.1 + 0.2)])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["name", "value"],
        [word, "0.30000000000000004"],
    ]


def test_csv_leaves_undefined_empty():
    assert csv_form.guarded_csv(("a", "b"), [(None, float("nan"))]) == "a,b\n,\n"


def test_json_has_no_word_that_json_lacks():
    text = write_results.to_json({"a": [float("nan"), float("inf"), 1 / 3], "b": {"ä": None}})
    assert text == (
        '{\n  "a": [\n    null,\n    null,\n    0.3333333333333333\n  ],\n  "b": {\n    "ä": null\n  }\n}\n'
    )


def test_printable_keeps_plain_words():
    assert make_printable("q-1 Ü 日") == "q-1 Ü 日"


def test_heads_of_two_lines_are_one_where_there_is_room():
    grid = Grid(("run", "zero-\nresult", "unknown\nqueries"), ())
    assert grid.flat.head == ("run", "zero-result", "unknown queries")
