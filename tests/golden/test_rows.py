"""Every row that a tool can be made to give again is checked by one family, or listed by id.

The families (``test_conventions`` and ``test_rows_*``) check the values; here the whole table
is counted, by section and by convention, so that no row can go missing between them.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module

import pytest

from support import golden

SECTIONS = {
    "random": 7384,
    "conformance": 516,
    "2.1": 40,
    "2.2": 95,
    "2.3": 138,
    "2.4": 40,
    "2.5": 78,
    "2.6": 138,
    "2.7": 27,
    "2.8": 78,
    "2.9": 81,
    "2.10": 10,
    "2.11": 106,
    "II.2.2": 9,
    "II.2.5": 6,
    "II.2.6": 2,
}
FAMILIES = {"conventions": 2679, "ir": 2658, "learning": 1382, "products": 1171, "recommenders": 858}
EXCEPTIONS = {"OUTSIDE": 2, "ELSEWHERE": 10, "REFUSED": 9, "ANSWERED": 18}
"""How many rows the families name: no metric that we have, computed in ``test_rows_lists``,
refused by us, answered otherwise."""


def family(name):
    """The module of a family."""
    file = "test_conventions" if name == "conventions" else f"test_rows_{name}"
    return import_module(f"golden.{file}")


@pytest.fixture(scope="module")
def families():
    return {name: family(name) for name in FAMILIES}


@pytest.fixture(scope="module")
def rows():
    return golden.rows()


def taken(module):
    """All rows of a family: checked rows and named rows."""
    return [row["id"] for row in getattr(module, "ALL", module.ROWS)]


def checked(module):
    """The rows whose values a family compares."""
    parts = [getattr(module, name) for name in ("FACED", "OWN", "INSIDE", "HERE") if name in vars(module)]
    outside_ids = {*getattr(module, "OUTSIDE", ()), *getattr(module, "ELSEWHERE", ())}
    return {row["id"] for section in parts or [module.ROWS] for row in section} - outside_ids


def named(families, kind):
    return [row_id for module in families.values() for row_id in getattr(module, kind, ())]


def test_the_table_is_whole(rows):
    assert Counter(row["section"] for row in rows) == SECTIONS
    assert len({row["id"] for row in rows}) == len(rows) == sum(SECTIONS.values())


def test_every_row_belongs_to_one_family(families, rows):
    row_counts = Counter(row_id for module in families.values() for row_id in taken(module))
    assert row_counts == Counter(row["id"] for row in rows)
    assert {name: len(taken(module)) for name, module in families.items()} == FAMILIES


def test_every_row_is_checked_or_lies_outside(families, rows):
    compared = set().union(*(checked(module) for module in families.values()))
    elsewhere = {row["id"] for row in family("lists").ROWS}
    assert elsewhere == {*named(families, "ELSEWHERE")}
    assert compared.isdisjoint(elsewhere)
    compared |= elsewhere
    outside_ids = named(families, "OUTSIDE")
    assert compared.isdisjoint(outside_ids)
    assert compared | {*outside_ids} == {row["id"] for row in rows}


@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_exceptions_are_counted(families, kind):
    ids = named(families, kind)
    assert len(set(ids)) == len(ids) == EXCEPTIONS[kind]


def test_every_convention_has_its_rows(families, rows):
    parts = Counter()
    convention_of = {row["id"]: row["convention"] for row in rows}
    for module in families.values():
        parts.update(convention_of[row_id] for row_id in taken(module))
    assert parts == Counter(convention_of.values())
    assert len(parts) == 38
