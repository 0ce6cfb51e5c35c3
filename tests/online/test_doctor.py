"""Planted faults are found, with count and place; an honest log is quiet."""

import json
import subprocess
import sys

import pytest

from online.logs import event, honest, search, stamp, written
from rankgate import online


def codes(tmp_path, rows, **options):
    report = online.doctor(written(tmp_path / "log.ndjson", rows), **options)
    return {finding.code: finding for finding in report.findings}


@pytest.mark.parametrize("base", [0, 1])
def test_an_honest_log_is_quiet(tmp_path, base):
    assert codes(tmp_path, honest(base=base)) == {}


def planted(rows):
    """A log with a fault and the number of faults, by code of the finding."""
    clicks = [index for index, row in enumerate(rows) if row.get("action_name") == "click"]

    def changed(place, **more):
        return [*rows[:place], {**rows[place], **more}, *rows[place + 1 :]]

    def without(*names):
        click = {key: field for key, field in rows[clicks[0]].items() if key not in names}
        return [*rows[: clicks[0]], click, *rows[clicks[0] + 1 :]]

    mixed = honest(40) + [
        {**row, "query_id": f"x{row['query_id']}", "session_id": f"x{row.get('session_id')}"}
        for row in honest(20, base=1)
    ]
    day = 86_400
    survey = [event("survey", n, 30, doc="q", event_attributes={"value": 1 + n % 5}) for n in range(40)]
    return {
        "mixed-rank-base": (mixed, 20),
        "clicks-without-rank": (
            changed(clicks[0], event_attributes={"object": {"object_id": "d0"}, "position": {}}),
            1,
        ),
        "clicks-without-search": (changed(clicks[0], query_id="nobody"), 1),
        "impressions-without-search": (changed(1, query_id="nobody"), 1),
        "clicks-not-shown": (
            changed(
                clicks[0], event_attributes={"object": {"object_id": "other"}, "position": {"ordinal": 1}}
            ),
            1,
        ),
        "document-shown-twice": ([*rows, event("impression", 0, 1, 4, "d0")], 1),
        "clicks-before-search": (changed(clicks[1], timestamp=stamp(100)), 1),
        "time-zone-shift": (changed(clicks[0], timestamp=stamp(2 * 3600 + 9)), 1),
        "implausible-time": (changed(clicks[0], timestamp=5), 1),
        "no-time": (without("timestamp"), 1),
        "bots": (
            rows
            + [search(1000 + n, n) for n in range(60)]
            + [event("impression", 1000 + n, n, 0, session_id="bot") for n in range(60)],
            60,
        ),
        "duplicated-clicks": ([*rows, rows[clicks[0]], rows[clicks[0]]], 2),
        "duplicated-impressions": ([*rows, rows[1]], 1),
        "repeated-clicks": ([*rows, {**rows[clicks[0]], "timestamp": stamp(9.3)}], 1),
        "reused-session": (changed(clicks[0], client_id="somebody"), 1),
        "events-after-session-end": (changed(clicks[0], timestamp=stamp(1900)), 1),
        "labels-out-of-scale": ([*rows, *survey, event("survey", 1, 30, event_attributes={"value": 7})], 1),
        "search-recorded-late": ([*rows, search(0, 5000)], 1),
        "purchases-without-search": ([*rows, event("purchase", 900, 30, 0)], 1),
        "carts-without-search": ([*rows, event("add_to_cart", 900, 30, 0)], 1),
        "results-contradicted": (changed(0, query_attributes={"hits": 0}), 1),
        "negative-revenue": (
            [
                *rows,
                event("purchase", 1, 30, event_attributes={"value": -3.5, "object": {"object_id": "d1"}}),
            ],
            1,
        ),
        "repeated-query-id": ([*rows, search(1, 60, user_query="something else")], 1),
        "unreadable-time": (changed(clicks[0], timestamp="soon"), 1),
        "mean-weight": (
            [
                *rows,
                *(
                    event(
                        "impression",
                        n,
                        n * 60 + 2,
                        9,
                        event_attributes={
                            "weight": 3 + n % 2,
                            "object": {"object_id": "z"},
                            "position": {"ordinal": 9},
                        },
                    )
                    for n in range(20)
                ),
            ],
            20,
        ),
        "users-in-several-variants": (
            [
                {
                    **row,
                    "event_attributes": {
                        **row.get("event_attributes", {}),
                        "variant": "ab"[int(row["query_id"][1:]) % 20 >= 10 if index != 1 else 1],
                    },
                }
                for index, row in enumerate(rows)
            ],
            1,
        ),
        "sample-ratio": (
            [
                {**search(n, n), "client_id": f"c{n}", "query_attributes": {"variant": "a" if n % 3 else "b"}}
                for n in range(300)
            ],
            300,
        ),
        "shared-inventory": (
            [
                row
                for n in range(20)
                for row in (
                    search(n, n),
                    *(
                        event(
                            "impression",
                            n,
                            n,
                            rank,
                            variant="x",
                            event_attributes={
                                "object": {"object_id": f"d{rank}"},
                                "position": {"ordinal": rank},
                                "variant": "ab"[n % 2],
                            },
                        )
                        for rank in range(2)
                    ),
                )
            ]
            + [
                event(
                    "purchase",
                    3,
                    25,
                    0,
                    event_attributes={"object": {"object_id": "d0"}, "value": 5, "variant": "a"},
                ),
                search(99, day),
            ],
            1,
        ),
    }


