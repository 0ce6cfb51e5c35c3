"""Result files of MTEB: the means of a task's metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES
from rankgate.data.formats.format import Format, Note
from rankgate.data.text.json_keys import has_keys
from rankgate.data.text.json_reader import require_object
from rankgate.data.text.json_text import read_document

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_SPLITS = ("test", "dev", "validation", "train")


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with task_name, scores and mteb_version, or with mteb_dataset_name."""
    is_current = has_keys(first_bytes, "task_name", "scores") or has_keys(
        first_bytes, "mteb_version", "scores"
    )
    if is_current or has_keys(first_bytes, "mteb_dataset_name"):
        return "an object with the name of a task and its scores by split"
    return None


def read(source: InputFile) -> FileContents:
    """The values of the split test, or of the only split; all subsets, by their names.

    Raises:
        InputError: no split with scores.
    """
    root = require_object(read_document(source), source)
    task = str(root.get("task_name") or root.get("mteb_dataset_name") or source.stem)
    scores = root.get("scores") if isinstance(root.get("scores"), dict) else root
    splits = {name: value for name, value in (scores or {}).items() if name in _SPLITS}
    if not splits:
        problem = "no scores of a split in it, such as test."
        raise InputError(problem, source=source.label, code="missing-key")
    chosen_split = next(name for name in _SPLITS if name in splits)
    values: list[tuple[Any, ...]] = []
    for subset, metrics in _metrics_by_subset(splits[chosen_split]):
        system = task if subset in {"", "default"} else f"{task} ({subset})"
        values += [
            (system, None, metric, float(value), None)
            for metric, value in metrics.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
    other_splits = [name for name in splits if name != chosen_split]
    return FileContents(
        values=pl.DataFrame(values, schema=VALUES, orient="row"),
        notes=Note.of("other splits, which were not read", other_splits),
    )


def _metrics_by_subset(split: Any) -> list[tuple[str, dict[str, Any]]]:
    """The metrics of a split by subset: a list of objects, or one object in older versions."""
    if isinstance(split, list):
        rows = [row for row in split if isinstance(row, dict)]
        return [(str(row.get("hf_subset") or ""), row) for row in rows]
    return [("", split)] if isinstance(split, dict) else []


FORMAT = Format(
    name="mteb",
    title="Results of MTEB",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    holds=("values",),
    detail=(
        "The means of the metrics of a task, of the split test or of the only one; the system is "
        "the task, with its subset. Values by query are in no such file."
    ),
)
