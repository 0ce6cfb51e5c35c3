"""Arguments and errors of trec_eval, without imports of tables."""

from __future__ import annotations

import re
from typing import Any, Literal

from rankgate.core.errors import UsageError

Relevance = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]
"""The formats of judgments."""


def atol(text: str) -> int:
    """The whole number at the beginning of a text, or 0, as C reads it."""
    match = re.match(r"\s*[+-]?\d+", text)
    return int(match[0]) if match else 0


def atof(text: str) -> float:
    """The number at the beginning of a text, or 0, as C reads it."""
    match = re.match(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text)
    return float(match[0]) if match else 0.0


class AbsentQueryError(UsageError):
    """The run lacks a judged query, at which trec_eval 10 stops.

    Attributes:
        query_id: the query.
        before: the values of the queries before it, which trec_eval 10 prints; a `TrecEvaluation`,
            whose module imports tables.
    """

    def __init__(self, query_id: str, before: Any) -> None:  # noqa: ANN401 - see above
        super().__init__(
            f"query '{query_id}' is not in the run; with -c such queries count as 0.", code="unknown-query"
        )
        self.query_id = query_id
        self.before = before
