"""Whole queries that tasks read from files by themselves, so that no row has to be moved.

Most files have the rows of a query together, and files of judgments and runs have queries in about
the same order. The column of queries, a small part of a file, shows where the rows of each query
are. Every task gets some queries with the rows to read for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.spark.cells import QUERY, probed, refuse_longest, refuse_other_hash
from rankgate.spark.shipping import numbers_in
from rankgate.spark.spans import Spans

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.spark.pieces import Piece, Pieces

_ROWS = 5 << 18  # of a share, of all tables, if there are that many
_HERE = 4_000_000  # queries whose places are found on the driver; of more, by executors
_APART = 1.5  # stretches of rows for each query of a piece, from which on moving rows is cheaper


@dataclass(frozen=True)
class Part:
    """Rows of a table for one share.

    Attributes:
        table: whose rows they are.
        piece: the rows, from the first to the last of the share's queries.
        own: whether the share has the queries that are here, unless an earlier share has them.
        pure: whether all of the rows are the share's.
    """

    table: int
    piece: Piece
    own: bool
    pure: bool


@dataclass(frozen=True)
class Share:
    """Some whole queries.

    Attributes:
        parts: where their rows are.
        listed: hashes of queries.
        excluded: whether the listed queries are left out: the share then has all other queries of
            its own parts, and otherwise only the listed ones.
    """

    parts: tuple[Part, ...]
    listed: tuple[int, ...]
    excluded: bool

    def wanted(self, read: Sequence[Sequence[pl.DataFrame]]) -> pl.Series:
        """The hashes of the share's queries.

        Args:
            read: the rows of each part.
        """
        listed = pl.Series(self.listed, dtype=pl.UInt64)
        if not self.excluded:
            return listed
        own = [rows for part, rows in zip(self.parts, read, strict=True) if part.own]
        every = pl.concat([each.select(QUERY).to_series() for rows in own for each in rows])
        found = every.unique()
        return found.filter(~found.is_in(listed.implode()))


@dataclass(frozen=True)
class Shares:
    """The queries of some files; each is in one share.

    Attributes:
        every: the shares.
        tables: by whose rows they are, how files are read.
        probe: what some texts hash to on the driver.
    """

    every: tuple[Share, ...]
    tables: Mapping[int, Pieces]
    probe: tuple[int, ...]

    def opened(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[int, pl.DataFrame]]:
        """The rows of the shares whose numbers come, by whose they are.

        Raises:
            InputError: a damaged file; a query has more rows than any ranking.
            UsageError: Polars is another version than the driver's.
        """
        refuse_other_hash(self.probe)
        for number in numbers_in(batches):
            yield self._rows(self.every[number])

    def _rows(self, share: Share) -> dict[int, pl.DataFrame]:
        read = [[*part.piece.frames(self.tables[part.table])] for part in share.parts]
        if not all(part.pure for part in share.parts):
            mine = QUERY.is_in(share.wanted(read).implode())
            read = [
                frames if part.pure else [each.filter(mine) for each in frames]
                for part, frames in zip(share.parts, read, strict=True)
            ]
        tables: dict[int, list[pl.DataFrame]] = {}
        for part, frames in zip(share.parts, read, strict=True):
            tables.setdefault(part.table, []).extend(frames)
        for frames in tables.values():
            refuse_longest(frames)
        return {
            table: pl.concat(frames, how="diagonal", rechunk=False)
            for table, frames in tables.items()
        }


def shares_of(spark: SparkSession, tables: Mapping[int, Pieces], cores: int) -> Shares | None:
    """The queries of files in shares, where that is cheaper than to move their rows.

    Args:
        spark: the session.
        tables: the files of each table, by whose rows they are; the longest decides on the shares.
        cores: how many work.

    Returns:
        None where rows of one query are far apart, or files have queries in different orders; or
        where there are no rows.

    Raises:
        InputError: a damaged file; a column that is missing or holds what it should not.
    """
    if not any(each.rows for each in tables.values()):
        return None
    spans = _laid_out(tables, cores)
    first = _first(spans)
    if first is None:
        return None
    found = spans.here(first) if _queries(spans, first) <= _HERE else spans.by(spark, cores)
    if found is None:
        return None
    places, listed = found
    known = {share: tuple(rows["query"]) for (share,), rows in listed.group_by("share")}
    every = []
    for (share,), rows in places.group_by("share", maintain_order=True):
        parts = tuple(
            _part(spans.pieces[each["piece"]], each) for each in rows.iter_rows(named=True)
        )
        every.append(Share(parts, known.get(share, ()), share < spans.later))
    return Shares(tuple(every), tables, probed())


def _laid_out(tables: Mapping[int, Pieces], cores: int) -> Spans:
    """The rows of all tables, the longest first, in pieces and groups of the size of a share."""
    total = sum(each.rows for each in tables.values())
    part = min(_ROWS / total, 1 / (4 * cores))
    pieces: list[tuple[int, Piece]] = []
    groups: list[int] = []
    later = 0
    for table, each in sorted(tables.items(), key=lambda item: -item[1].rows):
        most = math.ceil(each.rows * part)
        own = [piece for whole in each.every for piece in whole.cut(most)]
        pieces += [(table, piece) for piece in own]
        groups += _groups(own, most, groups[-1] + 1 if groups else 0)
        later = later or groups[-1] + 1
    return Spans(tuple(pieces), tables, tuple(groups), later)


def _first(spans: Spans) -> dict[int, pl.DataFrame] | None:
    """The spans of the first piece of each table, by its number; None as `shares_of`."""
    found = {}
    tables = [table for table, _ in spans.pieces]
    for number in map(tables.index, dict.fromkeys(tables)):
        found[number] = spans.of(number)
        if found[number]["stretches"].sum() > _APART * len(found[number]):
            return None
    return found


def _queries(spans: Spans, first: Mapping[int, pl.DataFrame]) -> float:
    """About how many queries all tables have, by the first piece of each."""
    found = 0.0
    for number, own in first.items():
        table, piece = spans.pieces[number]
        found += len(own) / piece.rows * spans.tables[table].rows
    return found


def _part(whose: tuple[int, Piece], place: Mapping[str, int]) -> Part:
    """The rows of a share in a piece."""
    table, piece = whose
    length = place["end"] - place["begin"]
    here = replace(piece, begin=piece.begin + place["begin"], rows=length)
    return Part(table, here, place["group"] == place["share"], length == place["rows"])


def _groups(pieces: Sequence[Piece], most: int, first: int) -> Iterator[int]:
    """For each piece of a table its group: those that follow each other, of some rows at most."""
    now, size = first, 0
    for piece in pieces:
        if size and size + piece.rows > most:
            now, size = now + 1, 0
        yield now
        size += piece.rows
