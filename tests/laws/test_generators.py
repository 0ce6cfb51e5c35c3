"""Every verb takes judgments, runs and ratings that can be read only once, and keeps them."""

from __future__ import annotations

import inspect
import json
import re
from random import Random

import polars as pl
import pytest

import rankgate
import rankgate.online

RANDOM = Random(7)
DOCUMENTS = [f"d{i}" for i in range(12)]
QRELS = {f"q{i}": {doc: RANDOM.randrange(4) for doc in DOCUMENTS[:8]} for i in range(20)}
OLD, NEW = (
    {q: {d: RANDOM.random() + lift * row.get(d, 0) for d in DOCUMENTS} for q, row in QRELS.items()}
    for lift in (0.05, 0.5)
)
RATINGS = [
    {"query_id": q, "doc_id": d, "rater": rater, "grade": (grade + (rater == "eve")) % 4}
    for q, row in QRELS.items()
    for d, grade in row.items()
    for rater in ("ann", "bob", "eve")
]
POOL = [{"query_id": q, "doc_id": d} for q, row in QRELS.items() for d in row]
SHOWN = pl.DataFrame(
    [
        (
            kind,
            f"2026-03-{1 + search // 10:02}T10:00:00Z",
            f"e{search}",
            query,
            f"s{search}",
            f"u{search % 30}",
            doc,
            rank,
        )
        for search in range(200)
        for query in (f"q{search % 20}",)
        for rank, doc in enumerate(sorted(NEW[query], key=NEW[query].get)[:5], 1)
        for kind in ("impression", *["click"] * (RANDOM.random() < 0.4 / rank))
    ],
    ["kind", "at", "query_event_id", "query", "session", "user", "doc_id", "rank"],
    orient="row",
).with_columns(pl.col("at").str.to_datetime(time_zone="UTC"))
JUDGE = {q: {d: (grade + (d == "d3")) % 4 for d, grade in row.items()} for q, row in QRELS.items()}
SAMPLE = pl.DataFrame(POOL).with_columns(inclusion=pl.lit(0.5), stratum=pl.lit("all"))
REST = {query: {"z1": -1, "z2": -1} for query in QRELS}
TABLES = (QRELS, JUDGE, REST, OLD, NEW, RATINGS)
EVENTS = rankgate.online.Events(SHOWN)

CALLS = {
    "admit": {"people": QRELS, "judge": JUDGE, "runs": [OLD, NEW]},
    "admit_plan": {"judge": JUDGE, "people": QRELS},
    "advise": {"collection": QRELS, "runs": [OLD, NEW]},
    "agree": {"ratings": RATINGS},
    "blindspots": {"collection": QRELS, "baseline": OLD, "candidate": NEW},
    "check_gold": {"gold": QRELS, "ratings": RATINGS, "runs": [OLD, NEW]},
    "compare": {"collection": QRELS, "baseline": OLD, "candidates": NEW},
    "describe": {"files": [QRELS], "as_": "qrels"},
    "draw_gold": {"gold": QRELS},
    "evaluate": {"collection": QRELS, "runs": [OLD, NEW]},
    "explain": {"collection": QRELS, "run": NEW, "query": "q3", "metric": "nDCG@10"},
    "fuse": {"runs": [OLD, NEW]},
    "gate": {"collection": QRELS, "baseline": OLD, "candidate": NEW},
    "cutoff": {"collection": QRELS, "runs": [OLD, NEW]},
    "holes": {"collection": QRELS, "baseline": OLD, "candidate": NEW, "draws": 20},
    "migrate": {"old": OLD, "new": NEW, "collection": QRELS},
    "pool": {"runs": [OLD, NEW], "collection": QRELS},
    "rank_similarity": {"first": OLD, "second": NEW, "collection": QRELS, "metrics": ["nDCG@5"]},
    "rating_accuracy": {"collection": QRELS, "run": NEW},
    "reconcile": {"collection": QRELS, "run": NEW, "metric": "nDCG@10", "value": 0.9},
    "record": {
        "results": rankgate.evaluate(QRELS, {"new": NEW}, ["RR"]),
        "to": "history",
        "at": "2026-03-02T10:00:00+00:00",
        "qrels": QRELS,
        "runs": {"new": NEW},
    },
    "resolve": {"ratings": RATINGS, "sample": SAMPLE, "rest": REST},
    "reusability": {"collection": QRELS, "runs": [OLD, NEW]},
    "scorecard": {"collection": QRELS, "runs": [OLD, NEW]},
    "self_check": {"collection": QRELS, "runs": [OLD, OLD]},
    "settle": {"collection": None, "baseline": OLD, "candidate": NEW},
    "sheets": {"pool": POOL, "raters": ["ann", "bob"], "show": RATINGS},
    "stages": {"collection": QRELS, "runs": {"first": OLD, "second": NEW}},
    "total_error": {
        "collection": {"judge:a": QRELS, "judge:b": JUDGE},
        "baseline": [OLD, NEW],
        "candidate": [NEW, OLD],
    },
    "validate": {"files": [QRELS], "as_": "qrels"},
    "online.agreement": {"data": EVENTS, "qrels": QRELS},
    "online.judgments": {"events": EVENTS, "model": "dctr", "human": QRELS, "resamples": 2},
    "online.mix": {"runs": [OLD, NEW]},
    "online.replay": {"run": NEW, "events": EVENTS, "resamples": 5},
    "online.sensitivity": {"qrels": QRELS, "runs": [OLD, NEW], "searches": 500},
    "online.simulate": {"qrels": QRELS, "runs": [OLD, NEW], "searches": 100},
    "online.weeks": {"events": EVENTS, "qrels": QRELS},
}
"""Arguments by verb."""

