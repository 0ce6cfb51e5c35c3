"""The first items of each list as codes, for what lists are like as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.metrics.lists import NONE, Listed
from rankgate.scoring.index import Index
from rankgate.scoring.tops import tops

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankgate.data.run import Run
    from rankgate.scoring.convention import Convention


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
        run: the run; it is read twice.
        how: the convention.
        depth: K, how far lists are looked at.
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
    pieces = (piece["query_id"].unique() for piece in run.pieces())
    empty = run.queries["query_id"] if run.queries is not None else pl.Series([], dtype=pl.String)
    queries = pl.concat([pl.Series("query_id", [], dtype=pl.String), *pieces, empty]).unique()
    asked = Qrels(pl.DataFrame(schema=SCHEMA), unjudged=tuple(queries.sort()))
    index = Index.of(asked)
    table = tops(run, index, how, depth)
    known = () if catalogue is None or isinstance(catalogue, int) else catalogue
    names = dict.fromkeys([*known, *(seen or {}), *table["doc_id"].unique(maintain_order=True)])
    codes = {name: code for code, name in enumerate(names)}
    width = int(table["rank"].max() or 1) if len(table) else 1  # type: ignore[arg-type]
    items = np.full((len(index.query_ids), width), NONE, np.int64)
    rows = index.codes(table["query_id"])
    items[rows, table["rank"].to_numpy() - 1] = [codes[name] for name in table["doc_id"]]
    size = max(len(codes), catalogue if isinstance(catalogue, int) else 0)
    counted = None
    if seen is not None:
        counted = np.zeros(size, np.int64)
        counted[[codes[name] for name in seen]] = list(seen.values())
    return Listed(items, size, counted, people)
