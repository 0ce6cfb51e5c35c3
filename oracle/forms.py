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
    both = [query for query in qrels if run.get(query)]
    return {
        **collection,
        "qrels": {query: qrels[query] for query in both},
        "run": {query: run[query] for query in both},
    }


def complete(collection: Collection) -> Collection:
    """As ``shared``, with all judged documents in the ranking, those not retrieved at its end.

    For tools that take two arrays of one length, grades and scores. Documents that are not
    judged have grade 0 there.
    """
    both = shared(collection)
    run = {
        query: _completed(ranking, both["qrels"][query]) for query, ranking in both["run"].items()
    }
    return {**both, "run": run}


def _completed(ranking: Mapping[str, float], grades: Mapping[str, int]) -> dict[str, float]:
    lowest = min(ranking.values())
    behind = [document for document in grades if document not in ranking]
    step = lowest / (len(behind) + 1)  # above 0: some tools take a score of 0 for no score
    return {**ranking, **{name: lowest - step * i for i, name in enumerate(behind, 1)}}


def relevant(collection: Collection) -> Collection:
    """With the relevant documents alone among the judgments: sets of items, with ratings."""
    qrels = {
        query: {name: grade for name, grade in grades.items() if grade > 0}
        for query, grades in collection["qrels"].items()
    }
    return {**collection, "qrels": {query: grades for query, grades in qrels.items() if grades}}


def listed(collection: Collection) -> Collection:
    """As ``shared``, each ranking in its order, for tools that never see a score."""
    both = shared(collection)
    run = {query: {n: r[n] for n in ranked(r)} for query, r in both["run"].items()}
    return {**both, "run": run}


def listed_relevant(collection: Collection) -> Collection:
    """``relevant`` and ``listed``."""
    return listed(relevant(collection))


def faceted(collection: Collection) -> Collection:
    """As ``shared``, with ``rows`` of judgments by subtopic: query, document, subtopic, grade.

    A document with a grade has one to three of four subtopics, which its name and its grade say.
    """
    both = shared(collection)
    rows = [
        (query, document, str(1 + (seed + i) % 4), max(grade, 0))
        for query, grades in both["qrels"].items()
        for document, grade in grades.items()
        for seed in [sum(document.encode()) + grade]
        for i in range(1 + seed % 3)
    ]
    return {**both, "rows": rows}


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
    each.__name__: each
    for each in (plain, shared, complete, relevant, listed, listed_relevant, faceted)
}
