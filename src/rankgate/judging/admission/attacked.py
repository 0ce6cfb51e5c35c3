"""Changes of a judge's grades when documents are changed in ways that must not matter."""

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

_ATTACKED_GRADE = "attacked"


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
        graded_ratings = ratings.table.filter(pl.col("grade").is_not_null())
        last = graded_ratings.unique([*PAIR, "rater"], keep="last", maintain_order=True)
        common_pairs = last.select(*PAIR, "rater", pl.col("grade").alias(_ATTACKED_GRADE)).join(
            plain, on=PAIR
        )
        if common_pairs.is_empty():
            problem = f"no pair is graded in {judge.name} too; rate the same pool under attack."
            raise InputError(problem, source=ratings.name, code="no-common-pairs")
        rows += [
            _attack_row(str(rater), attack_pairs)
            for (rater,), attack_pairs in common_pairs.group_by("rater")
        ]
    return pl.DataFrame(rows, schema=ATTACKS, orient="row").sort("attack")


def _attack_row(attack: str, pairs: pl.DataFrame) -> tuple[object, ...]:
    is_raised = pl.col(_ATTACKED_GRADE) > pl.col(JUDGE)
    is_lowered = pl.col(_ATTACKED_GRADE) < pl.col(JUDGE)
    means = pairs.select(
        is_raised.mean().alias("raised"),
        is_lowered.mean().alias("lowered"),
        (pl.col(_ATTACKED_GRADE) - pl.col(JUDGE)).mean().alias("shift"),
    ).row(0)
    raised, lowered, shift = means
    bounds = share_over_queries(pairs, is_raised)
    return attack, len(pairs), pairs["query_id"].n_unique(), raised, *bounds, lowered, shift
