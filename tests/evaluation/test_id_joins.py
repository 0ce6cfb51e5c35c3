"""Ids of queries and documents that do not meet are one error in every verb; sound sets have none."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.data.id_match import IdRules
from support.command import assert_refused
from support.wording import raises

WORDS = [
    "lamp",
    "mug",
    "hat",
    *(f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in "abcdefgh"),
]
QRELS = {query: {"x": 2, "y": 0} for query in WORDS}
FITTING = {query: {"y": 2.0, "x": 1.0} for query in WORDS}
BAD = {query.replace(" ", "_"): documents for query, documents in FITTING.items()}


def frame(table, value):
    rows = [(query, doc, number) for query, documents in table.items() for doc, number in documents.items()]
    return pl.DataFrame(rows, ["query_id", "doc_id", value], orient="row")


def write_run(path, table):
    rows = [f"{q}\t{d}\t{n}\n" for q, documents in table.items() for d, n in documents.items()]
    path.write_text("query_id\tdoc_id\tscore\n" + "".join(rows))
    return path


VERBS = {
    "evaluate": lambda qrels, run: rankgate.evaluate(qrels, run, ["RR"]),
    "compare": lambda qrels, run: rankgate.compare(qrels, run, run, ["RR"]),
    "gate": lambda qrels, run: rankgate.gate(qrels, run, run),
    "explain": lambda qrels, run: rankgate.explain(qrels, run, "lamp", "RR"),
    "reconcile": lambda qrels, run: rankgate.reconcile(qrels, run, "RR"),
    "holes": lambda qrels, run: rankgate.holes(qrels, run, run),
    "blindspots": rankgate.blindspots,
}

SOURCES = {
    "dict": lambda table, _: table,
    "frame": lambda table, _: frame(table, "score"),
    "pandas": lambda table, _: frame(table, "score").to_pandas(),
    "arrow": lambda table, _: frame(table, "score").to_arrow(),
    "tsv": lambda table, path: write_run(path / "old.tsv", table),
    "matrix": lambda table, _: rankgate.Matrix(np.tile([1.0, 2.0], (len(table), 1)), list(table), ["x", "y"]),
    "folder": lambda table, path: write_folder(path / "old", table),
}


def write_folder(path, table):
    path.mkdir()
    for query, documents in table.items():
        hits = [{"_id": doc, "_score": score} for doc, score in documents.items()]
        (path / f"{query}.json").write_text(json.dumps({"took": 3, "hits": {"hits": hits}}))
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_and_takes_the_line(verb):
    with raises("ids-do-not-fit"):
        VERBS[verb](QRELS, BAD)
    fixed = VERBS[verb](rankgate.Collection(QRELS, ids="underscore"), BAD)
    assert not [notice for notice in fixed.notices if notice.code == "ids-partly-fit"]


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_is_refused_and_takes_the_line(source, tmp_path):
    run = SOURCES[source](BAD, tmp_path)
    with raises("ids-do-not-fit"):
        rankgate.evaluate(QRELS, run, ["RR"])
    fixed = rankgate.evaluate(rankgate.Collection(QRELS, ids="underscore"), run, ["RR"])
    assert fixed.means.row(0)[1] == 0.5
    accepted = rankgate.evaluate(rankgate.Collection(QRELS, ids="as-they-are"), run, ["RR"])
    assert accepted.means.row(0)[1] == pytest.approx(
        0.5 * 3 / len(WORDS), rel=1e-15
    )  # three single words fit
    assert [notice.code for notice in accepted.notices] == ["ids-partly-fit"]


@pytest.mark.parametrize("command", ["eval", "compare", "gate", "holes"])
def test_every_command_refuses_and_takes_the_line(command, run, tmp_path):
    qrels = tmp_path / "qrels.csv"
    qrels.write_text(frame(QRELS, "grade").write_csv())
    runs = [write_run(tmp_path / f"{name}.tsv", BAD) for name in ("old", "new")]
    runs = runs[:1] if command == "eval" else runs
    assert_refused(run(command, qrels, *runs), "ids-do-not-fit")
    assert run(command, qrels, *runs, "--ids", "underscore").code == 0
    collection = tmp_path / "collection.toml"
    collection.write_text('[collection]\njudgments = "qrels.csv"\nids = "underscore"\n')
    assert run(command, collection, *runs).code == 0


def test_documents_that_nearly_fit():
    qrels = {f"q{i}": {f"Doc-{i}-{j}": 1 for j in range(3)} for i in range(9)}
    run = {query: {doc.lower(): 1.0 for doc in documents} for query, documents in qrels.items()}
    with raises("ids-do-not-fit"):
        rankgate.evaluate(qrels, run, ["R@10"])
    collection = rankgate.Collection(qrels, ids="doc=case")
    assert rankgate.evaluate(collection, run, ["R@10"]).means.row(0)[1] == 1


def numbered(numbers, value, prefix="q"):
    return {f"{prefix}{n}": {"x": value} for n in numbers}


SOUND = {
    "a run for a third of the queries": (numbered(range(90), 1), numbered(range(30), 1.0)),
    "a run for one query": (numbered(range(90), 1), numbered(range(1), 1.0)),
    "judgments for a tenth": (numbered(range(10), 1), numbered(range(100), 1.0)),
    "judgments for one query": (numbered(range(1), 1), numbered(range(100), 1.0)),
    "TREC DL: 45 of 200 queries judged": (numbered(range(45), 1), numbered(range(200), 1.0)),
    "one judgment a query, never returned": (
        numbered(range(50), 1),
        {f"q{n}": {"z": 1.0} for n in range(50)},
    ),
    "users without truth": (numbered(range(30), 1, "u"), numbered(range(80), 1.0, "u")),
    "cold users": (numbered(range(80), 1, "u"), numbered(range(60), 1.0, "u")),
    "cold users and users without truth": (numbered(range(60), 1, "u"), numbered(range(20, 160), 1.0, "u")),
    "a few queries renamed": (numbered(range(50), 1), numbered([*range(48), 70, 71], 1.0)),
    "one query each, unrelated": (numbered([1, 2], 1), numbered([2, 3], 1.0)),
    "ids that differ by case": ({"a": {"x": 1}, "A": {"x": 1}}, {"a": {"x": 1.0}, "A": {"x": 1.0}}),
    "ids of words": ({"red shoes": {"x": 1}, "red_shoes": {"x": 1}}, {"red shoes": {"x": 1.0}}),
    "zeros and numbers": ({"7": {"x": 1}, "007": {"x": 1}}, {"7": {"x": 1.0}, "007": {"x": 1.0}}),
    "turns of conversations": (numbered(range(20), 1, "106_"), numbered(range(25), 1.0, "106_")),
    "documents of another run": (
        numbered(range(20), 1),
        {f"q{n}": {f"d{n}{m}": 1.0 for m in range(9)} for n in range(20)},
    ),
    "queries with an empty list": (numbered(range(20), 1), {**numbered(range(15), 1.0), "q19": {}}),
    "many more documents than judged": (
        numbered(range(9), 1),
        {f"q{n}": {f"d{m}": 1.0 for m in range(500)} for n in range(9)},
    ),
    "a subset of both, mostly shared": (numbered(range(100), 1), numbered(range(3, 130), 1.0)),
    "equal ids": (numbered(range(40), 1), numbered(range(40), 1.0)),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_sets_pass_without_a_question(name):
    qrels, run = SOUND[name]
    scores = rankgate.evaluate(qrels, run, ["R@10"])
    hits = sum("x" in run.get(query, {}) for query in qrels)
    assert scores.means.row(0)[1] == pytest.approx(hits / len(qrels), rel=1e-15)
    has_both = bool(set(qrels) - set(run)) and bool(set(run) - set(qrels))
    assert has_both == ("ids-partly-fit" in {notice.code for notice in scores.notices})


def test_several_runs_with_different_coverage():
    runs = {
        "all": numbered(range(40), 1.0),
        "half": numbered(range(20), 1.0),
        "more": numbered(range(90), 1.0),
    }
    assert dict(rankgate.evaluate(numbered(range(40), 1), runs, ["R@10"]).means.rows()) == {
        "all": 1,
        "half": 0.5,
        "more": 1,
    }


def test_rules_keep_what_fits():
    assert IdRules.read("underscore").query == ("underscore",)


def test_tags_whose_queries_do_not_fit():
    tags = pl.DataFrame({"query_id": list(BAD), "length": ["one" if "_" not in q else "two" for q in BAD]})
    with raises("ids-do-not-fit"):
        rankgate.evaluate(rankgate.Collection(QRELS, tags=tags), FITTING, ["RR"], slices=["length"])
    with raises("ids-do-not-fit"):
        rankgate.compare(rankgate.Collection(QRELS, tags=tags), FITTING, FITTING, ["RR"])
    collection = rankgate.Collection(QRELS, tags=tags, ids="underscore")
    scores = rankgate.evaluate(collection, FITTING, ["RR"], slices=["length"])
    assert scores.slices.select("value", "n").rows() == [("one", 3), ("two", 24)]
    accepted = rankgate.Collection(QRELS, tags=tags, ids="as-they-are")
    assert rankgate.evaluate(accepted, FITTING, ["RR"], slices=["length"]).slices["n"].to_list() == [3]


TABLES = {  # field of the collection, what has the ids, the table by query and document
    "training users": ("training", "query", ["query_id", "doc_id"]),
    "training items": ("training", "doc", ["query_id", "doc_id"]),
    "users": ("users", "query", ["query_id", "age"]),
    "items": ("items", "doc", ["doc_id", "kind"]),
}
SHELF = [f"Item {n}" for n in range(12)]
LISTS = {query: dict.fromkeys(SHELF[n % 4 : n % 4 + 6], 1.0) for n, query in enumerate(WORDS)}


def side_table(columns, changed, count=None):
    """Rows of users and items whose ids of one kind are written in another way."""
    spell = {
        "query": lambda text: text.replace(" ", "_") if changed == "query" else text,
        "doc": lambda text: text.upper() if changed == "doc" else text,
    }
    rows = [(spell["query"](query), spell["doc"](SHELF[n % 12])) for n, query in enumerate(WORDS[:count])]
    table = pl.DataFrame(rows, ["query_id", "doc_id"], orient="row")
    if columns != ["query_id", "doc_id"]:
        table = (
            table.select(columns[0]).unique(maintain_order=True).with_columns(pl.lit("x").alias(columns[1]))
        )
    return table.rename({"query_id": "user_id", "doc_id": "item_id"}, strict=False)


@pytest.mark.parametrize("case", TABLES)
def test_tables_of_users_and_items_are_refused_and_take_the_line(case):
    field, kind, columns = TABLES[case]

    def figures(changed, ids=None):
        table = side_table(columns, changed)
        tables = {field: rankgate.Items(table) if field == "items" else table}
        collection = rankgate.Collection(LISTS, ids=ids, **tables)
        return rankgate.scorecard(collection, LISTS, ["Coverage@3", "nDCG@3"], resamples=1)

    with raises("ids-do-not-fit"):
        figures(kind)
    fixed = figures(kind, "underscore" if kind == "query" else "doc=case").to_dict()
    expected = figures(None, "underscore" if kind == "query" else "doc=case").to_dict()
    assert fixed["systems"] == expected["systems"]
    if case == "items":  # a catalogue that nothing judged is in
        with raises("unknown-item"):
            figures(kind, "as-they-are")
    else:
        assert figures(kind, "as-they-are").to_dict()["warnings"]


def test_training_without_the_judged_users_is_no_question():
    table = side_table(["query_id", "doc_id"], None, 12).with_columns(
        ("past " + pl.col("user_id")).alias("user_id")
    )
    other = table.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("user_id"))
    card = rankgate.scorecard(rankgate.Collection(LISTS, training=other), LISTS, ["nDCG@3"], resamples=1)
    assert card.to_dict()["systems"]


def test_a_sample_whose_queries_do_not_fit():
    sample = pl.DataFrame({"query_id": list(BAD), "weight": [1.0 + n for n in range(len(BAD))]})
    for verb in (
        lambda collection: rankgate.evaluate(collection, FITTING, ["RR"]),
        lambda collection: rankgate.compare(collection, FITTING, FITTING, ["RR"]),
    ):
        with raises("ids-do-not-fit"):
            verb(rankgate.Collection(QRELS, sample=sample))
        assert verb(rankgate.Collection(QRELS, sample=sample, ids="underscore"))
    with raises("sample-lacks-query"):
        rankgate.evaluate(rankgate.Collection(QRELS, sample=sample.head(2)), FITTING, ["RR"])


def test_sequences_whose_queries_do_not_fit():
    def sessions(ids):
        numbers = range(len(ids))
        return pl.DataFrame(
            {"query_id": ids, "session": [f"s{n // 3}" for n in numbers], "turn": [n % 3 for n in numbers]}
        )

    def value(ids, rules=None):
        collection = rankgate.Collection(QRELS, sequences=sessions(ids), ids=rules)
        return rankgate.evaluate(collection, FITTING, ["sessionDCG@2"]).means.row(0)[1]

    with raises("ids-do-not-fit"):
        value(list(BAD))
    assert value(list(BAD), "underscore") == value(list(QRELS))
