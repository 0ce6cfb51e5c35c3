"""What the last value of a series is compared with."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from rankgate.workspace.web.dashboard.trend_pages import TrendLine, find_level

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def series(*values, reach=0.05, old=0, better=True):
    """Points a day apart; the first `old` have other judgments."""
    return [
        SimpleNamespace(
            evaluated_at=BEGIN + timedelta(days=i),
            value=value,
            metric="RR",
            system="a",
            low=None if reach is None else value - reach,
            high=None if reach is None else value + reach,
            higher_is_better=better,
            qrels_sha256="old" if i < old else "new",
            convention_hash="c",
            queries_sha256="q",
            n=65,
        )
        for i, value in enumerate(values)
    ]


@pytest.mark.parametrize("nights", [1, 3, 12])
def test_a_fall_is_compared_with_the_level_before_it_for_as_long_as_it_lasts(nights):
    level = find_level(series(*[0.5] * 5, *[0.3] * nights))
    assert (level.value, level.count, level.clear) == (0.5, 5, True)
    assert level.since == BEGIN + timedelta(days=5)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (series(0.5, 0.5, 0.5, 0.9, 0.5, 0.51), (0.5, 5, False)),
        (series(0.50, 0.51, 0.49), (0.505, 2, False)),
        (series(0.5, 0.5, 0.3, reach=None), (0.5, 2, False)),
        (series(0.9, 0.9, 0.5, 0.5, old=2), (0.5, 1, False)),
        (series(*[0.1] * 5, *[0.5 + i / 1000 for i in range(11)]), (0.1, 5, True)),
    ],
    ids=["outlier", "noise", "no interval", "break", "gain"],
)
def test_only_a_level_outside_the_interval_is_clear(points, expected):
    level = find_level(points)
    assert (pytest.approx(level.value), level.count, level.clear) == expected


def test_without_a_comparable_evaluation_there_is_no_level():
    assert find_level([]) is None
    assert find_level(series(0.5)) is None
    assert find_level(series(0.9, 0.5, old=1)) is None
    assert TrendLine.of_series("RR", series(0.9, 0.5, old=1)).change is None


@pytest.mark.parametrize(("better", "verdict"), [(True, "fail"), (False, "pass")])
def test_a_clear_change_has_the_colour_of_its_direction(better, verdict):
    line = TrendLine.of_series("RR", series(0.5, 0.5, 0.3, better=better))
    assert line.change == pytest.approx(-0.2)
    assert line.verdict == verdict
    assert TrendLine.of_series("RR", series(0.5, 0.5, 0.49, better=better)).verdict == ""


def test_a_small_line_breaks_where_judgments_change():
    joined = TrendLine.of_series("RR", series(0.9, 0.9, 0.4, 0.4))
    broken = TrendLine.of_series("RR", series(0.9, 0.9, 0.4, 0.4, old=2))
    assert joined.path.count("M") == 1
    assert broken.path.count("M") == 2
    assert broken.path.replace("M", "L")[1:] == joined.path[1:]  # the same points
    assert "2 parts that are not comparable" in broken.words
    assert broken.change == pytest.approx(0)
    assert TrendLine.of_series("RR", series(0.9, 0.4, old=1)).path.count("h") == 2
    values = [[(BEGIN, 0.9)], [(BEGIN + timedelta(days=1), 0.4)]]
    assert TrendLine.from_series("one query", values).change is None
