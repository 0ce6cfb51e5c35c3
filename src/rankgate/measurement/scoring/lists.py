"""The first items of each list as codes, for metrics on lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import Growing
from rankgate.measurement.metrics.lists import NONE, Listed
from rankgate.measurement.scoring.alignment.first import first
from rankgate.measurement.scoring.alignment.met import Met
from rankgate.measurement.scoring.catalogue import places
from rankgate.measurement.scoring.list_values import ListBlock
from rankgate.measurement.scoring.plan import Plan

if TYPE_CHECKING:
    from rankgate.data.run import Batch, Run
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.list_values import ListValues


def listed(
    run: Run,
    how: Convention,
    depth: int,
    *,
    catalogue: int | Iterable[str] | None = None,
    seen: Mapping[str, int] | None = None,
    people: int = 0,
) -> Listed:
    """The first items of every list of a run, in the order in which a convention puts them.

    Args:
        run: the run; it is read once, batch by batch, and only codes are kept.
        how: the convention.
        depth: K, the depth to which lists are compared.
        catalogue: the items there are, or how many; those of ``seen`` and those shown are counted
            with the items, and None is these alone.
        seen: how many people each item was known to before.
        people: how many people those are of.

    Returns:
        one list a query of the run, in byte order of the queries; empty ones where a query
        returned nothing.

    Raises:
        InputError: as ``Run.batches``.
    """
    known = () if catalogue is None or isinstance(catalogue, int) else catalogue
    names = Growing(_strings([*known, *(seen or {})]).unique(maintain_order=True))
    parts = _parts(run, names, how, depth)
    empty = _strings([]) if run.queries is None else run.queries["query_id"]
    heads = pl.concat([_strings([]), *(part.query_ids for part in parts), empty]).unique().sort()
    items = _together(parts, heads).astype(np.int64)
    size = max(len(names.ids), catalogue if isinstance(catalogue, int) else 0)
    counted = None
    if seen is not None:
        counted = np.zeros(size, np.int64)
        counted[names.codes(_strings(seen))] = list(seen.values())
    return Listed(items, size, counted, people)


def firsts(
    run: Run, how: Convention, depth: int, query_ids: pl.Series, *, everyone: bool = False
) -> tuple[pl.Series, Places, pl.Series]:
    """The first items of the lists of some queries, and the items that the codes represent.

    Args:
        run: the run; it is read once.
        how: the convention.
        depth: K, the depth to which lists are compared.
        query_ids: ``T`` queries, each once.
        everyone: whether the other queries of the run are wanted too.

    Returns:
        items, each once; ``(T, K)`` their places, padded behind with `NONE`; and the other queries
        of the run, whose lists come last.

    Raises:
        InputError: as ``Run.batches``.
    """
    names = Growing()
    parts = _parts(run, names, how, depth)
    others = _strings([])
    if everyone:
        empty = _strings([]) if run.queries is None else run.queries["query_id"]
        heads = pl.concat([_strings([]), *(part.query_ids for part in parts), empty]).unique()
        others = heads.filter(~heads.is_in(query_ids.implode())).sort()
    codes = _together(parts, pl.concat([query_ids, others]) if len(others) else query_ids)
    return names.ids, codes, others


def measured_lists(metrics: Mapping[str, ListMetric], listed: Listed) -> ListValues:
    """What some metrics measure on lists that are no evaluation of their own: parts, resamples.

    Args:
        metrics: by label.
        listed: the lists.

    Raises:
        UsageError: something is needed that is not there.
    """
    block = ListBlock(listed, pl.Series([], dtype=pl.String))
    found = Plan((), (), lists=metrics).measure(block).lists
    assert found is not None
    return found


Places: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
"""Codes in as little room as there may be: a list of each of a million users is long."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Some whole lists: their queries, and the codes of their items, ``(T, K)``."""

    query_ids: pl.Series
    items: Places


def _parts(run: Run, names: Growing, how: Convention, depth: int) -> list[_Part]:
    return run.over_queries(
        lambda read: [_part(batch, names, how, depth) for batch in read(how.duplicates)]
    )


def _part(batch: Batch, names: Growing, how: Convention, depth: int) -> _Part:
    query_ids = batch.frame["query_id"]
    if batch.starts is None:
        heads = query_ids.unique(maintain_order=True)
        owner = places(query_ids, heads)
    else:
        heads = query_ids.gather(batch.starts)
        owner = np.repeat(np.arange(len(heads)), np.diff(batch.starts, append=len(query_ids)))
    rows = np.arange(len(owner))
    every = Met(
        batch.frame["score"].to_numpy(),
        batch.frame["doc_id"],
        owner,
        np.arange(len(heads)),
        rows,
        np.zeros(len(rows)),
        None,
        0,
        rows,
        ordered=batch.ordered,
        query_ids=heads,
    )
    top = first(every, how.alignment, depth)
    items = np.full((len(heads), int(top.rank.max(initial=1))), NONE, np.int32)
    whole = len(top.row) == len(batch.frame)
    by = np.argsort(top.row)  # codes are given in the order of rows
    shown = batch.frame["doc_id"] if whole else batch.frame["doc_id"].gather(top.row[by])
    if how.duplicates == "place":  # what holds its place for nothing is no item
        real = ~shown.str.ends_with("\0")
        shown, by = shown.filter(real), by[real.to_numpy()]
    items[top.owner[by], top.rank[by] - 1] = names.codes(shown)
    return _Part(heads, items)


def _together(parts: list[_Part], query_ids: pl.Series) -> Places:
    """The lists of some queries; those that have none hold nothing. Parts are used up."""
    width = max([part.items.shape[1] for part in parts], default=1)
    out = np.full((len(query_ids), width), NONE, np.int32)
    while parts:
        part = parts.pop()
        row = places(part.query_ids, query_ids)
        out[row[row != NONE], : part.items.shape[1]] = part.items[row != NONE]
    return out


def _strings(ids: Iterable[str]) -> pl.Series:
    return pl.Series("id", list(ids), dtype=pl.String)
