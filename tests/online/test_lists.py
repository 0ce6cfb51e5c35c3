"""Lists of a log as runs that the log's judgments can be used on."""

import pytest

import rankgate
from online.logs import event, honest, search, written
from rankgate import online
from rankgate.core.errors import InputError
from support.wording import raises


def shown(number, docs, **more):
    return [
        search(number, number * 60, user_query="tv"),
        *(event("impression", number, number * 60, rank, doc, **more) for rank, doc in enumerate(docs)),
    ]


@pytest.fixture
def log(tmp_path):
    rows = [*shown(0, "abc"), *shown(1, "bac"), *shown(2, "abc"), *shown(3, "dab")]
    return written(tmp_path / "log.ndjson", rows)


@pytest.mark.parametrize(
    ("choose", "docs", "scores"),
    [
        ("frequent", "abc", (1, 1 / 2, 1 / 3)),
        ("latest", "dab", (1, 1 / 2, 1 / 3)),
        ("average", "abcd", (3 / 4, (1 + 1 / 2 + 1 / 2 + 1 / 3) / 4, 1 / 4, 1 / 4)),
    ],
)
def test_a_query_has_one_list(log, choose, docs, scores):
    result = online.lists(log, choose=choose)
    rows = result.run.table
    assert "".join(rows["doc_id"]) == docs
    assert rows["score"].to_list() == pytest.approx(scores)
    assert (result.searches, result.queries, result.several) == (4, 1, 1)
    assert {notice.code for notice in result.notices} == {"several-lists"}


def test_only_some_ranks_and_variants(tmp_path):
    rows = [
        event
        for n in range(4)
        for event in shown(
            n,
            "ab" if n % 2 else "ba",
            event_attributes={
                "object": {"object_id": "ba"[n % 2]},
                "position": {"ordinal": 0},
                "variant": "xy"[n % 2],
            },
        )
    ]
    log = written(tmp_path / "log.ndjson", rows)
    assert online.lists(log, variant="y", ranks=1).run.table["doc_id"].to_list() == ["a"]
    with raises("no-impressions", InputError):
        online.lists(log, variant="z")


@pytest.mark.parametrize("suffix", ["run", "csv"])
def test_clicks_judge_the_lists_that_were_shown(tmp_path, suffix):
    log = written(tmp_path / "log.ndjson", honest())
    online.lists(log, output=tmp_path / f"shown.{suffix}")
    name = f"clicks.{'txt' if suffix == 'run' else suffix}"
    online.judgments(log, held_out=0, grading=online.Grading(min_examined=1)).write(tmp_path / name)
    result = rankgate.evaluate(tmp_path / name, tmp_path / f"shown.{suffix}", ["nDCG@4"])
    assert result.runs[0].counts.queries == 7
    assert not result.runs[0].counts.missing
    assert 0 < result.runs[0].means["nDCG@4"] <= 1


def test_the_command_writes_a_run(log, tmp_path, run):
    run("online", "lists", str(log), "-o", str(tmp_path / "shown.run"))
    result = run("online", "lists", str(log), "-o", str(tmp_path / "shown.run"), "--name", "live")
    assert result.code == 0, result.err
    assert (tmp_path / "shown.run").read_text().splitlines()[0] == "tv Q0 a 1 1.0 live"
