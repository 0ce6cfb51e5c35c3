"""A project with a recorded history, in both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from rankgate.store.material import projects
from rankgate.store.records import records
from rankgate.store.records.records import NewRecord, Value
from support.serving import quick_passwords  # noqa: F401 - a fixture

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


class History:
    """A project; ``add`` records one evaluation a day."""

    def __init__(self, store):
        self.store, self.name, self.days = store, "shop", 0
        with store.write() as connection:
            self.project = projects.add(connection, self.name).id

    def rules(self, text):
        with self.store.write() as connection:
            projects.change(connection, self.project, settings={"alerts": text})

    @property
    def moment(self):
        """An hour after the last evaluation."""
        return START + timedelta(days=self.days - 1, hours=1)

    def add(self, *values, system="new", qrels="q", verdict=None, better=True, **more):
        for value in values:
            figures = tuple(
                Value(metric, name, number, number - 0.05, number + 0.05, 50, higher_is_better=better)
                for metric, name, number in [("nDCG@10", system, value)]
            )
            record = NewRecord(
                {"kind": "evaluation", "day": self.days},
                START + timedelta(days=self.days),
                system=system,
                qrels_sha256=qrels,
                queries_sha256="x",
                convention_hash="c",
                verdict=verdict,
                values=figures,
                **more,
            )
            with self.store.write() as connection:
                records.add(connection, self.store.blobs, self.project, record)
            self.days += 1


@pytest.fixture
def history(new_store):
    return History(new_store)
