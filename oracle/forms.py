"""The forms in which a tool can be given a collection; rankgate is given the very same one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

Collection = dict[str, Any]
Table = Mapping[str, Mapping[str, float]]


def plain(collection: Collection) -> Collection:
    """As it is."""
    return collection


def shared(collection: Collection) -> Collection:
    """Only the queries that are judged and have results, for tools that see one query alone."""
    qrels, run = collection["qrels"], collection["run"]
    shared_queries = [query for query in qrels if run.get(query)]
    return {
        **collection,
        "qrels": {query: qrels[query] for query in shared_queries},
        "run": {query: run[query] for query in shared_queries},
    }


def complete(collection: Collection) -> Collection:
    """As ``shared``, with all judged documents in the ranking, those not retrieved at its end.

    For tools that take two arrays of one length, grades and scores. Documents that are not
    judged have grade 0 there.
    """
    shared_collection = shared(collection)
    run = {
        query: _completed(ranking, shared_collection["qrels"][query])
        for query, ranking in shared_collection["run"].items()
    }
    return {**shared_collection, "run": run}


def _completed(ranking: Mapping[str, float], grades: Mapping[str, int]) -> dict[str, float]:
    lowest = min(ranking.values())
    unranked = [document for document in grades if document not in ranking]
    step = lowest / (len(unranked) + 1)  # above 0: some tools take a score of 0 for no score
    return {**ranking, **{name: lowest - step * i for i, name in enumerate(unranked, 1)}}


def relevant(collection: Collection) -> Collection:
    """With the relevant documents alone among the judgments: sets of items, with ratings."""
    qrels = {
        query: {name: grade for name, grade in grades.items() if grade > 0}
        for query, grades in collection["qrels"].items()
    }
    return {**collection, "qrels": {query: grades for query, grades in qrels.items() if grades}}


def listed(collection: Collection) -> Collection:
    """As ``shared``, each ranking in its order, for tools that never see a score."""
    shared_collection = shared(collection)
    run = {query: {n: r[n] for n in ranked(r)} for query, r in shared_collection["run"].items()}
    return {**shared_collection, "run": run}


def listed_relevant(collection: Collection) -> Collection:
    """``relevant`` and ``listed``."""
    return listed(relevant(collection))


def faceted(collection: Collection) -> Collection:
    """As ``shared``, with ``rows`` of judgments by subtopic: query, document, subtopic, grade.

    A document with a grade has one to three of four subtopics, which its name and its grade say.
    """
    shared_collection = shared(collection)
    rows = [
        (query, document, str(1 + (seed + i) % 4), max(grade, 0))
        for query, grades in shared_collection["qrels"].items()
        for document, grade in grades.items()
        for seed in [sum(document.encode()) + grade]
        for i in range(1 + seed % 3)
    ]
    return {**shared_collection, "rows": rows}


def ranked(ranking: Mapping[str, float]) -> list[str]:
    """The documents by falling score, equal scores in the order of the ranking."""
    return sorted(ranking, key=lambda name: -ranking[name])


def has_ties(collection: Collection, *, single: bool = False) -> bool:
    """Whether two documents of one ranking have the same score, or the same as 32-bit floats."""
    form = "f" if single else "d"
    for ranking in collection["run"].values():
        if len({struct.pack(form, score) for score in ranking.values()}) < len(ranking):
            return True
    return False


FORMS: Mapping[str, Callable[[Collection], Collection]] = {
    form.__name__: form
    for form in (plain, shared, complete, relevant, listed, listed_relevant, faceted)
}
