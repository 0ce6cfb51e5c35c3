"""Histories: comparable ranges, breaks with their parts, change-points, annotations."""

import json

import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import rankgate as program
from rankgate.store.material import projects
from support.stores import address_of
from support.wording import raises

QUERIES = [f"q{i:02}" for i in range(40)]
QRELS = {query: {"a": 1, "b": 0, "c": 0} for query in QUERIES}
GOOD = {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in QUERIES}
BAD = GOOD | {query: {"b": 3.0, "a": 2.0, "c": 1.0} for query in QUERIES[:25]}
OTHER = {query: {"a": 1, "b": int(i % 2), "c": 0} for i, query in enumerate(QUERIES)}


def evaluate(run, day, to, qrels=QRELS, metric="RR", convention="trec", **more):
    result = rankgate.evaluate(qrels, {"run-7": run}, [metric], convention)
    rankgate.record(
        result,
        at=f"2026-03-{day:02}",
        qrels=qrels,
        runs={"run-7": run},
        system="app",
        provenance=rankgate.Provenance(f"r{day}"),
        **to,
        **more,
    )


@pytest.fixture(params=["folder", "store"])
def place(request, tmp_path, new_file):
    """How a place is named when recording, and when reading."""
    if request.param == "folder":
        return {"to": tmp_path / "h"}, {"from_": tmp_path / "h"}
    url = f"{tmp_path}/s.db"
    with new_file(url) as store, store.write() as connection:
        projects.add(connection, "shop")
    location = {"store": url, "project": "shop"}
    return location, location


def test_a_regression_is_found_where_it_began(place):
    target, read = place
    for day in range(1, 11):
        evaluate(GOOD if day < 6 else BAD, day, target)
    rankgate.annotate("deploy", "new ranker", at="2026-03-06", revision="r6", **target)
    result = rankgate.history("RR", **read)
    assert result.series["value"].to_list() == [1.0] * 5 + [27.5 / 40] * 5
    (change,) = result.changes.to_dicts()
    assert (change["at"][:10], change["revision"]) == ("2026-03-06", "r6")
    assert change["found_at"] == change["at"]
    assert change["delta"] == change["gain"] == pytest.approx(-12.5 / 40)
    assert change["low"] < change["delta"] < change["high"] < 0
    assert result.breaks.is_empty()
    assert [(e["kind"], e["revision"]) for e in result.annotations.to_dicts()] == [("deploy", "r6")]
    recent = rankgate.history("RR", since="2026-03-07", **read)
    assert len(recent.series) == 4
    assert recent.changes.is_empty()


def test_new_judgments_are_a_break_with_its_parts(place):
    target, read = place
    for day in (1, 2):
        evaluate(BAD, day, target)
    evaluate(GOOD, 3, target, OTHER)
    result = rankgate.history("RR", **read)
    assert result.changes.is_empty()
    (row,) = result.breaks.to_dicts()
    bridged = rankgate.evaluate(OTHER, {"app": BAD}, ["RR"])["app", "RR"]
    assert (row["reasons"], row["at"][:10]) == ("judgments", "2026-03-03")
    assert row["judgments"] == pytest.approx(bridged - 27.5 / 40)
    assert row["rest"] == pytest.approx(1.0 - bridged)
    assert row["queries"] == pytest.approx(0)
    assert row["low"] < row["rest"] < row["high"]
    parts = row["judgments"] + row["queries"] + row["rest"]
    assert parts == pytest.approx(row["delta"])
    assert result.series["segment"].to_list() == [0, 0, 1]
    (none,) = rankgate.history("RR", bridge=False, **read).breaks.to_dicts()
    assert (none["judgments"], none["why"]) == (None, "")


def test_other_queries_are_a_part_too(place):
    target, read = place
    evaluate(
        {query: GOOD[query] for query in QUERIES[:20]},
        1,
        target,
        {query: QRELS[query] for query in QUERIES[:20]},
    )
    evaluate(BAD, 2, target)
    (row,) = rankgate.history("RR", **read).breaks.to_dicts()
    assert row["judgments"] == pytest.approx(0)
    assert row["rest"] == pytest.approx(-0.5)  # BAD on the 20 queries that both answer
    assert row["queries"] == pytest.approx(27.5 / 40 - 0.5)


def test_another_convention_is_a_break(place):
    target, read = place
    evaluate(BAD, 1, target, metric="nDCG@2")
    evaluate(BAD, 2, target, metric="nDCG@2", convention="pytrec_eval")
    result = rankgate.history("nDCG@2", **read)
    reasons = [row["reasons"] for row in result.breaks.to_dicts()]
    assert reasons == (["convention"] if result.series["segment"][-1] else [])


