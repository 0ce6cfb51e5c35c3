"""Documents that follow from layouts: views, cross tables, facts, sentences and their conditions."""

from __future__ import annotations

import string
from collections.abc import Mapping
from types import SimpleNamespace
from typing import ClassVar

import polars as pl
import pytest

from present.test_results import KINDS
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result, result_class
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Table, Warnings
from rankgate.core.present.layout import (
    NOTICES,
    CrossView,
    FactList,
    FactTable,
    Group,
    Layout,
    Lines,
    Sentence,
    Texts,
    View,
    fill,
)

SYSTEMS = Columns(
    "One row per system and day.",
    Column("system", pl.String, "its name", {"a": "first", "b": "second"}),
    Column("day", pl.Int64, "the day"),
    Column("mean", pl.Float64, "the mean", at_most="mean_at_most"),
    Column("mean_at_most", pl.Float64, "the largest possible mean"),
    Column("low", pl.Float64, "the low end", "signed"),
    Column("high", pl.Float64, "the high end", "signed"),
    Column("wins", pl.Int64, "queries won", header="won/lost"),
    Column("losses", pl.Int64, "queries lost"),
    Column("note", pl.String, "a remark"),
)


@dataclass(frozen=True)
class Trial(Result):
    """A result of a test."""

    kind: ClassVar[str] = "trial"
    headline_text: ClassVar[str] = "{figures:n row} of {name}"
    lead: ClassVar[Texts] = (Sentence("The level is {level:.0%}.", "level"),)
    layout: ClassVar[Layout] = (
        View(
            "figures",
            "by {name}",
            ("system", "day", "mean", ("low", "high"), ("wins", "/", "losses"), "note"),
            headers={"low": "{level:.0%} interval"},
            optional=("note",),
            varying=("system",),
            first=2,
        ),
        CrossView("figures", "by day", ("system", "note"), "day", "wins", "day {}"),
        FactTable("facts", (("name", "{name}"), ("none", "{missing}"), "further")),
        NOTICES,
        Sentence("Shown with {name}.", "name"),
        Sentence("Not shown.", "missing"),
        lambda result: (f"made by a function of {result.name}",),
    )
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"figures": SYSTEMS}

    figures: pl.DataFrame
    name: str = "trial"
    level: float | None = 0.9
    missing: str = ""

    @property
    def further(self) -> Mapping[str, str]:
        """Facts with their labels."""
        return {"depth": "10"}

    @property
    def notices(self) -> tuple[Notice, ...]:
        """A warning."""
        return (Notice("code", "a warning"),)


ROWS = [
    ("a", 1, 0.5, 0.5, -0.1, 0.2, 3, 1, None),
    ("b", 2, 0.25, None, None, 0.1, None, None, None),
    ("a", 2, None, None, None, None, 1, 0, None),
]


def trial(rows=ROWS, **facts):
    return Trial(pl.DataFrame(rows, SYSTEMS, orient="row"), **facts)


def tables(result):
    return [block for block in result.document().sections[0].blocks if isinstance(block, Table)]


def test_a_view_shows_bounds_intervals_and_joined_columns():
    figures, _, _ = tables(trial())
    assert figures.heading == "by trial (first 2 of 3)"
    assert figures.grid.head == ("system", "day", "mean", "90% interval", "won/lost")
    assert figures.grid.rows == (
        ("first", "1", "0.5000", "[-0.1000, +0.2000]", "3/1"),
        ("second", "2", "≥ 0.2500", "≤ +0.1000", "–"),
    )
    assert figures.grid.left == {0}


def test_a_column_that_says_nothing_is_left_out():
    figures, _, _ = tables(trial([(*ROWS[0][:-1], "a remark")]))
    assert figures.heading == "by trial"
    assert figures.grid.head == ("day", "mean", "90% interval", "won/lost", "note")


def test_a_cross_view_has_a_column_for_each_value_and_the_first_of_other_columns():
    _, by_day, _ = tables(trial())
    assert by_day.grid.head == ("system", "note", "day 1", "day 2")
    assert by_day.grid.rows == (("first", "", "3", "1"), ("second", "", "–", "–"))


def test_facts_have_labels_and_a_dash_where_there_is_none():
    _, _, facts = tables(trial(name="a\n\x1b[1mb"))
    assert facts.grid.rows == (("name", "a �[1mb"), ("none", "–"), ("depth", "10"))


def test_sentences_stand_under_their_condition():
    document = trial().document()
    blocks = document.sections[0].blocks
    assert document.title == "3 rows of trial"
    assert document.lead == ("The level is 90%.",)
    assert trial(level=None).document().lead == ()
    assert blocks[3:] == (Warnings(("a warning",)), "Shown with trial.", "made by a function of trial")


