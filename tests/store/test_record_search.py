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
        stored_projects = [projects.add(connection, name, scale=GRADED) for name in ("shop", "other")]
        for number in stored_projects:
            for day, facts in enumerate(FACTS):
                kind = "verdict" if "verdict" in facts else "evaluation"
                result = {"kind": kind, "schema_version": 1}
                moment = BEGIN + timedelta(days=day)
                records.add(connection, store.blobs, number.id, NewRecord(result, moment, **facts))
        yield connection, stored_projects[0].id, stored_projects[1].id


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
)


def test_records_that_fit(shop):
    connection, project, _ = shop
    for filters, names in CASES:
        record_filter = RecordFilter(**filters)
        matches = record_search.find_records(connection, project, record_filter)
        assert [record.name for record in matches] == names, filters
        assert record_search.count_matches(connection, project, record_filter) == len(names)


def test_pages_and_choices_are_of_one_project(shop):
    connection, project, other_project = shop
    first, *remaining = record_search.find_records(connection, project, RecordFilter())
    assert record_search.find_records(connection, project, RecordFilter(), before=first.id) == remaining
    with pytest.raises(UsageError) as caught:
        record_search.find_records(connection, other_project, RecordFilter(), before=first.id)
    assert caught.value.code == "unknown-record"
    assert record_search.count_choices(connection, project) == {
        "kind": {"evaluation": 2, "verdict": 1},
        "system": {"new": 2, "old": 1},
        "branch": {"idea": 1, "main": 2},
        "verdict": {"fail": 1},
    }
