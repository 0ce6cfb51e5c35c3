"""The value of a dial predicted for each query, from its text and from the lists that are fused.

The gain of each value over the best fixed one is a ridge regression of the features of a query, and the
value with the highest predicted gain is taken. Gains, not best values, are regressed: a query whose
values all do equally well then counts for none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data import Run

PENALTIES = (1.0, 10.0, 100.0, 1000.0)
"""Ridge penalties of standardised features; the best by leave-one-out is taken."""
_TOP = 10  # first documents whose overlap is a feature


@dataclass(frozen=True)
class Prediction:
    """A predictor of the value of a dial.

    Attributes:
        dial: the dial.
        values: its values.
        fixed: the place of the best value for all queries.
        features: the names of the features.
        centres: their means over the training queries.
        scales: their standard deviations.
        coefficients: a row for the constant and for each feature, a column for each value: gains over the
            fixed value.
        penalty: the ridge penalty.
        queries: the number of training queries.
        training_gain: the mean gain over the fixed value, each query predicted by the others.
    """

    dial: str
    values: tuple[Any, ...]
    fixed: int
    features: tuple[str, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    penalty: float
    queries: int
    training_gain: float

    def places(self, features: Floats) -> NDArray[np.intp]:
        """The place of the predicted value of each query.

        Args:
            features: ``(n, F)``, the columns of `features`.
        """
        standard = (features - np.array(self.centres)) / np.array(self.scales)
        gains = np.column_stack([np.ones(len(standard)), standard]) @ np.array(self.coefficients)
        return np.where(gains.max(axis=1) > gains[:, self.fixed], gains.argmax(axis=1), self.fixed)


def fit_prediction(
    dial: str, values: Sequence[Any], names: Sequence[str], features: Floats, table: Floats
) -> Prediction:
    """Fit a predictor to training queries.

    Args:
        dial: the dial.
        values: J values of the dial.
        names: the names of F features.
        features: ``(n, F)``.
        table: ``(n, J)``, the metric of each query at each value, higher is better.
    """
    fixed = int(table.mean(axis=0).argmax())
    gains = table - table[:, [fixed]]
    centres, scales = features.mean(axis=0), features.std(axis=0)
    scales = np.where(scales > 0, scales, 1.0)
    design = np.column_stack([np.ones(len(features)), (features - centres) / scales])
    rows = np.arange(len(gains))
    fits = []
    for penalty in PENALTIES:
        ridge = np.diag([1e-9, *[penalty] * features.shape[1]])
        solution = np.linalg.solve(design.T @ design + ridge, design.T)
        fitted = design @ (coefficients := solution @ gains)
        leverage = np.minimum(np.einsum("nf,fn->n", design, solution), 0.999)[:, None]
        left_out_gains = gains - (gains - fitted) / (1 - leverage)  # predicted by the other queries
        fits.append((float(gains[rows, left_out_gains.argmax(axis=1)].mean()), penalty, coefficients))
    gain, penalty, coefficients = max(fits, key=lambda fit: fit[:2])
    return Prediction(
        dial,
        tuple(values),
        fixed,
        tuple(names),
        tuple(centres.tolist()),
        tuple(scales.tolist()),
        tuple(map(tuple, coefficients.tolist())),
        penalty,
        len(features),
        gain,
    )


def query_features(
    query_ids: Sequence[str], texts: Mapping[str, str], lists: Mapping[str, Run]
) -> tuple[tuple[str, ...], Floats]:
    """The names and the values, ``(n, F)``, of the features of queries, all known before any judgment.

    Of the text: words, their mean length, digits, quotes, words of capitals or with hyphens or other signs.
    Of each list: its length, its first score, its spread, and how far the first score is above the second
    and above the mean, in standard deviations. Of each two lists: common documents among the first 10.

    Args:
        query_ids: the n queries.
        texts: their texts; none if they are unknown.
        lists: the lists that are fused, by name.
    """
    queries = pl.DataFrame({"query_id": list(query_ids)}, {"query_id": pl.String})
    features = queries
    if texts:
        text = pl.col("text").fill_null("")
        word_lists = text.str.split(" ").list.filter(pl.element() != "")
        text_table = pl.DataFrame({"query_id": list(texts), "text": list(texts.values())}, strict=False)
        features = features.join(text_table, "query_id", how="left", maintain_order="left").select(
            "query_id",
            words=word_lists.list.len(),
            letters=word_lists.list.eval(pl.element().str.len_chars()).list.mean(),
            digits=text.str.count_matches(r"\d"),
            quotes=text.str.count_matches(r"[\"'“”«»]"),
            capitals=text.str.count_matches(r"\b[A-Z][A-Z0-9]+\b"),
            signs=text.str.count_matches(r"\w[-_./#+:]\w"),
        )
    tops = {}
    for name, run in lists.items():
        table = run.table.join(queries, "query_id", how="semi")
        rank = pl.col("score").rank("ordinal", descending=True).over("query_id")
        ranked = table.select("query_id", "doc_id", "score", rank=rank)
        tops[name] = ranked.filter(pl.col("rank") <= _TOP).select("query_id", "doc_id")
        score, spread = pl.col("score"), pl.col("score").std(ddof=0).clip(1e-9)
        second = score.filter(pl.col("rank") == 2).first().fill_null(score.max())
        of_list = ranked.group_by("query_id").agg(
            pl.len().alias(f"{name} length"),
            score.max().alias(f"{name} first"),
            spread.alias(f"{name} spread"),
            ((score.max() - second) / spread).alias(f"{name} lead"),
            ((score.max() - score.mean()) / spread).alias(f"{name} height"),
        )
        features = features.join(of_list, "query_id", how="left", maintain_order="left")
    for first, second_name in combinations(tops, 2):
        common = tops[first].join(tops[second_name], on=["query_id", "doc_id"]).group_by("query_id").len()
        common = common.rename({"len": f"{first} and {second_name}"})
        features = features.join(common, "query_id", how="left", maintain_order="left")
    columns = features.drop("query_id")
    values = columns.select(pl.all().cast(pl.Float64).fill_nan(0.0).fill_null(0.0)).to_numpy()
    return tuple(columns.columns), values
