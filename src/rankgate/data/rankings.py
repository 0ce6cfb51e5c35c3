"""Rankings as a dictionary of dictionaries, which are scored without a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.text.utf8 import refuse_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rankings:
    """``{query_id: {doc_id: score}}``, where a document cannot appear twice.

    Attributes:
        query_ids: the queries.
        rows: their documents with scores.
        lengths: ``(T,)``, the number of documents of each query.
        scores: all scores, query after query, in the order of the dictionaries.
    """

    query_ids: list[str]
    rows: list[Mapping[str, float]]
    lengths: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def of(
        cls, table: Mapping[Any, Mapping[Any, Any]], label: str, *, finite: bool = True
    ) -> Rankings:
        """Check a dictionary.

        Only one document id per query is checked: a dictionary has keys of one kind.

        Args:
            table: the dictionary.
            label: its name in errors.
            finite: True if a score that is not finite is an error.

        Raises:
            InputError: an id that is no string, a score that is not a finite number.
        """
        query_ids, rows = list(table), list(table.values())
        for query, row in zip(query_ids, rows, strict=True):
            if not isinstance(query, str) or not isinstance(next(iter(row), ""), str):
                problem = f"ids must be strings (query {query!r}); turn them into strings first."
                raise InputError(problem, source=label, code="invalid-id")
        refuse_surrogates(query_ids, label)
        lengths, scores = lengths_and_values(rows, "score", label)
        if finite and not (is_finite := np.isfinite(scores)).all():
            first_bad = int(np.argmin(is_finite))
            query = query_ids[int(np.searchsorted(np.cumsum(lengths), first_bad, side="right"))]
            problem = f"score {scores[first_bad]} of query '{query}' is not a finite number."
            raise InputError(problem, source=label, code="not-a-number")
        return cls(query_ids, rows, lengths, scores)


def lengths_and_values(
    rows: Sequence[Mapping[Any, float]], number: str, label: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The lengths of dictionaries, and their values in order.

    Args:
        rows: the dictionaries.
        number: the name of a value in errors.
        label: the name of the source in errors.

    Raises:
        InputError: a value that is no number.
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    values = chain.from_iterable(row.values() for row in rows)
    try:
        return lengths, np.fromiter(values, np.float64, int(lengths.sum()))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"a {number} is not a number: {error}.", source=label, code="not-a-number"
        ) from None
