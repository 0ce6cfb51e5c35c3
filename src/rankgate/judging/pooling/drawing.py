"""Judgments of a sample: inclusion probabilities, and −1 for the rest of the pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels

UNDRAWN = -1.0
"""The grade of documents that are in the pool and were not drawn, as infAP takes it."""

_CHANCE = ("stratum", "inclusion")


def as_drawn(judged: Qrels, sample: pl.DataFrame, rest: Qrels | None = None) -> Qrels:
    """Judgments as estimates from a sample need them.

    Args:
        judged: grades of drawn documents.
        sample: ``query_id``, ``doc_id``, ``stratum`` and ``inclusion`` of the documents drawn.
        rest: the pool's documents that were not drawn, graded −1.

    Returns:
        the judgments with ``stratum`` and ``inclusion``; with a rest also the drawn documents
        that nobody graded and the rest, graded −1, which have neither.

    Raises:
        InputError: a graded document that is not in the sample, or that is in the rest; a rest
            with grades.
    """
    strange = judged.table.join(sample, on=PAIR, how="anti")
    if len(strange):
        query, document = strange.row(0)[:2]
        problem = (
            f"document '{document}' of query '{query}' has a grade and is not in the sample "
            f"({len(strange)} such); estimates need to know its chance: take it out."
        )
        raise InputError(problem, source=judged.name, code="not-in-sample")
    drawn = sample.select(*PAIR, *(name for name in _CHANCE if name in sample.columns))
    table = judged.table.select(*PAIR, "grade").join(
        drawn, on=PAIR, how="left", maintain_order="left"
    )
    if rest is not None:
        left = sample.select(PAIR).join(judged.table, on=PAIR, how="anti", maintain_order="left")
        open_ = left.with_columns(pl.lit(UNDRAWN).alias("grade"))
        table = pl.concat([table, open_, _undrawn(judged, rest)], how="diagonal")
    return replace(judged, table=table)


def _undrawn(judged: Qrels, rest: Qrels) -> pl.DataFrame:
    graded = rest.table.filter(pl.col("grade") != UNDRAWN)
    if len(graded):
        query, document, grade = graded.select(*PAIR, "grade").row(0)
        problem = (
            f"document '{document}' of query '{query}' has grade {grade:g}, where -1 is needed."
        )
        raise InputError(problem, source=rest.name, code="contradiction")
    both = judged.table.join(rest.table, on=PAIR, how="semi")
    if len(both):
        query, document = both.row(0)[:2]
        problem = f"document '{document}' of query '{query}' was drawn and is in the rest too."
        raise InputError(problem, source=rest.name, code="contradiction")
    return rest.table.select(*PAIR, "grade")
