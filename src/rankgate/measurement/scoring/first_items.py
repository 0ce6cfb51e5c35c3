"""The first items of each list as codes, for metrics on lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.data.id_match import NO_IDS
from rankgate.data.memory.ids import GrowingIds
from rankgate.measurement.metrics.lists import NONE, Listed
from rankgate.measurement.scoring.alignment.aligned_run import AlignedRun
from rankgate.measurement.scoring.alignment.top_documents import first
from rankgate.measurement.scoring.item_catalogue import find_positions
from rankgate.measurement.scoring.scoring_plan import ListBlock, Plan

if TYPE_CHECKING:
    from rankgate.data.run import Batch, Run
    from rankgate.measurement.metrics.lists.list_metric import ListMetric
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.scoring_plan import ListValues


def top_items(
    run: Run, how: Convention, depth: int, query_ids: pl.Series, *, everyone: bool = False
) -> tuple[pl.Series, ItemCodes, pl.Series]:
    """The first items of the lists of some queries, and the items that the codes represent.

    Args:
        run: the run; it is read once.
        how: the convention.
        depth: K, the depth to which lists are compared.
        query_ids: the ids of ``T`` queries, each once.
        everyone: True to include the other queries of the run.

    Returns:
        items, each once; ``(T, K)`` their positions, padded at the end with `NONE`; and the other
        queries of the run, whose lists come last.

    Raises:
        InputError: see ``Run.batches``.
    """
    names = GrowingIds()
    parts = _read_batches(run, names, how, depth)
    other_queries = _strings([])
    if everyone:
        empty = _strings([]) if run.queries is None else run.queries["query_id"]
        all_queries = pl.concat(
            [_strings([]), *(batch_lists.query_ids for batch_lists in parts), empty]
        ).unique()
        other_queries = all_queries.filter(~all_queries.is_in(query_ids.implode())).sort()
    codes = _join_batches(parts, pl.concat([query_ids, other_queries]) if len(other_queries) else query_ids)
    return names.ids, codes, other_queries


def measure_lists(metrics: Mapping[str, ListMetric], lists: Listed) -> ListValues:
    """Measure metrics on lists outside an evaluation: parts and resamples.

    Args:
        metrics: the metrics by label.
        lists: the lists.

    Raises:
        UsageError: an input of a metric is missing.
    """
    block = ListBlock(lists, pl.Series([], dtype=pl.String))
    values = Plan((), (), lists=metrics).measure(block).lists
    assert values is not None
    return values


ItemCodes: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
"""Codes in narrow types: the lists of a million users are long."""


@dataclass(frozen=True, eq=False)
class _ListBatch:
    """Some complete lists: their queries, and the codes of their items, ``(T, K)``."""

    query_ids: pl.Series
    items: ItemCodes


def _read_batches(run: Run, names: GrowingIds, how: Convention, depth: int) -> list[_ListBatch]:
    return run.over_queries(
        lambda read: [_read_batch(batch, names, how, depth) for batch in read(how.duplicates)]
    )


def _read_batch(batch: Batch, names: GrowingIds, how: Convention, depth: int) -> _ListBatch:
    query_ids = batch.frame["query_id"]
    if batch.starts is None:
        list_queries = query_ids.unique(maintain_order=True)
        owner = find_positions(query_ids, list_queries)
    else:
        list_queries = query_ids.gather(batch.starts)
        owner = np.repeat(np.arange(len(list_queries)), np.diff(batch.starts, append=len(query_ids)))
    rows = np.arange(len(owner))
    aligned_run = AlignedRun(
        batch.frame["score"].to_numpy(),
        batch.frame["doc_id"],
        owner,
        np.arange(len(list_queries)),
        rows,
        np.zeros(len(rows)),
        None,
        NO_IDS,
        rows,
        ordered=batch.ordered,
        query_ids=list_queries,
    )
    top = first(aligned_run, how.alignment, depth)
    items = np.full((len(list_queries), int(top.rank.max(initial=1))), NONE, np.int32)
    is_complete = len(top.row) == len(batch.frame)
    row_order = np.argsort(top.row)  # codes are assigned in the order of rows
    doc_ids = batch.frame["doc_id"] if is_complete else batch.frame["doc_id"].gather(top.row[row_order])
    if how.duplicates == "place":  # a placeholder for a duplicate is not an item
        is_item = ~doc_ids.str.ends_with("\0")
        doc_ids, row_order = doc_ids.filter(is_item), row_order[is_item.to_numpy()]
    items[top.owner[row_order], top.rank[row_order] - 1] = names.codes(doc_ids)
    return _ListBatch(list_queries, items)


def _join_batches(parts: list[_ListBatch], query_ids: pl.Series) -> ItemCodes:
    """The lists of some queries, empty for a query without a list; the parts are removed."""
    width = max([batch_lists.items.shape[1] for batch_lists in parts], default=1)
    out = np.full((len(query_ids), width), NONE, np.int32)
    while parts:
        batch_lists = parts.pop()
        row = find_positions(batch_lists.query_ids, query_ids)
        out[row[row != NONE], : batch_lists.items.shape[1]] = batch_lists.items[row != NONE]
    return out


def _strings(ids: Iterable[str]) -> pl.Series:
    return pl.Series("id", list(ids), dtype=pl.String)
