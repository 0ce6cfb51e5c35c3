"""Parts of the catalogue: relevant items there, and values of metrics on lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.measurement.metrics.lists.restricted import restrict_lists
from rankgate.measurement.scoring.list_values import ListBlock, ListValues

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Flags, Floats, Sums


def relevant_judgments(judged: Qrels, items: pl.Series) -> Qrels | None:
    """Judgments of some items, for users with a relevant one of them; None if there are none.

    Args:
        judged: one grade a document.
        items: ids.
    """
    table = judged.table.filter(pl.col("doc_id").is_in(items.implode()))
    table = table.filter((pl.col("grade") >= 1).any().over("query_id"))
    return None if table.is_empty() else replace(judged, table=table, unjudged=())


def measure_part(
    block: ListBlock, metrics: Mapping[str, ListMetric], is_included: Flags
) -> ListValues:
    """Measure metrics on lists that are cut first, and then limited to a part of the items.

    Args:
        block: the lists.
        metrics: by label.
        is_included: ``(I,)``, True for the items of the part.

    Raises:
        UsageError: a metric lacks an input.
    """
    raw_values: dict[str, Sums | Floats] = {}
    for cutoff in dict.fromkeys(metric.cutoff for metric in metrics.values()):
        cutoff_metrics = {
            label: metric for label, metric in metrics.items() if metric.cutoff == cutoff
        }
        part_block = ListBlock(restrict_lists(block.listed.first(cutoff), is_included), block.users)
        raw_values |= part_block.measure(cutoff_metrics).found
    values = {label: raw_values[label] for label in metrics}
    return ListValues(metrics, block.users, block.listed.lengths == 0, values)
