"""The input and declaration of metrics on sequences: the rankings of a task in order.

A task is one query with its one ranking, the calls of an agent, the queries of a session, or
the variations of a topic. After the input comes the declaration of a metric on sequences of
rankings.

Shapes: G tasks, Q rankings of a task, K documents of a ranking, I judged documents of a task,
C cited documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Annotated

import numpy as np

from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.metric_declaration import SEQUENCES, Metric, View

if TYPE_CHECKING:
    from rankgate.core.arrays import Flags, Floats
    from rankgate.measurement.metrics.judged_block import Counts


NOTHING = -1
"""The code of a padded cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """The rankings of tasks; unlike a `Judged` block, they include documents without judgments.

    Attributes:
        doc: ``(G, Q, K)`` codes of documents in the order of rank, padded with `NOTHING`.
        grade: ``(G, Q, K)`` grades as judged, also those below 0; NaN for no judgment and in the
            padding.
        source: ``(G, Q, K)`` the document that each passage is a part of, itself without a
            table of documents.
        calls: ``(G,)`` rankings of each task.
        ideal: ``(G, I)`` grades from 0 of all judged documents, highest first, padded with 0.
        judged: ``(G,)`` how many documents are judged with a grade of 0 or more.
        position: ``(G, Q)`` the place of each ranking in its task, from 1, or by the table.
        score: ``(G, Q, K)`` scores of the run, 0 in the padding.
        same: ``(G, Q, K)`` whether a document's id is that of the query: an unchanged text.
        tokens: ``(G, Q, K)`` lengths of documents; None where no table has them.
        spent: ``(G, Q)`` tokens of each call; NaN where they are not known.
        seconds: ``(G, Q)`` time of each call; NaN where it is not known.
        cited: ``(G, C)`` codes of the documents that the answer cites, padded with `NOTHING`.
        cited_grade: ``(G, C)`` their grades; NaN for no judgment and in the padding.
        answered: ``(G,)`` 1 for an answer, 0 for a refusal, NaN where it is not known.
        letters: ``(G,)`` how many letters the id of each task has, where it is a text.
        right: ``(G,)`` whether the id of a task is one of its relevant documents.
        values: the value of each ranking, ``(G, Q)``, by the name of a metric of rankings.
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
    def is_filled(self) -> Flags:
        """True for cells with a document, ``(G, Q, K)``."""
        return self.doc != NOTHING

    def hits(self, rel: float) -> Flags:
        """True for relevant documents, ``(G, Q, K)``."""
        is_hit: Flags = self.grade >= max(rel, 0)  # NaN is less than anything
        return is_hit

    def relevant(self, rel: float) -> Counts:
        """Count the relevant documents of each task, ``(G,)``."""
        if rel <= 0:
            return self.judged
        return np.count_nonzero(self.ideal >= rel, axis=-1)

    def within(self, cutoff: int | None, tokens: int | None = None) -> Flags:
        """True for the first documents of each ranking, within a cutoff and a budget of tokens.

        Documents are taken in the order of rank, until a document does not fit completely.

        Raises:
            UsageError: a budget is given, but no table has the lengths of documents.
        """
        is_used = self.is_filled.copy()
        if cutoff is not None:
            is_used[..., cutoff:] = False
        if tokens is not None:
            if self.tokens is None:
                raise UsageError(
                    "a budget of tokens needs the lengths of documents; give a table of them and its column, "
                    "as --items passages.csv --length tokens.",
                    code="missing-lengths",
                )
            is_used &= np.cumsum(np.where(self.is_filled, self.tokens, 0), axis=-1) <= tokens
        return is_used

    def new(self, is_used: Flags, *, of: str = "doc") -> Flags:
        """True for documents that occur for the first time in their task, ``(G, Q, K)``.

        Args:
            is_used: ``(G, Q, K)``, True for counted documents.
            of: ``doc`` for passages themselves, ``source`` for the documents that contain them.
        """
        G = len(is_used)
        codes = np.where(is_used, getattr(self, of), NOTHING).reshape(G, -1)
        order = np.argsort(codes, axis=1, kind="stable")
        sorted_codes = np.take_along_axis(codes, order, axis=1)
        first = np.ones_like(sorted_codes, dtype=bool)
        first[:, 1:] = sorted_codes[:, 1:] != sorted_codes[:, :-1]
        is_first = np.empty_like(first)
        np.put_along_axis(is_first, order, first & (sorted_codes != NOTHING), axis=1)
        return is_first.reshape(is_used.shape)


def count(flags: Flags) -> Counts:
    """Count the True values of each task, ``(G, …) -> (G,)``."""
    return np.count_nonzero(flags.reshape(len(flags), -1), axis=1)


def total(terms: Floats) -> Floats:
    """The sum for each task, ``(G, …) -> (G,)``, identical for any padding."""
    rows = terms.reshape(len(terms), -1)
    if not rows.shape[1]:
        return np.zeros(len(rows))
    return np.cumsum(rows, axis=1)[:, -1]


def sequences(
    tasks: Sequence[Sequence[Sequence[tuple[str, float | None]]]],
    ideal: Sequence[Sequence[float]] | None = None,
    *,
    tokens: Mapping[str, float] | None = None,
    source: Mapping[str, str] | None = None,
    **more: Floats,
) -> Sequences:
    """Make sequences from plain lists, for examples and tests.

    Args:
        tasks: for each task its rankings, best document first, as pairs of id and grade; the grade
            None means no judgment.
        ideal: for each task the grades of all judged documents; without it, those in its rankings,
            each document once.
        tokens: the lengths of documents.
        source: the documents that contain the passages.
        **more: other fields, as arrays.

    >>> sequences([[[("a", 1), ("b", None)], [("a", 1)]]]).calls
    array([2])
    """
    parts = source or {}
    ids = sorted({doc for task in tasks for ranking in task for doc, _ in ranking} | {*parts.values()})
    code = {doc: index for index, doc in enumerate(ids)}
    shape = (
        len(tasks),
        max([1, *map(len, tasks)]),
        max([1, *(len(ranking) for task in tasks for ranking in task)]),
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
    sorted_grades = [
        sorted((pool_grade for pool_grade in pool if pool_grade >= 0), reverse=True) for pool in pools
    ]
    ideals = np.zeros((len(tasks), max([1, *map(len, sorted_grades)])))
    for g, pool_grades in enumerate(sorted_grades):
        ideals[g, : len(pool_grades)] = pool_grades
    array_fields: dict[str, Floats] = {
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
        judged=np.array([len(pool) for pool in sorted_grades]),
        tokens=lengths if tokens is not None else None,
        **array_fields,  # type: ignore[arg-type]  # fields of arrays
    )


Tokens = Annotated[int, Range(1)]
"""A budget of tokens."""


@dataclass(frozen=True, repr=False)
class SequenceMetric(Metric):
    """A metric with a kernel that takes `Sequences`; everything else is inherited from `Metric`.

    Attributes:
        undefined: True if a task without a value never counts, under any convention: for an
            answered question a precision of refusals has no meaning.
    """

    view: View = SEQUENCES
    scenarios: bool = False
    undefined: bool = False

    @property
    def accepted(self) -> Mapping[str, Parameter]:
        """The parameters; unjudged documents stay where they are, as they are read too."""
        return {name: parameter for name, parameter in super().accepted.items() if name != "judged_only"}