OTHERS = {
    "online.plan": "its runs are those of online.sensitivity; a simulation of a minute",
    "collect": "a pool is a file or a frame",
    "convert": "files",
    "plot": "draws results of the verbs above",
    "rate": "a pool is a file or a frame",
    "read_scores": "values of metrics",
    "reanchor": "judgments and two sets of documents, read once",
    "snapshot": "queries",
}
_LIKE = re.compile(r"(?:Qrels|Runs?|Ratings|File|Pool)Like|Given")


def _verb(name):
    return getattr(rankgate.online if name.startswith("online.") else rankgate, name.split(".")[-1])


def test_every_verb_with_judgments_runs_or_ratings_is_tried():
    verbs = [*rankgate.__all__, *(f"online.{name}" for name in rankgate.online.__all__)]
    taking = set()
    for name in verbs:
        function = _verb(name)
        if inspect.isfunction(function) and not name.startswith("read_"):
            hints = [str(p.annotation) for p in inspect.signature(function).parameters.values()]
            taking |= {name} if _LIKE.search(" ".join(hints)) else set()
    assert taking - OTHERS.keys() == CALLS.keys()


def test_a_collection_keeps_what_can_be_read_once():
    predicted = rankgate.Predicted(_rows(JUDGE), _rows(QRELS))
    for judgments, table in ((predicted.judgments, JUDGE), (predicted.saw, QRELS)):
        assert len(judgments) == sum(map(len, table.values()))


def _rows(table):
    """A table as an iterator that can be read only once."""
    if isinstance(table, list):
        return (row for row in table)
    return ((query, doc, number) for query, row in table.items() for doc, number in row.items())


def _once(value):
    """Arguments with a generator for each table."""
    if any(value is table for table in TABLES):
        return _rows(value)
    if isinstance(value, dict):
        return {name: _once(inner) for name, inner in value.items()}
    return type(value)(map(_once, value)) if type(value) in (list, tuple) else value


def _content(result):
    """A result as plain values, without the time that a model took.

    DuckDB adds floats in any order, so that last digits vary.
    """
    values = result.to_dicts() if isinstance(result, pl.DataFrame) else result.to_dict()
    return json.loads(
        json.dumps(values, default=str),
        parse_float=lambda text: f"{float(text):.9g}",
        object_hook=lambda fields: {key: fields[key] for key in fields if key != "seconds"},
    )


@pytest.mark.parametrize("name", CALLS)
def test_a_verb_takes_generators(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = _verb(name)(**CALLS[name])
    (tmp_path / "once").mkdir()
    monkeypatch.chdir(tmp_path / "once")
    assert _content(_verb(name)(**_once(CALLS[name]))) == _content(expected)