PLANTED = planted(honest())


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_fault_is_found(tmp_path, code):
    rows, count = PLANTED[code]
    findings = codes(tmp_path, rows)
    assert findings[code].count == count
    assert findings[code].words


def test_a_planned_split_is_no_mismatch(tmp_path):
    rows, _ = PLANTED["sample-ratio"]
    assert "sample-ratio" not in codes(tmp_path, rows, split={"a": 2 / 3, "b": 1 / 3})


def test_faults_that_are_frequent_block(tmp_path):
    rows = [row for row in honest() if row.get("action_name") != "impression"]
    findings = codes(tmp_path, rows + [event("click", 5000 + n, n, 0) for n in range(10)])
    assert findings["clicks-without-search"].severity == "block"
    single_fault = [*honest(600), event("click", 5000, 5, 0)]
    assert codes(tmp_path, single_fault)["clicks-without-search"].severity == "annotate"


def test_repeated_clicks_are_a_share_of_clicks(tmp_path):
    rows = honest(600)
    clicks = [row for row in rows if row.get("action_name") == "click"]
    click_times = {row["query_id"]: int(row["query_id"][1:]) * 60 + 9 for row in clicks}
    duplicated = codes(tmp_path, rows + clicks[:20])["duplicated-clicks"]
    assert (duplicated.count, duplicated.total, duplicated.severity) == (20, 220, "block")
    late = [{**row, "timestamp": stamp(click_times[row["query_id"]] + 0.3)} for row in clicks[:20]]
    repeated = codes(tmp_path, rows + late)["repeated-clicks"]
    assert (repeated.count, repeated.total, repeated.severity) == (20, 220, "block")
    assert repeated.examples[0].endswith("(300 ms)")
    # a user who comes back to a document two seconds later clicks twice
    later = [{**row, "timestamp": stamp(click_times[row["query_id"]] + 2)} for row in clicks[:20]]
    assert codes(tmp_path, rows + later) == {}


def test_a_log_that_is_cut_is_found(tmp_path):
    log = written(tmp_path / "log.ndjson", honest())
    log.write_text(log.read_text()[:-30])
    findings = {finding.code: finding for finding in online.doctor(log).findings}
    assert findings["truncated-last-line"].severity == "annotate"
    assert findings["truncated-last-line"].examples == ("log.ndjson:320",)


def test_the_command_prints_findings(tmp_path):
    rows, _ = PLANTED["negative-revenue"]
    log = written(tmp_path / "log.ndjson", rows)
    process = subprocess.run(
        [sys.executable, "-m", "rankgate", "online", "doctor", log, "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [finding["code"] for finding in json.loads(process.stdout)["findings"]] == ["negative-revenue"]


def test_searches_for_the_same_words_within_two_seconds_are_named(tmp_path):
    times = [("shoe", 1), ("shoe", 2.8), ("shoe", 10), ("boot", 11), ("boot", 40)]
    rows = [
        {**search(number, second), "session_id": "v", "user_query": words}
        for number, (words, second) in enumerate(times)
    ]
    log = written(tmp_path / "log.ndjson", rows)
    (finding,) = (entry for entry in online.doctor(log).findings if entry.code == "repeated-searches")
    assert (finding.count, finding.total) == (1, 5)
