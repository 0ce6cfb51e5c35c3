"""Change-points of a history that became longer."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np

from rankgate.workspace.records.history import make_history

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def points(values):
    """A series of means, a day apart."""
    fields = (
        "sha256",
        "kind",
        "name",
        "revision",
        "branch",
        "verdict",
        "slice",
        "qrels_sha256",
        "queries_sha256",
        "convention",
        "convention_hash",
    )
    return [
        SimpleNamespace(
            **dict.fromkeys(fields, ""),
            record=i,
            value=float(value),
            low=None,
            high=None,
            n=10,
            system="a",
            metric="RR",
            per_query=None,
            evaluated_at=BEGIN + timedelta(days=i),
            higher_is_better=True,
        )
        for i, value in enumerate(values)
    ]


def test_what_was_found_before_changes_nothing():
    values = np.random.default_rng(3).normal(0.5, 0.01, 30)
    values[15:] += 0.2
    series, cache = points(values), {}
    for end in (12, 29, 30, 20):  # longer, and shorter again
        plain = make_history(series[:end], (), lambda _: None)
        cached_history = make_history(series[:end], (), lambda _: None, looked=cache)
        assert cached_history.changes.equals(plain.changes)
    changed_points = points(np.concatenate([values[:5], values[:5] + 0.3, values[10:]]))  # other contents
    plain = make_history(changed_points, (), lambda _: None)
    assert make_history(changed_points, (), lambda _: None, looked=cache).changes.equals(plain.changes)