def test_what_is_not_kept_has_no_parts(place):
    target, read = place
    evaluate(BAD, 1, target, keep=False)
    evaluate(BAD, 2, target, OTHER, keep=False)
    result = rankgate.history("RR", **read)
    (row,) = result.breaks.to_dicts()
    assert row["judgments"] is None
    assert row["why"]
    assert [notice.code for notice in result.notices] == ["no-bridge"]


def test_of_two_values_of_one_moment_the_later_counts(place):
    target, read = place
    evaluate(BAD, 1, target)
    evaluate(GOOD, 1, target)
    assert rankgate.history("RR", **read).series["value"].to_list() == [1.0]


def test_errors(place, tmp_path):
    target, read = place
    evaluate(BAD, 1, target)
    for wrong in ({}, {"system": "other"}, {"slice": "a=b"}):
        with raises("unknown-metric"):
            rankgate.history("nDCG@10" if not wrong else "RR", **read, **wrong)
    with raises("no-history"):
        rankgate.history("RR", tmp_path / "nowhere")


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for day in range(1, 5):
        evaluate(GOOD if day < 4 else BAD, day, {"to": "h"})
    call = ["history", "RR", "--from", "h"]
    result = CliRunner().invoke(program, [*call, "--format", "json"])
    assert len(json.loads(result.stdout)["changes"]) == 1
    text = CliRunner().invoke(program, call)
    assert text.exit_code == 0
    assert "2026-03-04 worse" in text.stdout
    (tmp_path / "h.json").write_text(result.stdout)
    plot_result = CliRunner().invoke(program, ["plot", "history", "h.json", "-o", "h.svg"])
    assert plot_result.exit_code == 0, plot_result.output
    assert (tmp_path / "h.svg").read_text().startswith("<svg")


def test_postgresql_has_the_same_history(new_database, tmp_path):
    with new_database("history", f"{tmp_path}/blobs") as store:
        url = address_of(store)
        with store.write() as connection:
            projects.add(connection, "shop")
        places = {"store": url, "project": "shop"}, {"to": tmp_path / "h"}
        for target in places:
            for day in range(1, 8):
                evaluate(GOOD if day < 5 else BAD, day, target, OTHER if day > 6 else QRELS)
        store_history = rankgate.history("RR", **places[0])
        file_history = rankgate.history("RR", tmp_path / "h")
        assert store_history.changes.drop("record", "found_record").equals(
            file_history.changes.drop("record", "found_record")
        )
        assert store_history.breaks.drop("record").equals(file_history.breaks.drop("record"))
        assert (len(store_history.changes), len(store_history.breaks)) == (1, 1)
        parts = [
            rankgate.attribute("2026-03-06", "2026-03-07", **source).parts
            for source in (places[0], {"from_": tmp_path / "h"})
        ]
        assert parts[0].equals(parts[1])


def record_step(kind, run, day, hour, to, before=None):
    """One step of a night with a run of a dated name: an evaluation, a comparison or a verdict."""
    name = f"app-{day:02}"
    base = {} if before is None else {before[0]: before[1]}
    result = {
        "evaluation": lambda: rankgate.evaluate(QRELS, {name: run}, ["RR"]),
        "comparison": lambda: rankgate.compare(QRELS, base, {name: run}, ["RR"]),
        "verdict": lambda: rankgate.gate(QRELS, base, {name: run}, ["RR"]),
    }[kind]()
    return rankgate.record(
        result,
        at=f"2026-03-{day:02}T{hour:02}:00",
        qrels=QRELS,
        runs={**base, name: run},
        system="app",
        provenance=rankgate.Provenance(f"r{day}"),
        **to,
    )


def test_steps_of_one_night_are_one_evaluation_and_nights_are_many(place):
    target, read = place
    before = None
    for day, run in enumerate((GOOD, GOOD, GOOD, BAD, BAD, BAD), 1):
        record_step("evaluation", run, day, 1, target)
        if before is not None:
            record_step("comparison", run, day, 2, target, before)
            record_step("verdict", run, day, 3, target, before)
        before = (f"app-{day:02}", run)
    result = rankgate.history("RR", system="app", **read)
    assert result.series["value"].to_list() == [1.0] * 3 + [27.5 / 40] * 3
    assert result.series["verdict"].to_list()[1:] == ["pass", "pass", "fail", "pass", "pass"]
    assert [at[11:13] for at in result.series["at"].to_list()] == ["01"] * 6


def test_verdicts_alone_are_evaluations_too(place):
    target, read = place
    for day in range(1, 4):
        record_step("verdict", GOOD, day, 3, target, ("base", GOOD))
    assert len(rankgate.history("RR", system="app", **read).series) == 3
