"""Rankings as a dictionary of dictionaries, ready to be scored without making a table of them."""

from __future__ import annotations

from collections.abc import Mapping
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
    """``{query_id: {doc_id: score}}``, where a document cannot be twice.

    Attributes:
        query_ids: the queries.
        rows: their documents with scores.
        lengths: ``(T,)``, documents of each.
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

        The ids of documents are looked at one a query: a dictionary has its keys of one kind.

        Args:
            table: the dictionary.
            label: what errors call it.
            finite: whether a score that is not finite is an error.

        Raises:
            InputError: an id that is no string, a score that is not a finite number.
        """
        query_ids, rows = list(table), list(table.values())
        for query, row in zip(query_ids, rows, strict=True):
            if not isinstance(query, str) or not isinstance(next(iter(row), ""), str):
                problem = f"ids must be strings (query {query!r}); turn them into strings first."
                raise InputError(problem, source=label, code="invalid-id")
        refuse_surrogates(query_ids, label)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        values = chain.from_iterable(row.values() for row in rows)
        try:
            scores = np.fromiter(values, np.float64, int(lengths.sum()))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"a score is not a number: {error}.", source=label, code="not-a-number"
            ) from None
        if finite and not (real := np.isfinite(scores)).all():
            place = int(np.argmin(real))
            query = query_ids[int(np.searchsorted(np.cumsum(lengths), place, side="right"))]
            problem = f"score {scores[place]} of query '{query}' is not a finite number."
            raise InputError(problem, source=label, code="not-a-number")
        return cls(query_ids, rows, lengths, scores)
