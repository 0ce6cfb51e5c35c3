"""Records are found by their facts, on both databases, and only in their project."""

from datetime import UTC, datetime, timedelta

import pytest

from rankgate.core.errors import UsageError
from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.records import record_search, records
from rankgate.store.records.record_search import RecordFilter
from rankgate.store.records.records import NewRecord

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
FACTS = (
    {"name": "nightly_1", "system": "old", "branch": "main", "labels": {"stage": "nightly"}},
    {"name": "nightly%2", "system": "new", "branch": "main", "labels": {"stage": "x", "a.b": "1"}},
    {"name": "try", "system": "new", "branch": "idea", "verdict": "fail", "revision": "abc123"},
)


@pytest.fixture
def shop(store):
    with store.write() as connection:
        made = [projects.add(connection, name, scale=GRADED) for name in ("shop", "other")]
        for number in made:
            for day, facts in enumerate(FACTS):
                kind = "verdict" if "verdict" in facts else "evaluation"
                result = {"kind": kind, "schema_version": 1}
                at = BEGIN + timedelta(days=day)
                records.add(connection, store.blobs, number.id, NewRecord(result, at, **facts))
        yield connection, made[0].id, made[1].id


CASES = (
    ({}, ["try", "nightly%2", "nightly_1"]),
    ({"kinds": ("verdict", "comparison")}, ["try"]),
    ({"system": "new", "branch": "main"}, ["nightly%2"]),
    ({"label": "stage=nightly"}, ["nightly_1"]),
    ({"label": "stage"}, ["nightly%2", "nightly_1"]),
    ({"label": "a.b=1"}, ["nightly%2"]),
    ({"label": "a.b=2"}, []),
    ({"words": "NIGHTLY"}, ["nightly%2", "nightly_1"]),
    ({"words": "y_"}, ["nightly_1"]),
    ({"words": "%"}, ["nightly%2"]),
    ({"words": "abc"}, ["try"]),
    ({"judged": True}, ["try"]),
    ({"verdict": "pass"}, []),
    ({"since": BEGIN + timedelta(days=1)}, ["try", "nightly%2"]),
    ({"until": BEGIN + timedelta(days=1)}, ["nightly_1"]),
)  # fmt: skip


def test_records_that_fit(shop):
    connection, project, _ = shop
    for given, names in CASES:
        which = RecordFilter(**given)
        found = record_search.find_records(connection, project, which)
        assert [each.name for each in found] == names, given
        assert record_search.count_matches(connection, project, which) == len(names)


def test_pages_and_choices_are_of_one_project(shop):
    connection, project, other = shop
    first, *rest = record_search.find_records(connection, project, RecordFilter())
    assert record_search.find_records(connection, project, RecordFilter(), before=first.id) == rest
    with pytest.raises(UsageError) as caught:
        record_search.find_records(connection, other, RecordFilter(), before=first.id)
    assert caught.value.code == "unknown-record"
    assert record_search.count_choices(connection, project) == {
        "kind": {"evaluation": 2, "verdict": 1}, "system": {"new": 2, "old": 1},
        "branch": {"idea": 1, "main": 2}, "verdict": {"fail": 1},
    }  # fmt: skip
