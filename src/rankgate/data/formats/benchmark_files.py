"""Result files of MTEB, and data sets of ir_datasets by their names.

MTEB's files have the means of a task's metrics. The name of a data set looks like
``ir_datasets:vaswani``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, MissingExtraError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import VALUES, make_run
from rankgate.data.formats.format import Format, Note
from rankgate.data.qrels import Qrels
from rankgate.data.run import RUN_SCHEMA
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.json_text import detect_keys, read_record

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


_SPLITS = ("test", "dev", "validation", "train")


def read_mteb(source: InputFile) -> FileContents:
    """The values of the split test, or of the only split, for all subsets by name.

    Raises:
        InputError: no split has scores.
    """
    root = read_record(source)
    task = str(root.get("task_name") or root.get("mteb_dataset_name") or source.stem)
    scores = root.get("scores")
    split_scores = scores if isinstance(scores, dict) else root
    splits = {name: value for name, value in split_scores.items() if name in _SPLITS}
    if not splits:
        problem = "no scores of a split in it, such as test."
        raise InputError(problem, source=source.label, code="missing-key")
    chosen_split = next(name for name in _SPLITS if name in splits)
    values: list[tuple[object, ...]] = []
    for subset, metrics in _metrics_by_subset(splits[chosen_split]):
        system = task if subset in {"", "default"} else f"{task} ({subset})"
        values += [
            (system, None, metric, float(value), None)
            for metric, value in metrics.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and metric != "evaluation_time"
        ]
    other_splits = [name for name in splits if name != chosen_split]
    return FileContents(
        values=pl.DataFrame(values, schema=VALUES, orient="row"),
        notes=Note.of("other splits, which were not read", other_splits),
    )


def _metrics_by_subset(split: object) -> list[tuple[str, dict[str, Any]]]:
    """The metrics of a split by subset: a list of objects, or a single object in older versions."""
    if isinstance(split, list):
        rows = [row for row in split if isinstance(row, dict)]
        return [(str(row.get("hf_subset") or ""), row) for row in rows]
    return [("", split)] if isinstance(split, dict) else []


MTEB_FORMAT = Format(
    name="mteb",
    title="Results of MTEB",
    suffixes=(".json",),
    sniff=detect_keys(
        (
            "an object with the name of a task and its scores by split",
            "task_name|mteb_version|mteb_dataset_name",
            "scores|mteb_dataset_name",
        )
    ),
    read=read_mteb,
    holds=("values",),
    detail=(
        "The means of the metrics of a task, of the split test or of the only one; the system is the task, "
        "with its subset. Values by query are in no such file."
    ),
)


def sniff_ir_datasets(head: bytes, name: str) -> str | None:
    """Nothing: it is named, as in ir_datasets:vaswani."""
    return None


def read_ir_datasets(source: InputFile) -> FileContents:
    """Judgments, the texts of queries and scored documents, if the data set has them."""
    dataset = _load_dataset(source)
    if source.read_as == "qrels" and not dataset.has_qrels():
        problem = "the data set has no judgments; name one that has, such as its test set."
        raise InputError(problem, source=source.label, code="no-judgments")
    if source.read_as == "run" and not dataset.has_scoreddocs():
        problem = "the data set has no scored documents, which would be a run."
        raise InputError(problem, source=source.label, code="no-rankings")
    reads_qrels = source.read_as != "run" and dataset.has_qrels()
    reads_run = source.read_as != "qrels" and dataset.has_scoreddocs()
    reads_queries = source.read_as is None and dataset.has_queries()
    return FileContents(
        qrels=_read_qrels(dataset, source) if reads_qrels else None,
        runs=(_read_run(dataset, source),) if reads_run else (),
        queries=_read_queries(dataset, source) if reads_queries else None,
    )


def _load_dataset(source: InputFile) -> Any:
    """The data set with a name.

    Raises:
        MissingExtraError: ir_datasets is not installed.
        InputError: no data set has this name.
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
    columns = {
        "query_id": [str(row.query_id) for row in rows],
        "doc_id": [str(row.doc_id) for row in rows],
        "score": [float(row.score) for row in rows],
    }
    return make_run(source.label, pl.DataFrame(columns, schema=RUN_SCHEMA), RowLocation(source.label))


def _read_queries(dataset: Any, source: InputFile) -> pl.DataFrame:
    rows = _load_rows(dataset.queries_iter, source)
    return pl.DataFrame(
        {"query_id": [str(row.query_id) for row in rows], "text": [str(row.default_text()) for row in rows]}
    )


def _load_rows(iterate: Callable[[], Any], source: InputFile) -> list[Any]:
    """All rows; they may be downloaded first.

    Raises:
        InputError: the rows cannot be loaded.
    """
    try:
        return list(iterate())
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        problem = f"ir_datasets cannot load it: {error}."
        raise InputError(problem, source=source.label, code="cannot-read") from None


IR_DATASETS_FORMAT = Format(
    name="ir_datasets",
    title="Data sets of ir_datasets by their names",
    suffixes=(),
    sniff=sniff_ir_datasets,
    read=read_ir_datasets,
    holds=("qrels", "runs", "queries"),
    folders=True,
    detail=(
        "ir_datasets:NAME, as in ir_datasets:vaswani, where the package ir_datasets is installed; it may "
        "download the data set. The judgments are those of the data set, its scored documents are a run."
    ),
)
