"""Judgments and runs with a fault each, and its code; sound ones, and their reciprocal rank."""

import polars as pl

GOOD = {f"red {n}": {"a": 1, "b": 0} for n in range(12)}
RUN = {query: {"b": 2.0, "a": 1.0} for query in GOOD}


def rows(table):
    return [(query, doc, number) for query, documents in table.items() for doc, number in documents.items()]


def frame(pairs, number):
    columns = {"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}
    return pl.DataFrame(pairs, columns, orient="row")


QRELS_ROWS, RUN_ROWS = rows(GOOD), rows(RUN)
BAD_JOIN = [(query.replace(" ", "_"), doc, score) for query, doc, score in RUN_ROWS]

FAULTS = {  # judgments, run, code
    "ids of another spelling": (QRELS_ROWS, BAD_JOIN, "ids-do-not-fit"),
    "one id fits": (QRELS_ROWS, [*BAD_JOIN[2:], RUN_ROWS[0]], "ids-do-not-fit"),
    "other queries": (QRELS_ROWS, [("x", "a", 1.0)], "queries-differ"),
    "no judgments": ([], RUN_ROWS, "no-judgments"),
    "no run": (QRELS_ROWS, [], "no-rankings"),
    "a blank query": ([*QRELS_ROWS, (" ", "a", 1)], RUN_ROWS, "empty-value"),
    "a blank document": (QRELS_ROWS, [*RUN_ROWS, ("red 1", " ", 1.0)], "empty-value"),
    "a score that is missing": (QRELS_ROWS, [*RUN_ROWS, ("red 1", "c", None)], "not-a-number"),
    "an infinite score": (QRELS_ROWS, [*RUN_ROWS, ("red 1", "c", float("inf"))], "not-a-number"),
    "a document ranked twice": (QRELS_ROWS, [*RUN_ROWS, RUN_ROWS[0]], "duplicate-document"),
    "a document judged twice": ([*QRELS_ROWS, QRELS_ROWS[0]], RUN_ROWS, "duplicate-document"),
}

SOUND = {  # judgments, run, RR
    "as they are": (QRELS_ROWS, RUN_ROWS, 1 / 2),
    "an unrated pair": ([*QRELS_ROWS, ("red 1", "b2", None)], RUN_ROWS, 1 / 2),
    "a run for half": (QRELS_ROWS, RUN_ROWS[:12], 1 / 4),
    "more queries than judged": (QRELS_ROWS, [*RUN_ROWS, ("x", "a", 1.0)], 1 / 2),
}
