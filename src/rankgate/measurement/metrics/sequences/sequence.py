"""What metrics on sequences see: the rankings of a task, one after another, document by document.

A task is one query with its one ranking, the calls of an agent, the queries of a session, or the
variations of a topic. Shapes: G tasks, Q rankings of a task, K documents of a ranking, I judged
documents of a task, C cited documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.metrics.judged import Counts, Flags, Floats

NOTHING = -1
"""The code of a padded cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Rankings of tasks; unlike a `Judged` block it has documents without judgments too.

    Attributes:
        doc: ``(G, Q, K)`` codes of documents in the order of rank, padded with `NOTHING`.
        grade: ``(G, Q, K)`` grades as judged, also those below 0; NaN for no judgment and in the
            padding.
        source: ``(G, Q, K)`` the document that each passage is a part of, itself where no table
            says otherwise.
        calls: ``(G,)`` rankings of each task.
        ideal: ``(G, I)`` grades from 0 of all judged documents, highest first, padded with 0.
        judged: ``(G,)`` how many documents are judged with a grade of 0 or more.
        position: ``(G, Q)`` the place of each ranking in its task, from 1, or as the table says.
        score: ``(G, Q, K)`` scores of the run, 0 in the padding.
        same: ``(G, Q, K)`` whether a document's id is that of the query: no change of a text.
        tokens: ``(G, Q, K)`` lengths of documents; None where no table says them.
        spent: ``(G, Q)`` tokens of each call; NaN where they are not known.
        seconds: ``(G, Q)`` time of each call; NaN where it is not known.
        cited: ``(G, C)`` codes of the documents that the answer cites, padded with `NOTHING`.
        cited_grade: ``(G, C)`` their grades; NaN for no judgment and in the padding.
        answered: ``(G,)`` 1 for an answer, 0 for a refusal, NaN where it is not known.
        letters: ``(G,)`` how many letters the id of each task has, where it is a text.
        right: ``(G,)`` whether the id of a task is one of its relevant documents.
        values: by the name of a metric of rankings its value for each ranking, ``(G, Q)``.
    """

    doc: Counts
    grade: Floats
    source: Counts
    calls: Counts
    ideal: Floats
    judged: Counts
    position: Floats
    score: Floats
    same: Flags
    tokens: Floats | None = None
    spent: Floats | None = None
    seconds: Floats | None = None
    cited: Counts | None = None
    cited_grade: Floats | None = None
    answered: Floats | None = None
    letters: Counts | None = None
    right: Flags | None = None
    values: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def shown(self) -> Flags:
        """Which cells hold a document, ``(G, Q, K)``."""
        there: Flags = self.doc != NOTHING
        return there

    def hits(self, rel: float) -> Flags:
        """Which documents are relevant, ``(G, Q, K)``."""
        found: Flags = self.grade >= max(rel, 0)  # NaN is less than anything
        return found

    def relevant(self, rel: float) -> Counts:
        """How many documents of each task are relevant, ``(G,)``."""
        if rel <= 0:
            return self.judged
        found: Counts = np.count_nonzero(self.ideal >= rel, axis=-1)
        return found

    def within(self, cutoff: int | None, tokens: int | None = None) -> Flags:
        """Which documents are used: the first of each ranking, as far as a budget of tokens goes.

        Documents are taken in the order of rank until the next one does not fit as a whole.

        Raises:
            UsageError: a budget, and no table says the lengths of documents.
        """
        used = self.shown.copy()
        if cutoff is not None:
            used[..., cutoff:] = False
        if tokens is not None:
            if self.tokens is None:
                raise UsageError(
                    "a budget of tokens needs the lengths of documents; give a table of them and "
                    "its column, as --items passages.csv --length tokens.",
                    code="missing-lengths",
                )
            used &= np.cumsum(np.where(self.shown, self.tokens, 0), axis=-1) <= tokens
        return used

    def new(self, used: Flags, *, of: str = "doc") -> Flags:
        """Which of these documents none before has been, in the whole task, ``(G, Q, K)``.

        Args:
            used: ``(G, Q, K)``, the documents that count.
            of: ``doc`` for passages themselves, ``source`` for the documents they are parts of.
        """
        G = len(used)
        codes = np.where(used, getattr(self, of), NOTHING).reshape(G, -1)
        order = np.argsort(codes, axis=1, kind="stable")
        ordered = np.take_along_axis(codes, order, axis=1)
        first = np.ones_like(ordered, dtype=bool)
        first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        out = np.empty_like(first)
        np.put_along_axis(out, order, first & (ordered != NOTHING), axis=1)
        return out.reshape(used.shape)


def count(flags: Flags) -> Counts:
    """How many are True in each task, ``(G, …) -> (G,)``."""
    found: Counts = np.count_nonzero(flags.reshape(len(flags), -1), axis=1)
    return found


def total(terms: Floats) -> Floats:
    """The sum of each task, ``(G, …) -> (G,)``, the same to the bit under any padding."""
    flat = terms.reshape(len(terms), -1)
    if not flat.shape[1]:
        return np.zeros(len(flat))
    added: Floats = np.cumsum(flat, axis=1)[:, -1]
    return added


def sequences(
    tasks: Sequence[Sequence[Sequence[tuple[str, float | None]]]],
    ideal: Sequence[Sequence[float]] | None = None,
    *,
    tokens: Mapping[str, float] | None = None,
    source: Mapping[str, str] | None = None,
    **more: Floats,
) -> Sequences:
    """Sequences from plain lists, for examples and tests.

    Args:
        tasks: for each task its rankings, best document first: pairs of id and grade; None is a
            document without a judgment.
        ideal: for each task the grades of all judged documents; without it, those in its rankings,
            each document once.
        tokens: the lengths of documents.
        source: the documents that passages are parts of.
        **more: other fields, as arrays.

    >>> sequences([[[("a", 1), ("b", None)], [("a", 1)]]]).calls
    array([2])
    """
    parts = source or {}
    ids = sorted({doc for task in tasks for each in task for doc, _ in each} | {*parts.values()})
    code = {doc: place for place, doc in enumerate(ids)}
    shape = (
        len(tasks),
        max([1, *map(len, tasks)]),
        max([1, *(len(each) for task in tasks for each in task)]),
    )
    docs, sources = np.full(shape, NOTHING, np.int64), np.full(shape, NOTHING, np.int64)
    grade, lengths = np.full(shape, np.nan), np.zeros(shape)
    pools = []
    for g, task in enumerate(tasks):
        pool: dict[str, float] = {}
        for q, ranking in enumerate(task):
            for k, (doc, judged) in enumerate(ranking):
                docs[g, q, k] = code[doc]
                sources[g, q, k] = code[parts.get(doc, doc)]
                lengths[g, q, k] = (tokens or {}).get(doc, 0)
                if judged is not None:
                    grade[g, q, k] = pool[doc] = judged
        pools.append(list(pool.values()) if ideal is None else list(ideal[g]))
    best = [sorted((each for each in pool if each >= 0), reverse=True) for pool in pools]
    ideals = np.zeros((len(tasks), max([1, *map(len, best)])))
    for g, pool_grades in enumerate(best):
        ideals[g, : len(pool_grades)] = pool_grades
    known: dict[str, Floats] = {
        "position": np.tile(np.arange(1.0, shape[1] + 1), (shape[0], 1)),
        "score": np.zeros(shape),
        "same": np.zeros(shape, bool),
        **more,
    }
    return Sequences(
        doc=docs,
        grade=grade,
        source=sources,
        calls=np.array([len(task) for task in tasks]),
        ideal=ideals,
        judged=np.array([len(pool) for pool in best]),
        tokens=lengths if tokens is not None else None,
        **known,  # type: ignore[arg-type]  # fields of arrays
    )