def test_the_csv_form_has_all_digits_of_the_main_table():
    rows = trial().document().rows
    assert rows.head == tuple(SYSTEMS)
    assert rows.rows[0] == ROWS[0]


def test_an_empty_frame_has_no_table():
    assert [table.heading for table in tables(trial([]))] == ["facts"]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{level:.0%}", "90%"),
        ("{figures:n query}", "3 queries"),
        ("{level:signed}", "+0.9000"),
        ("{{}}", "{}"),
    ],
)
def test_templates_format_numbers_and_counts(template, text):
    assert fill(template, trial()) == text


@pytest.mark.parametrize("kind", KINDS)
def test_every_template_names_attributes_of_its_class(kind):
    cls = result_class(kind)
    names = {*cls.__dataclass_fields__, *dir(cls), *_document_values(cls)}
    for template, named in _templates(cls):
        condition = "" if callable(named) else named  # a function is tried with a result
        used = {
            field.split(".")[0].split("[")[0]
            for _, field, _, _ in string.Formatter().parse(template)
            if field
        }
        assert used | ({condition.split(".")[0].split("[")[0]} if condition else set()) <= names, (
            kind,
            template,
        )


def _document_values(cls):
    """The names of the values that its ``document`` gives to ``layout_document``."""
    code = cls.document.__code__
    keywords = [names for names in code.co_consts if isinstance(names, tuple)]
    return [*code.co_varnames, *(name for names in keywords for name in names)]


def _templates(cls):
    texts = (cls.headline_text,) if isinstance(cls.headline_text, str) else cls.headline_text
    for part in (*texts, *cls.lead, *_parts(cls.layout), *cls.notice_texts):
        match part:
            case NoticeText():
                yield "", part.condition
                yield "", part.source
                yield from () if part.source else ((part.text, ""), (part.subject, ""))
            case str():
                yield part, ""
            case Sentence(text, condition):
                yield text, condition
            case View() | CrossView():
                divider = getattr(part, "table_key", "")
                texts = [part.heading, *part.headers.values()]
                yield from ((text.replace(f"{{{divider}}}", ""), part.condition) for text in texts)
                if isinstance(part.source, str):
                    yield "", part.source
            case FactTable():
                yield part.heading, part.condition
                for fact in part.facts:
                    yield ("", fact) if isinstance(fact, str) else (fact[1], "")
            case Lines():
                yield "", part.source


def _parts(layout):
    """The parts of a layout, those of its groups, and the texts of its lists of facts."""
    for part in layout:
        match part:
            case Group():
                yield from _parts(part.parts)
            case FactList() if part.source:  # of records
                yield Lines(part.source)
            case FactList():
                facts = [fact for fact in part.facts if not isinstance(fact, FactList)]
                yield from _parts([fact for fact in part.facts if isinstance(fact, FactList)])
                for _, text in facts:
                    is_single = isinstance(text, (str, Sentence, Lines))
                    yield from (text,) if is_single else text
            case _:
                yield part


NOTICES_OF_TRIAL = (
    NoticeText("few-rows", "{figures:n row is/rows are} few", lambda trial: len(trial.figures) < 5),
    NoticeText("never", "{figures:n row}", "missing"),
    NoticeText("worn", "{row}", source="texts", subject="{name}"),
    NoticeText("{system}-day", "{system}: day {day}", source="figures", rows=pl.col("day") == 2),
)


def test_notices_have_a_condition_a_row_each_and_a_text():
    facts = SimpleNamespace(figures=trial().figures, name="n", missing=None, texts=("old", ""))
    notices = [notice for entry in NOTICES_OF_TRIAL for notice in entry.notices(facts)]
    assert [(notice.code, notice.text, notice.subject) for notice in notices] == [
        ("few-rows", "3 rows are few", ""),
        ("worn", "old", "n"),
        ("b-day", "b: day 2", ""),
        ("a-day", "a: day 2", ""),
    ]


def test_facts_of_records_stand_between_those_of_their_owner():
    runs = tuple(SimpleNamespace(name=name, rows=rows) for name, rows in (("a", 1), ("b", 2)))
    of_runs = FactList((("run", ("{name}", Sentence(", {rows:n row}", "rows"))),), source="runs")
    facts = FactList((("first", "{title}"), of_runs, ("last", Sentence("{title}", "none"))), "{title}")
    (entries,) = facts.blocks(SimpleNamespace(title="t", runs=runs, none=0))
    assert entries.heading == "t"
    assert [(entry.label, *entry.lines) for entry in entries.entries] == [
        ("first", "t"),
        ("run", "a, 1 row"),
        ("run", "b, 2 rows"),
    ]


def test_json_has_no_part_that_a_kind_does_not_have():
    with pytest.raises(TypeError, match="Trial has no part 'lists'"):
        trial().to_dict(lists=True)
