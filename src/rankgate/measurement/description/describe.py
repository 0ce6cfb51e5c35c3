"""Describe files: their format, contents, overlap and judged share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data import read
from rankgate.data.collection import Collection, collection_file
from rankgate.data.column_map import label_of, mapped
from rankgate.data.contents import FileContents
from rankgate.data.files.checks.opening import part_of
from rankgate.data.formats import registry
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.streams.source import InputFile
from rankgate.measurement.description.described import judgments_of, ranking_of, rated_of
from rankgate.measurement.description.description import (
    Description,
    Descriptions,
    JudgedDepth,
    SharedIds,
)
from rankgate.measurement.description.side_tables import side_tables
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.inputs import ColumnsLike, FileLike
    from rankgate.data.rows import Part


CUTOFF = 10
"""How deep lists are looked at for unjudged documents."""


def describe(
    files: FileLike | Sequence[FileLike],
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    as_: str | None = None,
    cutoff: Cutoff = CUTOFF,
) -> Descriptions:
    """Tell what some files are.

    Args:
        files: a path (``-`` is standard input, ``NAME:PATH`` names the format), judgments, a run,
            contents, a collection, its TOML file or its folder; or a list of these.
        from_: the format of the files; found by looking into them if not given.
        columns: the columns of CSV and TSV files that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are
            grade=ann+bob or grade=rater_*.
        as_: ``qrels`` or ``run``, where a file could be either.
        cutoff: the depth of runs for the share of judged documents.

    Raises:
        InputError: a file that cannot be read, with its line; ``validate`` reports all errors.
        UsageError: no file, no such format or part.
    """
    several: list[Any] = list(files) if isinstance(files, list | tuple) else [files]
    several = mapped(several, columns)
    if not several:
        raise UsageError("no file to describe; give at least one.", code="missing-input")
    part = part_of(as_)
    read = []
    for each in several:
        step(label_of(each))
        read.append(_read(each, from_, part))
    content = [contents for _, contents in read]
    labels = [result.file for result, _ in read]
    return Descriptions(
        tuple(result for result, _ in read), _overlaps(labels, content), _holes(content, cutoff)
    )


def _read(given: FileLike, from_: str | None, as_: Part | None) -> tuple[Description, FileContents]:
    """A description of one file, and what it holds."""
    if isinstance(given, Collection) or (
        isinstance(given, str | Path) and from_ is None and collection_file(given)
    ):
        return _collection(given)
    if not isinstance(given, str | Path | InputFile):
        contents = _in_memory(given, as_)
        return _described("in memory", ("memory", "it is in memory"), (0, ""), contents), contents
    place, found = registry.opened(given, from_)
    reason = "it was named"
    if found is None:
        found, reason = registry.detected(place)
    contents = read.contents_of(place, found.name, as_)
    result = _described(
        place.label,
        (found.name, reason),
        _stored(place if place.path is None else InputFile(place.path)),
        contents,
    )
    return result, contents


def _collection(source: Collection | str | Path) -> tuple[Description, FileContents]:
    """A description of a collection: its judgments, and the tables besides them."""
    collection = Collection.of(source)
    qrels = collection.qrels()
    contents = FileContents(qrels=qrels)
    label = "a collection" if isinstance(source, Collection) else str(source)
    result = _described(label, ("collection", "it names judgments"), (0, ""), contents)
    return replace(result, tables=side_tables(collection, qrels)), contents


def _in_memory(given: Any, as_: Part | None) -> FileContents:
    if isinstance(given, FileContents):
        return given
    if isinstance(given, Qrels) or as_ == "qrels":
        return FileContents(qrels=read.read_qrels(given))
    if isinstance(given, Run) or as_ == "run":
        return FileContents(runs=(read.read_run(given),))
    raise UsageError(
        "a table could be judgments or a run; set as_='qrels' or as_='run'.", code="ambiguous-input"
    )


def _stored(place: InputFile) -> tuple[int, str]:
    """Size and hash of the bytes as they are stored; a folder has neither."""
    if place.path is not None and place.path.is_dir():
        return 0, ""
    total, size = hashlib.sha256(), 0
    with place.raw() as stream:
        while piece := stream.read(1 << 20):
            total.update(piece)
            size += len(piece)
    return size, total.hexdigest()


def _described(
    label: str, known: tuple[str, str], stored: tuple[int, str], contents: FileContents
) -> Description:
    parts = (contents.queries, contents.documents, contents.values)
    queries, documents, values = (None if part is None else len(part) for part in parts)
    return Description(
        label,
        *known,
        *stored,
        judgments_of(contents.qrels) if contents.qrels else None,
        tuple(map(ranking_of, contents.runs)),
        rated_of(contents.ratings) if contents.ratings else None,
        queries,
        documents,
        values,
        contents.notes,
    )


def _overlaps(labels: list[str], content: list[FileContents]) -> tuple[SharedIds, ...]:
    """What each two files have in common."""
    if len(content) < 2:  # one file has nothing in common with another
        return ()
    queries = [_ids(contents, "query_id") for contents in content]
    documents = [_ids(contents, "doc_id") for contents in content]
    return tuple(
        SharedIds(
            labels[i],
            labels[j],
            _common(queries[i], queries[j]),
            _common(documents[i], documents[j]),
        )
        for i, j in combinations(range(len(content)), 2)
    )


def _ids(contents: FileContents, column: str) -> pl.Series:
    """The ids that a file has: those of judgments, runs, ratings; else of queries, documents."""
    tables = [
        *([contents.qrels.table] if contents.qrels else []),
        *(run.table for run in contents.runs),
        *([contents.ratings.table] if contents.ratings else []),
    ]
    others = [contents.queries, contents.documents]
    found = tables or [each for each in others if each is not None and column in each.columns]
    return pl.concat([pl.Series(column, [], pl.String), *(each[column] for each in found)]).unique()


def _common(first: pl.Series, second: pl.Series) -> tuple[int, int, int]:
    both = int(first.is_in(second.implode()).sum()) if len(first) and len(second) else 0
    return len(first), len(second), both


def _holes(content: list[FileContents], cutoff: int) -> tuple[JudgedDepth, ...]:
    """How much of each run each set of judgments knows."""
    sets = [contents.qrels for contents in content if contents.qrels]
    runs = [run for contents in content for run in contents.runs]
    label = f"Judged@{cutoff}"
    items = []
    for qrels in sets:
        known = set(qrels.table["query_id"].unique())
        for run in runs:
            both = known & set(run.table["query_id"].unique())
            share = None
            if both:
                alone = replace(run, queries=None)  # ranking by ranking
                with progress(None):
                    values = evaluate(qrels, alone, label).runs[0].per_query(label)
                share = fmean(values[query] or 0.0 for query in sorted(both))
            items.append(JudgedDepth(qrels.name, run.name, cutoff, share, len(both)))
    return tuple(items)
