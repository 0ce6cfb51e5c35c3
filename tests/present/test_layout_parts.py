"""Parts of layouts, on small results."""

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Document, Section, Table, Warnings
from rankgate.core.present.layout import CrossView, FactTable, Group, Layout, Sentence, View, layout_document

COUNTS = Columns(
    "One row per tag and value.",
    Column("tag", pl.String, "the tag"),
    Column("value", pl.String, "its value"),
    Column("n", pl.Int64, "how often"),
)


@dataclass(frozen=True)
class Counts(Result):
    """Counts, as an example of a result."""

    kind: ClassVar[str] = "counts"
    SCHEMAS: ClassVar = {"counts": COUNTS}
    layout: ClassVar[Layout] = (
        View("counts", "values of {tag}", ("value", "n"), table_key="tag", headers={"value": "{tag}"}),
        CrossView("frequent", "at least {minimum}", ("tag",), column_key="value", value="n", columns=COUNTS),
    )
    counts: pl.DataFrame

    def document(self, minimum: int = 2) -> Document:
        """The counts, and those of frequent values."""
        frequent = self.counts.filter(pl.col("n") >= minimum)
        return layout_document(self, minimum=minimum, frequent=frequent)


ROWS = [("market", "de", 3), ("device", "phone", 1), ("market", "fr", 2)]


def tables(result, **options):
    blocks = result.document(**options).sections[0].blocks
    return {block.heading: block.grid for block in blocks if isinstance(block, Table)}


def test_a_column_divides_a_view_into_tables_in_the_order_of_its_values():
    grids = tables(Counts(pl.DataFrame(ROWS, COUNTS, orient="row")))
    assert list(grids) == ["values of market", "values of device", "at least 2"]
    assert grids["values of market"].rows == (("de", "3"), ("fr", "2"))
    assert grids["values of device"].head == ("device", "n")
    assert list(tables(Counts(COUNTS.empty()))) == []


def test_options_of_a_document_are_values_of_its_layout():
    result = Counts(pl.DataFrame(ROWS, COUNTS, orient="row"))
    grid = tables(result, minimum=3)["at least 3"]
    assert grid.head == ("tag", "de")
    assert grid.rows == (("market", "3"),)
    assert not hasattr(result, "frequent")
    assert result == Counts(result.counts)


def test_optional_columns_stay_for_a_zero_and_go_without_a_value():
    view = View("counts", optional=("value", "n"))
    for count, names in ((0, ("tag", "n")), (None, ("tag",))):
        result = Counts(pl.DataFrame([("market", "", count)], COUNTS, orient="row"))
        (table,) = view.blocks(result)
        assert table.grid.head == names


def test_headers_across_are_names_as_they_are_or_words():
    result = Counts(pl.DataFrame([("market", "new_users", 1)], COUNTS, orient="row"))
    for words, header in ((False, "new_users"), (True, "new users")):
        (table,) = CrossView("counts", "", ("tag",), column_key="value", value="n", spaced=words).blocks(
            result
        )
        assert table.grid.head == ("tag", header)


@dataclass(frozen=True)
class Shares(Result):
    """A share of some queries, as an example of a result."""

    kind: ClassVar[str] = "shares"
    layout: ClassVar[Layout] = (
        Sentence("share {share:.0%}", "share"),
        Sentence("{queries:n query}", "queries"),
        FactTable("", (("{level:.0%} interval", "{share}"),), as_row=True),
    )
    share: float | None
    queries: int
    level: float = 0.9


def test_a_measured_zero_is_a_value_and_a_count_of_zero_is_none():
    blocks = Shares(0.0, 0).document().sections[0].blocks
    assert blocks[0] == "share 0%"
    assert [block.grid.head for block in blocks[1:]] == [("90% interval",)]
    assert Shares(None, 2).document().sections[0].blocks[0] == "2 queries"


@dataclass(frozen=True)
class Launch(Result):
    """A day of a launch, as an example of a result with sections."""

    kind: ClassVar[str] = "launch"
    layout: ClassVar[Layout] = (
        Group("days", "Days", ("{day}", Sentence("{note}", "note"))),
        "{lead_in}",
        lambda launch: [Section("more", "More", (launch.day,))],
    )
    day: str
    note: str = ""
    lead_in: str = ""


def test_groups_and_sections_follow_the_parts_without_a_title():
    assert [(section.title, section.blocks) for section in Launch("today").document().sections] == [
        ("Days", ("today",)),
        ("More", ("today",)),
    ]
    sections = Launch("today", "a note", "first").document().sections
    assert [(section.title, section.blocks) for section in sections][:2] == [
        ("", ("first",)),
        ("Days", ("today", "a note")),
    ]


def test_warnings_of_the_same_words_about_several_runs_are_one():
    notices = [
        Notice("unread", "old: 3 rows are empty", "old"),
        Notice("unread", "new: 3 rows are empty", "new"),
        Notice("unread", "new: 4 rows are empty", "new"),
        Notice("sampled", "candidates are sampled", "qrels"),
    ]
    assert Warnings.from_notices([*notices, notices[0]]).lines == (
        "old, new: 3 rows are empty",
        "new: 4 rows are empty",
        "candidates are sampled",
    )
