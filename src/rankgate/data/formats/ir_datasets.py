"""Data sets of ir_datasets by their names: ``ir_datasets:vaswani``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, MissingExtraError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import make_run
from rankgate.data.formats.format import Format
from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


def sniff(head: bytes, name: str) -> str | None:
    """Nothing: it is named, as in ir_datasets:vaswani."""
    return None


def read(source: InputFile) -> FileContents:
    """Judgments, the texts of queries and scored documents, as far as the data set has them."""
    dataset = _load_dataset(source)
    return FileContents(
        qrels=_read_qrels(dataset, source) if dataset.has_qrels() else None,
        runs=(_read_run(dataset, source),) if dataset.has_scoreddocs() else (),
        queries=_read_queries(dataset, source) if dataset.has_queries() else None,
    )


def read_qrels(source: InputFile) -> Qrels:
    """The judgments alone."""
    dataset = _load_dataset(source)
    if not dataset.has_qrels():
        problem = "the data set has no judgments; name one that has, such as its test set."
        raise InputError(problem, source=source.label, code="no-judgments")
    return _read_qrels(dataset, source)


def read_run(source: InputFile) -> Run:
    """The scored documents as a run."""
    dataset = _load_dataset(source)
    if not dataset.has_scoreddocs():
        problem = "the data set has no scored documents, which would be a run."
        raise InputError(problem, source=source.label, code="no-rankings")
    return _read_run(dataset, source)


def _load_dataset(source: InputFile) -> Any:
    """The data set of a name.

    Raises:
        MissingExtraError: ir_datasets is not installed.
        InputError: no data set has the name.
    """
    if source.content is not None:
        problem = "a data set of ir_datasets is named, as in ir_datasets:vaswani, and has no file."
        raise InputError(problem, source=source.label, code="wrong-type")
    try:
        import ir_datasets
    except ImportError:
        message = "ir_datasets:NAME needs the package ir_datasets: pip install ir_datasets."
        raise MissingExtraError(message) from None
    try:
        return ir_datasets.load(source.label)
    except KeyError:
        problem = "ir_datasets has no data set of this name; see https://ir-datasets.com."
        raise InputError(problem, source=source.label, code="no-such-dataset") from None


def _read_qrels(dataset: Any, source: InputFile) -> Qrels:
    rows = _load_rows(dataset.qrels_iter, source)
    columns = {
        "query_id": [str(row.query_id) for row in rows],
        "doc_id": [str(row.doc_id) for row in rows],
        "grade": [float(row.relevance) for row in rows],
    }
    if rows and hasattr(rows[0], "subtopic_id"):
        columns["subtopic"] = [str(row.subtopic_id) for row in rows]
    return Qrels(pl.DataFrame(columns), name=source.label, place=RowLocation(source.label))


def _read_run(dataset: Any, source: InputFile) -> Run:
    rows = _load_rows(dataset.scoreddocs_iter, source)
    return make_run(
        source.label,
        [str(row.query_id) for row in rows],
        [str(row.doc_id) for row in rows],
        [float(row.score) for row in rows],
        label=source.label,
    )


def _read_queries(dataset: Any, source: InputFile) -> pl.DataFrame:
    rows = _load_rows(dataset.queries_iter, source)
    return pl.DataFrame(
        {
            "query_id": [str(row.query_id) for row in rows],
            "text": [str(row.default_text()) for row in rows],
        }
    )


def _load_rows(iterate: Callable[[], Any], source: InputFile) -> list[Any]:
    """All rows, which may be downloaded first.

    Raises:
        InputError: they cannot be loaded.
    """
    try:
        return list(iterate())
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        problem = f"ir_datasets cannot load it: {error}."
        raise InputError(problem, source=source.label, code="cannot-read") from None


FORMAT = Format(
    name="ir_datasets",
    title="Data sets of ir_datasets by their names",
    suffixes=(),
    sniff=sniff,
    read=read,
    read_qrels=read_qrels,
    read_run=read_run,
    holds=("qrels", "runs", "queries"),
    folders=True,
    detail=(
        "ir_datasets:NAME, as in ir_datasets:vaswani, where the package ir_datasets is installed; "
        "it may download the data set. The judgments are those of the data set, its scored "
        "documents are a run."
    ),
)
