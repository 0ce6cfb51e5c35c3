"""Rows, cursors, indexed frames and answers of engines give the numbers of TREC files."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import UsageError
from rankgate.data import read_qrels, read_run
from rankgate.data.adapters import ADAPTERS
from rankgate.data.answers.clients import ANSWERS
from rankgate.data.collection import Collection, Items
from rankgate.data.logs.item_tables import read_candidates, read_described_table
from rankgate.data.logs.read_logs import read_interactions
from rankgate.data.spark_tables import SparkTable
from rankgate.engines.snapshots.query_sender import queries_of
from support.wording import raises

ROWS = [("1", "10", 3.0), ("1", "20", 2.0), ("1", "30", 1.0), ("2", "20", 5.0), ("2", "40", 4.0)]
JUDGED = [("1", "20", 2), ("1", "30", 1), ("2", "40", 1), ("2", "50", 3)]
METRICS = ["nDCG@10", "RR", "P(rel=2)@2"]
NAMES = ("query_id", "doc_id")
LISTS = {"1": ["10", "20", "30"], "2": ["20", "40"]}


class Row(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Judgment(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


@dataclass
class ScoredDocument:
    query_id: str
    doc_id: str
    score: float


def numbers(qrels, run):
    """The values of all metrics and queries."""
    result = rankgate.evaluate(qrels, run, METRICS)
    return result.values["value"].to_list()  # noqa: PD011 - of a result


def by_query(rows):
    table = {}
    for query, doc, number in rows:
        table.setdefault(query, {})[doc] = number
    return table


def cursor(rows, names):
    database = sqlite3.connect(":memory:")
    database.execute(f"create table t ({', '.join(names)})")
    database.executemany(f"insert into t values ({', '.join('?' * len(names))})", rows)  # noqa: S608
    return database.execute("select * from t")


def indexed(rows, names):
    return pd.DataFrame(rows, columns=names).set_index(list(names[:2]))


def answer(docs, scores=None):
    hits = [{"_index": "shop", "_id": doc, "_source": {"sku": doc}} for doc in docs]
    for hit, score in zip(hits, scores or (), strict=False):
        hit["_score"] = score
    return {"took": 3, "hits": {"total": {"value": len(hits)}, "hits": hits}}


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """The values of the same data in TREC form."""
    folder = tmp_path_factory.mktemp("trec")
    qrels, run = folder / "a.qrels", folder / "a.run"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in JUDGED))
    run.write_text("".join(f"{q} Q0 {d} 1 {s} a\n" for q, d, s in ROWS))
    return numbers(qrels, run)


RUNS = {
    "tuples": lambda: ROWS,
    "lists": lambda: [list(row) for row in ROWS],
    "numbers as ids": lambda: [(int(q), int(d), s) for q, d, s in ROWS],
    "generator": lambda: (row for row in ROWS),
    "dictionaries with payload": lambda: (
        {"payload": {"x": [1]}, "qid": q, "docno": d, "score": Decimal(s)} for q, d, s in ROWS
    ),
    "data classes": lambda: (ScoredDocument(*row) for row in ROWS),
    "series": lambda: indexed(ROWS, ("topic", "docno", "score"))["score"],
    "unnamed series": lambda: indexed(ROWS, ("a", "b", "c"))["c"].rename_axis([None, None]),
    "indexed frame": lambda: indexed(ROWS, ("topic", "docno", "score")),
    "frame by query": lambda: (
        pd.DataFrame(ROWS, columns=["qid", "d", "score"]).rename(columns={"d": "docno"}).set_index("qid")
    ),
    "integer ids": lambda: {int(q): {int(d): s for d, s in row.items()} for q, row in by_query(ROWS).items()},
    "integers of NumPy": lambda: {np.int64(q): row for q, row in by_query(ROWS).items()},
    "pairs": lambda: {q: list(row.items()) for q, row in by_query(ROWS).items()},
    "answers": lambda: {q: answer(docs, [9.0, 8.0, 7.0]) for q, docs in LISTS.items()},
    "answers without scores": lambda: {q: answer(docs) for q, docs in LISTS.items()},
    "hits with distances": lambda: {
        q: [{"id": int(d), "score": i / 7} for i, d in enumerate(docs)] for q, docs in LISTS.items()
    },
    "typesense": lambda: {
        q: {"found": 3, "hits": [{"document": {"id": d}, "text_match": 9} for d in docs]}
        for q, docs in LISTS.items()
    },
    "columns of a cursor in capitals": lambda: cursor(ROWS, ("QUERY", "DOCNO", "SIM")),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_as_an_object(kind, values):
    qrels = by_query(JUDGED)
    assert numbers(qrels, RUNS[kind]()) == values
    result = rankgate.compare(qrels, {"old": RUNS[kind]()}, {"new": RUNS[kind]()}, ["RR"])
    (compared,) = result.comparisons
    assert (compared.baseline.name, compared.candidate.name) == ("old", "new")
    evaluation = rankgate.evaluate(qrels, [RUNS[kind](), RUNS[kind]()], METRICS)
    assert evaluation.values["value"].to_list() == values * 2  # noqa: PD011 - of a result


JUDGMENTS = {
    "tuples": lambda: JUDGED,
    "generator of tuples": lambda: (row for row in JUDGED),
    "generator of named tuples": lambda: (Judgment(*row, "0") for row in JUDGED),
    "cursor": lambda: cursor(JUDGED, (*NAMES, "grade")),
    "series of anything": lambda: indexed(JUDGED, (*NAMES, "nDCG"))["nDCG"],
    "integer ids": lambda: {
        int(q): {int(d): g for d, g in row.items()} for q, row in by_query(JUDGED).items()
    },
    "graded results": lambda: {
        q: [{"doc_id": d, "grade": g} for d, g in row.items()] for q, row in by_query(JUDGED).items()
    },
}


@pytest.mark.parametrize("kind", JUDGMENTS)
def test_judgments_as_an_object(kind, values):
    run = by_query(ROWS)
    assert numbers(JUDGMENTS[kind](), run) == values
    collection = Collection(JUDGMENTS[kind]())  # what can be read once is read once
    for _ in range(2):
        assert numbers(collection, run) == values


VERBS = {
    "gate": lambda qrels, old, new: rankgate.gate(qrels, {"old": old}, {"new": new}),
    "holes": lambda qrels, old, new: rankgate.holes(qrels, old, {"new": new}, ["RR@10"]),
    "explain": lambda qrels, _, new: rankgate.explain(qrels, new, "1", "RR"),
    "scorecard": lambda qrels, old, new: rankgate.scorecard(
        qrels, {"old": old, "new": new}, ["RR"], resamples=5
    ),
    "fuse": lambda _, old, new: rankgate.fuse([old, new], "rrf"),
    "stages": lambda qrels, old, new: rankgate.stages(qrels, {"old": old, "new": new}),
    "describe": lambda qrels, *_: rankgate.describe(qrels, as_="qrels"),
    "validate": lambda _, old, __: rankgate.validate(old, as_="run"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_objects_that_are_read_once_go_into_every_verb(verb):
    plain = by_query(JUDGED), by_query(ROWS[1:]), by_query(ROWS)
    answers = {q: answer([*row], [*row.values()]) for q, row in plain[1].items()}
    objects = (row for row in JUDGED), answers, (Row(*row) for row in ROWS)
    assert VERBS[verb](*objects).to_dict() == VERBS[verb](*plain).to_dict()


def test_pairs_are_relevant_documents():
    table = read_qrels(row[:2] for row in JUDGED).table
    assert table["grade"].to_list() == [1.0] * len(JUDGED)


def test_foreign_columns_and_fields_are_named(values):
    collection = Collection(
        [{"term": q, "sku": d, "stars": g} for q, d, g in JUDGED], columns="query=term,doc=sku,grade=stars"
    )
    answers = {
        q: {"hits": {"hits": [{"_id": i, "_source": {"sku": [d]}} for i, d in enumerate(docs)]}}
        for q, docs in LISTS.items()
    }
    for run in (answers, [{"term": q, "sku": d, "score": s} for q, d, s in ROWS], by_query(ROWS)):
        assert numbers(collection, run) == values
    for run in (answers, {"old": answers}):
        (result,) = rankgate.compare(collection, run, answers, ["RR"]).comparisons
        assert result.metrics.select("baseline", "candidate").row(0) == (0.5, 0.5)


def test_a_query_without_results_is_no_query_that_was_not_asked():
    run = read_run({"1": {"hits": {"hits": []}}, "2": answer(["20"])})
    assert run.queries.rows() == [("1", "zero")]


def test_the_rows_of_other_tables():
    tags = iter([{"query_id": "1", "size": "head"}, {"query_id": "2", "size": "tail"}])
    items = ({"item_id": doc, "genre": "a"} for doc in ("10", "20", "30", "40", "50"))
    collection = Collection(by_query(JUDGED), tags=tags, items=Items(items, category="genre"))
    result = rankgate.evaluate(collection, by_query(ROWS), ["RR", "ILD@2"], slices=["size"])
    assert result.slices["value"].unique().sort().to_list() == ["head", "tail"]
    log = [{"user_id": "u", "item_id": i, "timestamp": i} for i in range(9)]
    assert read_interactions(log).table.height == 9
    scores = [
        {"query_id": q, "metric": "RR", "system": s, "value": 0.5} for q in "12" for s in ("old", "new")
    ]
    (result,) = rankgate.compare(rankgate.read_scores(scores)).comparisons
    assert (result.baseline.name, result.candidate.name) == ("old", "new")


def test_ids_that_are_uuids_are_texts():
    ids = [UUID(int=1), UUID(int=2)]
    assert read_run([("1", doc, 1.0) for doc in ids]).table["doc_id"].to_list() == [*map(str, ids)]


@pytest.mark.parametrize(
    ("code", "table"),
    [
        ("wrong-type", SimpleNamespace(query="1", documents=["20"])),
        ("wrong-type", SimpleNamespace(to_pandas=lambda: None)),
        ("wrong-type", iter(["1 Q0 20 1 2.0 a"])),
        ("wrong-shape", [("1", "Q0", "20", 1, 2.0, "a")]),
        ("wrong-shape", [("1", "20", 1.0), ("1", "20")]),
        ("wrong-shape", [{"query_id": "1", "doc_id": "20", "score": 1.0}, ("1", "30", 1.0)]),
        ("missing-column", [{"query": "1", "position": 2}]),
        ("no-rows", iter([])),
        ("no-rows", sqlite3.connect(":memory:").cursor()),
        ("duplicate-id", {1: {"a": 1.0}, "1": {"a": 1.0}}),
        ("invalid-id", {1.5: {"a": 1.0}}),
        ("invalid-order", {"1": [("20", 0.5), ("30", 0.7)]}),
        ("engine-error", {"1": answer(["20"]), "2": {"error": {"type": "timeout"}, "status": 503}}),
        ("missing-column", {"1": [{"id": None, "metadata": {"source": "a.pdf"}}]}),
        ("wrong-type", {"1": answer(["20"]), "2": {"status": 200}}),
        ("not-a-number", {"1": [{"id": "20", "score": "high"}]}),
    ],
)
def test_what_is_not_read_names_what_is_expected(code, table):
    with raises(code):
        _ = read_run(table).table


def test_an_open_file_is_given_by_its_path(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("1 Q0 20 1 2.0 a\n")
    with path.open() as file, raises("wrong-type"):
        read_run(file)


def _hits(*docs):
    hits = [{"_id": doc, "_score": 1.0, "_source": {"sku": f"s{doc}"}} for doc in docs]
    return {"took": 1, "hits": {"total": {"value": len(docs)}, "hits": hits}}


def test_answers_without_their_queries_name_the_line_to_write():
    answers = {query: _hits(*docs) for query, docs in LISTS.items()}
    for wrong in (answers["1"], {"took": 2, "responses": [*answers.values()]}, [*answers.values()]):
        with raises("wrong-type"):
            rankgate.evaluate({"1": {"20": 1}}, wrong)
    with raises("duplicate-query"):
        rankgate.evaluate({"1": {"20": 1}}, [{"query_id": "1", **answers["1"]}] * 2)


def test_answers_that_name_their_queries_rank_in_served_order():
    answers = {query: _hits(*docs) for query, docs in LISTS.items()}
    flat_answers = [{"query_id": query, **response} for query, response in answers.items()]
    wrapped_answers = [{"qid": query, "response": response} for query, response in answers.items()]
    judgments = {"1": {"20": 1}, "2": {"40": 1}}  # TREC's order of equal scores is by document
    for source in (answers, flat_answers, wrapped_answers):
        assert rankgate.evaluate(judgments, source, ["RR"]).means["RR"][0] == 0.5
    collection = Collection({"1": {"s20": 1}, "2": {"s40": 1}}, columns="doc=sku")
    assert rankgate.evaluate(collection, flat_answers, ["RR"]).means["RR"][0] == 0.5


def test_results_of_queries_with_foreign_names():
    judgments = {"1": {"20": 1}, "2": {"40": 1}}
    results = {
        q: [{"item": doc, "score": 9.0 - i} for i, doc in enumerate(docs)] for q, docs in LISTS.items()
    }
    collection = Collection(judgments, columns="doc=item")
    assert rankgate.evaluate(collection, results, ["RR"]).means["RR"][0] == 0.5
    with raises("missing-column"):
        rankgate.evaluate(judgments, results)
    rows = {q: [Row(q, doc, 9.0 - i) for i, doc in enumerate(docs)] for q, docs in LISTS.items()}
    evaluation = rankgate.evaluate(judgments, rows, ["RR"])
    assert evaluation.means.row(0) == ("run1", 0.5)
    tables = {
        "new": [
            {"term": q, "item": r["item"], "score": r["score"]} for q, row in results.items() for r in row
        ]
    }
    columns = Collection(judgments, columns="query=term,doc=item")
    assert rankgate.evaluate(columns, tables, ["RR"]).means.row(0) == ("new", 0.5)
    runs = {"old": [row for query_rows in rows.values() for row in query_rows]}
    assert rankgate.evaluate(judgments, runs, ["RR"]).means.row(0) == ("old", 0.5)


def test_a_table_with_foreign_columns_names_the_collection_to_write():
    labels = {2: "Exact", 1: "Partial", 3: "Exact"}
    table = pl.DataFrame(
        [(query, doc, labels[grade]) for query, doc, grade in JUDGED],
        ["search_term", "sku", "label"],
        orient="row",
    )
    run = pl.DataFrame(
        [(q, doc, i + 1) for q, docs in LISTS.items() for i, doc in enumerate(docs)],
        ["search_term", "sku", "pos"],
        orient="row",
    )
    for judgments in (table, table.to_pandas(), table.to_dicts()):
        with raises("missing-column", source="qrels") as refused:
            Collection(judgments).qrels()
        (line,) = refused.value.suggestions
        copied = eval(line, {"rankgate": rankgate, "judgments": judgments})  # noqa: S307 - ours
        with raises("missing-column", source="run"):
            read_run(run)
        columns = f"{copied.columns},rank=pos"
        named = rankgate.Collection(judgments, columns=columns, grades=copied.grades)
        assert rankgate.evaluate(named, run, ["RR"]).means["RR"][0] == 0.5
    with raises("wrong-type"):
        rankgate.evaluate(JUDGED, str([{"query": "1"}] * 40))


def test_a_log_with_clicks_in_memory_is_mapped(tmp_path):
    log = [
        {
            "session": f"s{i}",
            "query": "red hat",
            "rank": rank,
            "doc": f"d{rank}",
            "clicked": int((i + rank) % 3 == 0),
        }
        for i in range(60)
        for rank in (1, 2, 3)
    ]
    with raises("log-not-judgments") as refused:
        rankgate.evaluate(log, ROWS)
    *lines, _, call = refused.value.suggestions
    (tmp_path / "log.toml").write_text("\n".join(lines))
    call = call.replace("log.toml", str(tmp_path / "log.toml"))
    for source in (log, pl.DataFrame(log), (row for row in log)):
        judgments = eval(call[:-1] + ', model="dctr")', {"rankgate": rankgate, "log": source})  # noqa: S307
        assert (judgments.searches, judgments.pairs) == (60, 3)


def test_a_list_that_repeats_a_document_names_the_option():
    run = {"1": ["20", "30", "20"]}
    with raises("duplicate-document"):
        rankgate.evaluate({"1": {"30": 1}}, run, ["RR"])
    rules = rankgate.convention("trec", ["duplicates=first"])
    assert rankgate.evaluate({"1": {"30": 1}}, run, ["RR"], rules).means["RR"][0] == 0.5


def test_the_page_names_all_kinds_with_the_versions_of_the_tests():
    page = (Path(__file__).parents[2] / "docs" / "sources.md").read_text()
    versions = Path(__file__).with_name("libraries.txt").read_text().replace("==", " ").splitlines()
    for kind in (*ADAPTERS, *ANSWERS):
        label = f"{kind.package} {kind.tested}"
        assert kind.package in {"", "rankgate"} or f"| {label} |" in page
        assert kind.package in {"", "rankgate", "lenskit"} or label in versions


@pytest.mark.parametrize("read", [queries_of, read_candidates, read_described_table])
def test_a_table_on_spark_is_not_read_on_one_machine(read):
    with raises("on-spark", UsageError):
        read(SparkTable("table.parquet"))


def test_a_frame_is_as_it_was():
    frame = pl.DataFrame(ROWS, ["query_id", "doc_id", "score"], orient="row")
    assert read_run(frame).table.rows() == ROWS
