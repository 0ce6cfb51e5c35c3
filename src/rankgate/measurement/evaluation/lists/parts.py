"""Parts of the catalogue: what is relevant there, and what metrics on lists measure there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.measurement.metrics.lists.restricted import restricted
from rankgate.measurement.scoring.list_values import ListBlock, ListValues

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Flags, Floats, Sums


def relevant_among(judged: Qrels, items: pl.Series) -> Qrels | None:
    """Judgments of some items, of users to whom one of them is relevant; None if there are none.

    Args:
        judged: one grade a document.
        items: ids.
    """
    table = judged.table.filter(pl.col("doc_id").is_in(items.implode()))
    table = table.filter((pl.col("grade") >= 1).any().over("query_id"))
    return None if table.is_empty() else replace(judged, table=table, unjudged=())


def within(block: ListBlock, metrics: Mapping[str, ListMetric], kept: Flags) -> ListValues:
    """What metrics measure on lists that are cut first, and then have a part of the items only.

    Args:
        block: the lists.
        metrics: by label.
        kept: ``(I,)``, which items there are.

    Raises:
        UsageError: something is needed that is not there.
    """
    found: dict[str, Sums | Floats] = {}
    for cutoff in dict.fromkeys(each.cutoff for each in metrics.values()):
        some = {label: each for label, each in metrics.items() if each.cutoff == cutoff}
        own = ListBlock(restricted(block.listed.first(cutoff), kept), block.users)
        found |= own.measure(some).found
    values = {label: found[label] for label in metrics}
    return ListValues(metrics, block.users, block.listed.lengths == 0, values)
