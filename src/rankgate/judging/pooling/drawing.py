"""Judgments of a sample: inclusion probabilities, and −1 for the rest of the pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels

UNDRAWN_GRADE = -1.0
"""The grade of documents that are in the pool and were not drawn, as infAP takes it."""

_SAMPLE_COLUMNS = ("stratum", "inclusion")


def add_inclusion(qrels: Qrels, sample: pl.DataFrame, rest: Qrels | None = None) -> Qrels:
    """Judgments as estimates from a sample need them.

    Args:
        qrels: grades of drawn documents.
        sample: ``query_id``, ``doc_id``, ``stratum`` and ``inclusion`` of the documents drawn.
        rest: the pool's documents that were not drawn, graded −1.

    Returns:
        the judgments with ``stratum`` and ``inclusion``; with a rest also the drawn documents
        that nobody graded and the rest, graded −1, which have neither.

    Raises:
        InputError: a graded document that is not in the sample, or that is in the rest; a rest
            with grades.
    """
    outside_sample = qrels.table.join(sample, on=PAIR, how="anti")
    if len(outside_sample):
        query, document = outside_sample.row(0)[:2]
        problem = (
            f"document '{document}' of query '{query}' has a grade and is not in the sample "
            f"({len(outside_sample)} such); estimates need to know its chance: take it out."
        )
        raise InputError(problem, source=qrels.name, code="not-in-sample")
    inclusions = sample.select(*PAIR, *(name for name in _SAMPLE_COLUMNS if name in sample.columns))
    table = qrels.table.select(*PAIR, "grade").join(
        inclusions, on=PAIR, how="left", maintain_order="left"
    )
    if rest is not None:
        ungraded = sample.select(PAIR).join(qrels.table, on=PAIR, how="anti", maintain_order="left")
        ungraded_rows = ungraded.with_columns(pl.lit(UNDRAWN_GRADE).alias("grade"))
        table = pl.concat([table, ungraded_rows, _undrawn_rows(qrels, rest)], how="diagonal")
    return replace(qrels, table=table)


def _undrawn_rows(qrels: Qrels, rest: Qrels) -> pl.DataFrame:
    graded_rows = rest.table.filter(pl.col("grade") != UNDRAWN_GRADE)
    if len(graded_rows):
        query, document, grade = graded_rows.select(*PAIR, "grade").row(0)
        problem = (
            f"document '{document}' of query '{query}' has grade {grade:g}, where -1 is needed."
        )
        raise InputError(problem, source=rest.name, code="contradiction")
    overlap = qrels.table.join(rest.table, on=PAIR, how="semi")
    if len(overlap):
        query, document = overlap.row(0)[:2]
        problem = f"document '{document}' of query '{query}' was drawn and is in the rest too."
        raise InputError(problem, source=rest.name, code="contradiction")
    return rest.table.select(*PAIR, "grade")
