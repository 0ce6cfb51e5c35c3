"""Describe files: their format, contents, overlap and judged share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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
from rankgate.data.column_map import map_columns, source_label
from rankgate.data.file_contents import FileContents
from rankgate.data.files.checks.open_file import parse_input_kind
from rankgate.data.formats import registry
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.streams.source import InputFile
from rankgate.measurement.description.description import (
    Description,
    Descriptions,
    JudgedDepth,
    SharedIds,
    side_tables,
    summarise_judgments,
    summarise_ratings,
    summarise_run,
)
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.input_types import ColumnsLike, FileLike
    from rankgate.data.streams.source import InputKind


CUTOFF = 10
"""The depth at which lists are checked for unjudged documents."""


def describe(
    files: FileLike | Sequence[FileLike],
    *,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
    grades: Mapping[str, float] | None = None,
    as_: str | None = None,
    cutoff: Cutoff = CUTOFF,
) -> Descriptions:
    """Describe files: format, queries, grades, overlap, hashes.

    Args:
        files: a path (``-`` is standard input, ``NAME:PATH`` names the format), judgments, a run,
            contents, a collection, its TOML file or its folder; or a list of these.
        from_: the format of the files; found by looking into them if not given.
        columns: the columns of files that have no usual name, as in
            query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are
            grade=ann+bob or grade=rater_*.
        grades: the grade of each label, where judgments hold labels, as in Exact=3,Partial=1.
        as_: ``qrels`` or ``run``, where a file could be either.
        cutoff: the depth of runs for the share of judged documents.

    Raises:
        InputError: a file that cannot be read, with its line; ``validate`` reports all errors.
        UsageError: no file, no such format or part.
    """
    files_to_read: list[Any] = list(files) if isinstance(files, list | tuple) else [files]
    files_to_read = map_columns(files_to_read, columns, grades=grades)
    if not files_to_read:
        raise UsageError("no file to describe; give at least one.", code="missing-input")
    forced_part = parse_input_kind(as_)
    read = []
    for file in files_to_read:
        step(source_label(file))
        read.append(_describe_file(file, from_, forced_part))
    content = [contents for _, contents in read]
    labels = [result.file for result, _ in read]
    return Descriptions(
        tuple(result for result, _ in read), _overlaps(labels, content), _judged_depths(content, cutoff)
    )


def _describe_file(
    file: FileLike, from_: str | None, as_: InputKind | None
) -> tuple[Description, FileContents]:
    """A description of one file, and its contents."""
    if isinstance(file, Collection) or (
        isinstance(file, str | Path) and from_ is None and collection_file(file)
    ):
        return _describe_collection(file)
    if not isinstance(file, str | Path | InputFile):
        contents = _in_memory(file, as_)
        return _make_description("in memory", ("memory", "it is in memory"), (0, ""), contents), contents
    input_file, file_format = registry.open_input(file, from_)
    reason = "it was named"
    if file_format is None:
        file_format, reason = registry.detect_format(input_file)
    contents = read.contents_of(input_file, file_format.name, as_)
    result = _make_description(
        input_file.label,
        (file_format.name, reason),
        _size_and_hash(input_file if input_file.path is None else InputFile(input_file.path)),
        contents,
    )
    return result, contents


def _describe_collection(source: Collection | str | Path) -> tuple[Description, FileContents]:
    """A description of a collection: its judgments, and its other tables."""
    collection = Collection.of(source)
    qrels = collection.qrels()
    contents = FileContents(qrels=qrels)
    label = "a collection" if isinstance(source, Collection) else str(source)
    result = _make_description(label, ("collection", "it names judgments"), (0, ""), contents)
    return replace(result, tables=side_tables(collection, qrels)), contents


def _in_memory(contents: Any, as_: InputKind | None) -> FileContents:
    if isinstance(contents, FileContents):
        return contents
    if isinstance(contents, Qrels) or as_ == "qrels":
        return FileContents(qrels=read.read_qrels(contents))
    if isinstance(contents, Run) or as_ == "run":
        return FileContents(runs=(read.read_run(contents),))
    raise UsageError(
        "a table could be judgments or a run; set as_='qrels' or as_='run'.", code="ambiguous-input"
    )


def _size_and_hash(file: InputFile) -> tuple[int, str]:
    """Size and hash of the stored bytes; None for a folder."""
    if file.path is not None and not file.path.is_file():  # a folder, or the name of a data set
        return 0, ""
    total, size = hashlib.sha256(), 0
    with file.raw() as stream:
        while piece := stream.read(1 << 20):
            total.update(piece)
            size += len(piece)
    return size, total.hexdigest()


def _make_description(
    label: str, format_and_reason: tuple[str, str], stored: tuple[int, str], contents: FileContents
) -> Description:
    parts = (contents.queries, contents.documents, contents.values)
    queries, documents, values = (None if table is None else len(table) for table in parts)
    return Description(
        label,
        *format_and_reason,
        *stored,
        summarise_judgments(contents.qrels) if contents.qrels else None,
        tuple(map(summarise_run, contents.runs)),
        summarise_ratings(contents.ratings) if contents.ratings else None,
        queries,
        documents,
        values,
        contents.notes,
    )


def _overlaps(labels: list[str], content: list[FileContents]) -> tuple[SharedIds, ...]:
    """The number of ids that two files have in common, for each pair of files."""
    if len(content) < 2:  # a single file has nothing to be compared with
        return ()
    queries = [_ids(contents, "query_id") for contents in content]
    documents = [_ids(contents, "doc_id") for contents in content]
    return tuple(
        SharedIds(
            labels[i],
            labels[j],
            _shared_counts(queries[i], queries[j]),
            _shared_counts(documents[i], documents[j]),
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
    id_tables = [contents.queries, contents.documents]
    scored_tables = tables or [table for table in id_tables if table is not None and column in table.columns]
    return pl.concat([pl.Series(column, [], pl.String), *(table[column] for table in scored_tables)]).unique()


def _shared_counts(first: pl.Series, second: pl.Series) -> tuple[int, int, int]:
    shared = int(first.is_in(second.implode()).sum()) if len(first) and len(second) else 0
    return len(first), len(second), shared


def _judged_depths(content: list[FileContents], cutoff: int) -> tuple[JudgedDepth, ...]:
    """The share of judged documents in each run, for each set of judgments."""
    sets = [contents.qrels for contents in content if contents.qrels]
    runs = [run for contents in content for run in contents.runs]
    label = f"Judged@{cutoff}"
    depths = []
    for qrels in sets:
        judged_queries = set(qrels.table["query_id"].unique())
        for run in runs:
            shared_queries = judged_queries & set(run.table["query_id"].unique())
            share = None
            if shared_queries:
                plain_run = replace(run, queries=None)  # each ranking is a query
                with progress(None):
                    values = evaluate(qrels, plain_run, label).runs[0].per_query(label)
                share = fmean(values[query] or 0.0 for query in sorted(shared_queries))
            depths.append(JudgedDepth(qrels.name, run.name, cutoff, share, len(shared_queries)))
    return tuple(depths)
