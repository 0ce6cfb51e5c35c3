"""Pairs with grades as lines in TREC's format, for judgments and for the rest of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.document_model import make_printable

if TYPE_CHECKING:
    from collections.abc import Sequence


def trec_lines(pairs: pl.DataFrame, grades: pl.Series | str, advice: str) -> str:
    r"""Pairs as lines ``query 0 document grade``.

    Args:
        pairs: ``query_id`` and ``doc_id``.
        grades: a text for each pair, or one text for all pairs.
        advice: the advice in the error about an id.

    Raises:
        UsageError: an id is not possible in this format.

    >>> trec_lines(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"]}), "-1", "")
    'q 0 d -1\n'
    """
    query_ids, doc_ids = pairs["query_id"], pairs["doc_id"]
    is_wrong = query_ids.is_in(_not_one_word(query_ids)) | doc_ids.is_in(_not_one_word(doc_ids))
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        raise UsageError(
            f"{make_printable(query_ids[row])!r}, {make_printable(doc_ids[row])!r}: TREC's form has no ids "
            f"with blanks; {advice}.",
            code="invalid-id",
        )
    grade_column = pl.lit(grades)
    return "".join(pairs.select(pl.format("{} 0 {} {}\n", "query_id", "doc_id", grade_column))[:, 0])


def _not_one_word(ids: pl.Series) -> Sequence[str]:
    return [name for name in ids.unique() if len(name.split()) != 1]
