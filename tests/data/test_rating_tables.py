"""Ratings in tables: invalid columns."""

from datetime import UTC, datetime

from rankgate.core.errors import InputError
from rankgate.data import read_qrels
from rankgate.data.read import read_ratings
from support.command import assert_refused
from support.wording import raises


def test_ratings_of_two_scales_are_reported_by_line(tmp_path):
    path = tmp_path / "ratings.csv"
    header = "query,document,rater,grade,scale\n"
    path.write_text(f"{header}q1,d1,a,1,\nq1,d1,b,1,binary\nq1,d2,a,9,detail\n")
    with raises("mixed-scales", InputError, line=4):
        read_ratings(path)
    path.write_text(f"{header}q1,d1,a,1,\nq1,d1,b,1,binary\n")
    assert len(read_ratings(path).table) == 2


def test_times_may_be_written_in_several_ways_and_no_time_is_reported_by_line(tmp_path):
    path = tmp_path / "ratings.csv"
    lines = [
        "query,document,rater,grade,at",
        "q1,d1,a,1,2026-01-02T00:30:00+01:00",
        "q1,d1,b,2,2026-01-01",
        "q1,d1,c,3,",
    ]
    path.write_text("\n".join(lines))
    result = read_ratings(path).table["at"].to_list()
    assert result == [datetime(2026, 1, 1, 23, 30, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), None]
    path.write_text("\n".join([*lines, "q1,d2,b,2,yesterday"]))
    with raises("not-a-time", InputError, line=5):
        read_ratings(path)


def test_a_log_with_repeated_ratings_leads_to_split(tmp_path, run):
    path = tmp_path / "log.csv"
    path.write_text("userId,movieId,rating,timestamp\n1,9,4,100\n1,9,5,200\n")
    refused = run("describe", path)
    assert_refused(refused, "log-not-judgments", path, 3)
    assert "rankgate split" in refused.err
    with raises("log-not-judgments", InputError):
        read_qrels(path)
