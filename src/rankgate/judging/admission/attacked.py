"""How a judge's grades move when documents are changed in ways that must not move them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.read_ratings import read_ratings
from rankgate.judging.admission.bias import share_over_queries
from rankgate.judging.admission.judged_pairs import JUDGE
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    from rankgate.data.inputs import RatingsLike
    from rankgate.data.qrels import Qrels

ATTACKS = {
    "attack": pl.String,
    "pairs": pl.Int64,
    "queries": pl.Int64,
    "raised": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "lowered": pl.Float64,
    "shift": pl.Float64,
}
"""A row an attack: the share of pairs whose grade rises, with a 95 % interval, or falls; the mean
difference of grades."""

_ATTACKED = "attacked"


def attacks_on(judge: Qrels, attacked: Sequence[RatingsLike]) -> pl.DataFrame:
    """Compare a judge's grades with those of changed documents; a rater of the files is an attack.

    Args:
        judge: the judge's grades of documents as they are.
        attacked: ratings of the same pairs under attack, as ``rate --attack`` writes them.

    Raises:
        InputError: ratings that cannot be read; no pair that the judge graded too.
    """
    plain = judge.table.filter(pl.col("grade") >= 0).select(*PAIR, pl.col("grade").alias(JUDGE))
    rows = []
    for file in attacked:
        ratings = read_ratings(file)
        graded = ratings.table.filter(pl.col("grade").is_not_null())
        last = graded.unique([*PAIR, "rater"], keep="last", maintain_order=True)
        both = last.select(*PAIR, "rater", pl.col("grade").alias(_ATTACKED)).join(plain, on=PAIR)
        if both.is_empty():
            problem = f"no pair is graded in {judge.name} too; rate the same pool under attack."
            raise InputError(problem, source=ratings.name, code="no-common-pairs")
        rows += [_row(str(rater), part) for (rater,), part in both.group_by("rater")]
    return pl.DataFrame(rows, schema=ATTACKS, orient="row").sort("attack")


def _row(attack: str, both: pl.DataFrame) -> tuple[object, ...]:
    rises = pl.col(_ATTACKED) > pl.col(JUDGE)
    falls = pl.col(_ATTACKED) < pl.col(JUDGE)
    shares = both.select(
        rises.mean().alias("raised"),
        falls.mean().alias("lowered"),
        (pl.col(_ATTACKED) - pl.col(JUDGE)).mean().alias("shift"),
    ).row(0)
    raised, lowered, shift = shares
    ends = share_over_queries(both, rises)
    return attack, len(both), both["query_id"].n_unique(), raised, *ends, lowered, shift
