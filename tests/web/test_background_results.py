"""Pages of very many ratings are computed by another process, and kept in the store."""

import time
from datetime import timedelta
from functools import partial

import polars as pl
import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_run
from rankgate.data.qrels import Ratings
from rankgate.data.table_rows import RowLocation
from rankgate.store import rows
from rankgate.store.blobs import stored_runs
from rankgate.store.page_results import find_result, save_result
from rankgate.store.rating import import_ratings
from rankgate.workspace.web import background_results
from rankgate.workspace.web.background_results import compute_result, read_background_result
from rankgate.workspace.web.pages import coverage_pages, result_pages
from support.serving import served

SECONDS = 60
PAGES = ("agreement", "ratings/evaluation")


@pytest.fixture(scope="module")
def rated(team):
    """A project with ratings of three raters, and two runs."""
    project = team.project("rated").id
    grid = [(f"q{query}", f"d{doc}", rater) for query in range(20) for doc in range(4) for rater in "abc"]
    table = pl.DataFrame(grid, ["query_id", "doc_id", "rater"], orient="row").with_columns(
        grade=(pl.int_range(pl.len()) * 7 % 4).cast(pl.Float64),
        reason=pl.lit(""),
        at=pl.lit(None, pl.Datetime("us", "UTC")),
        seconds=pl.lit(3.0),
        comment=pl.lit(""),
        guideline=pl.lit(""),
    )
    with team.store.write() as connection:
        ratings = Ratings(table, "file", None, RowLocation("file"))
        import_ratings.add_ratings(connection, project, ratings, source="file")
        for name, order in (("up", 1), ("down", -1)):
            run = {f"q{query}": {f"d{doc}": 10.0 + order * doc for doc in range(4)} for query in range(20)}
            stored_runs.add_run(connection, team.store.blobs, project, read_run(run, name), name=name)
    return team, project


def without_times(data):
    return {name: value for name, value in data.items() if name != "at"}


def test_pages_of_many_ratings_show_the_same_figures_after_some_seconds(rated, monkeypatch):
    team, project = rated
    viewer = team.visitor("viewer")
    addresses = [f"/projects/rated/{page}.json" for page in PAGES]
    expected = [viewer.get(address).json() for address in addresses]
    for module in (coverage_pages, result_pages):
        monkeypatch.setattr(module, "MANY_RATINGS", 1)
    page = viewer.get("/projects/rated/agreement").data.decode()
    assert "are being computed" in page
    assert "data-live" in page
    end, waiting = time.monotonic() + SECONDS, True
    while waiting and time.monotonic() < end:
        waiting = any(
            "are being computed" in viewer.get(f"/projects/rated/{page}").data.decode() for page in PAGES
        )
        time.sleep(0.2)
    for address, data in zip(addresses, expected, strict=True):
        assert without_times(viewer.get(address).json()) == without_times(data)
    with served(team.store, per_minute=1_000_000) as address:  # a new server has them at once
        new_viewer = type(viewer)(address)
        new_viewer.sign_in("viewer")
        for page in PAGES:
            text = new_viewer.get(f"/projects/rated/{page}").data.decode()
            assert "being computed" not in text
            assert "As of" in text
    with team.store.read() as connection:
        assert find_result(connection, project, "agreement").result["seconds"] > 0


def add(a, b, store):
    """A sum, for another process."""
    assert store is not None
    return {"sum": a + b}


def refuse(store):
    """A refused computation."""
    assert store is not None
    raise InputError("there are no ratings.", code="no-judgments")


def fail(store):
    """A failed computation."""
    assert store is not None
    raise ZeroDivisionError


def test_a_result_is_made_once_for_its_data(rated, monkeypatch):
    team, project = rated
    starts = []
    monkeypatch.setattr(background_results, "_start", lambda *start: starts.append(start[3]))
    read = partial(read_background_result, team.store, project, "sum")
    assert read(1, partial(add, 1, 2)).value is None
    compute_result(team.store, project, "sum", "1", partial(add, 1, 2))
    assert read(1, partial(add, 1, 2)).value == {"sum": 3}
    assert starts == ["1"]
    now = rows.now()
    monkeypatch.setattr(rows, "now", lambda: now + timedelta(hours=1))
    assert read(2, partial(add, 2, 2)).value == {"sum": 3}  # older data, shown with their time
    assert starts == ["1", "2"]
    with team.store.write() as connection:
        assert rows.acquire(connection, f"page {project} sum", "other", timedelta(minutes=1))
    compute_result(team.store, project, "sum", "2", partial(add, 2, 2))  # another process is at it
    assert read(2, partial(add, 2, 2)).value == {"sum": 3}


def test_errors_of_another_process_are_those_of_the_page(rated, monkeypatch):
    team, project = rated
    monkeypatch.setattr(background_results, "_start", lambda *_: None)
    for name, compute, kind, code in (
        ("refused", refuse, InputError, "no-judgments"),
        ("failed", fail, UsageError, "not-computed"),
    ):
        compute_result(team.store, project, name, "1", compute)
        with pytest.raises(kind) as caught:
            read_background_result(team.store, project, name, 1, compute)
        assert caught.value.code == code


def test_the_oldest_results_of_a_project_are_replaced(team):
    project = team.project("replaced").id  # of its own: it has results of later times than now
    with team.store.write() as connection:
        for number in range(60):
            moment = rows.now() + timedelta(seconds=number)
            save_result(connection, project, f"page {number}", "1", moment, {"value": number})
        assert find_result(connection, project, "page 9") is None
        assert find_result(connection, project, "page 10").result == {"value": 10}
