"""Parts of documents that results declare."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Entries, Entry, Points
from rankgate.core.present.layout import CrossView, FactList, Lines, Sentence, View, fill, sentences

_VALUES = Columns(
    "One row per metric.",
    Column("metric", pl.String, "its name"),
    Column("tau", pl.Float64, "the correlation", ".2f", header="τ"),
    Column("low", pl.Float64, "the low end", "+.2f"),
    Column("high", pl.Float64, "the high end", "+.2f"),
)
_COUNTS = Columns(
    "One row per pair of grades.",
    Column("first", pl.Float64, "a grade", "grade"),
    Column("second", pl.Float64, "a grade", "grade"),
    Column("n", pl.Int64, "how often"),
)


def blocks(part, **attributes):
    return list(part.blocks(SimpleNamespace(SCHEMAS={}, **attributes)))


def test_a_view_shows_a_frame_of_a_field_by_the_declaration_of_its_class():
    table = pl.DataFrame([("AP", 0.5, 0.25, None), ("RR", None, None, None)], _VALUES, orient="row")
    figures = SimpleNamespace(SCHEMAS={"values": _VALUES}, values=table)
    (shown,) = blocks(View("figures.values", cells=("metric", "tau")), figures=figures)
    assert shown.grid.head == ("metric", "τ")
    assert shown.grid.rows == (("AP", "0.50"), ("RR", "–"))
    assert blocks(View("figures.values"), figures=None) == []


def test_a_value_and_its_interval_share_a_cell():
    table = pl.DataFrame([("AP", 0.5, 0.25, 0.75), ("RR", 1.0, None, None)], _VALUES, orient="row")
    (shown,) = blocks(View("values", cells=(("tau", " ", ("low", "high")),), columns=_VALUES), values=table)
    assert shown.grid.head == ("τ",)
    assert shown.grid.rows == (("0.50 [+0.25, +0.75]",), ("1.00",))


def test_a_view_shows_records_with_their_properties_or_all_fields_without_a_declaration():
    record = SimpleNamespace(name="a", n=1200)
    (declared,) = blocks(View("files", columns=Columns("", Column("n", pl.Int64, ""))), files=(record,))
    assert declared.grid.rows == (("1,200",),)
    (plain,) = blocks(View("files"), files=(record,))
    assert plain.grid.head == ("name", "n")
    assert plain.grid.rows == (("a", "1,200"),)
    assert plain.grid.left == {0}
    assert blocks(View("files", cells=("n",)), files=()) == []


def test_a_view_without_a_source_shows_the_main_table():
    table = pl.DataFrame({"name": ["a", None]})
    (shown,) = blocks(View(), to_polars=lambda: table)
    assert shown.grid.rows == (("a",), ("",))


def test_numbers_across_a_table_are_in_their_order_and_cells_without_a_row_have_a_text():
    table = pl.DataFrame([(0.0, 2.0, 3), (1.0, 0.0, 4)], _COUNTS, orient="row")
    part = CrossView("n", "", ("first",), column_key="second", value="n", columns=_COUNTS, empty="0")
    (shown,) = blocks(part, n=table)
    assert shown.grid.head == ("first", "0", "2")
    assert shown.grid.rows == (("0", "0", "3"), ("1", "4", "0"))


def test_a_list_of_facts_leaves_out_those_without_a_text():
    part = FactList(
        (
            ("pairs", "{n:,}"),
            ("cost", Sentence("{cost:.2f}", "cost")),
            ("lost", Lines("losses")),
            ("", "{note}"),
        )
    )
    entry = Entry("pairs", ("1,200",))
    assert blocks(part, n=1200, cost=None, note="", losses=()) == [Entries((entry,))]
    lost = Entry("lost", ("a", "b"))
    assert blocks(part, n=1200, cost=None, note="", losses=("a", "b")) == [Entries((entry, lost))]


def test_lines_are_printable_sentences():
    assert blocks(Lines("problems"), problems=("a\nb", "c")) == [Points(("a b", "c"))]


def test_templates_have_verbs_and_beginnings_of_texts():
    result = SimpleNamespace(n=1, m=2, sha256="0123456789abcdef")
    assert fill("{n:n pair has/pairs have}, {m:n pair has/pairs have}", result) == "1 pair has, 2 pairs have"
    assert fill("({sha256:.4})", result) == "(0123)"


def test_headlines_have_parts_with_conditions():
    result = SimpleNamespace(counts={"ties": 0, "pairs": 2}, share=0.0, names=("a",), cost=None)
    texts = (
        "{counts[pairs]:n pair} of {names:n rater}",
        Sentence(", {counts[ties]} ties", "counts[ties]"),
        Sentence(", share {share:.1f}", "share"),
        Sentence(", {cost:.2f}", "cost"),
    )
    assert "".join(sentences(texts, result)) == "2 pairs of 1 rater, share 0.0"


def test_a_text_is_left_out_before_an_empty_one():
    record = SimpleNamespace(problem="gone", remedy="")
    (shown,) = blocks(View("files", cells=(("problem", "; fix: ", "remedy"),)), files=(record,))
    assert shown.grid.rows == (("gone",),)
