"""Records as files in a folder, such as ``history/`` in a repository; merges never conflict.

Each record is a file of JSON named by its date and the hash of its content; its values per query
are in a file of Parquet of the same name. Nothing is ever changed, so two branches only add files.
A record states the number of earlier records of the same second: for equal times, the later record
counts. Annotations are files too; stored judgments and runs are in ``inputs/``, named by their
hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import new_folder, save_file
from rankgate.core.present.codec import fits
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation as Origin
from rankgate.store.blobs.blob_folders import from_parquet, to_parquet
from rankgate.store.records.record_notes import Annotation
from rankgate.store.records.records import NewRecord
from rankgate.store.records.series import RECORD_FIELDS, Point, merge_evaluations
from rankgate.store.tables.record_tables import ANNOTATIONS

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import JsonObject


_HASH_LENGTH = 12
_NOTES, _INPUTS = "annotations", "inputs"


@dataclass(frozen=True, eq=False)
class FolderStorage:
    """A folder as a storage of records.

    Attributes:
        folder: the path.
    """

    folder: Path

    @classmethod
    def at(cls, folder: str | Path) -> Self:
        """Open a folder of records.

        Raises:
            UsageError: the path is a file.
        """
        path = Path(folder)
        if path.exists() and not path.is_dir():
            problem = f"{path}: a file, where a folder of records is needed."
            raise UsageError(problem, code="not-a-folder")
        return cls(path)

    @property
    def name(self) -> str:
        """The path of the folder."""
        return str(self.folder)

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Write the files of an evaluation; return their name, and True if they are new."""
        record_paths = sorted(self.folder.glob(f"*-{record.sha256[:_HASH_LENGTH]}.json"))
        if record_paths:
            return record_paths[0].stem, False
        stamp = _format_stamp(record.evaluated_at)
        earlier_count = len(list(self.folder.glob(f"{stamp}-*.json")))
        stem = f"{stamp}-{record.sha256[:_HASH_LENGTH]}"
        if record.per_query is not None:
            self._write(f"{stem}.parquet", to_parquet(record.per_query))
        self._write(f"{stem}.json", _to_json({**record.to_dict(), "earlier": earlier_count}))
        return stem, True

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Write missing judgments and runs, named by their hash."""
        inputs: list[Qrels | Run] = [*runs, *([] if qrels is None else [qrels])]
        for kept_input in inputs:
            name = f"{_INPUTS}/{kept_input.sha256}.parquet"
            if not (self.folder / name).exists():
                self._write(name, to_parquet(kept_input.table))

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write the file of an annotation.

        Raises:
            UsageError: no such kind.
        """
        if kind not in ANNOTATIONS:
            problem = f"no kind of annotation {kind!r}; choose {', '.join(ANNOTATIONS)}."
            raise UsageError(problem, code="unknown-kind")
        annotation = {"at": at.astimezone(UTC).isoformat(), "kind": kind, "text": text, "revision": revision}
        digest = hashlib.sha256(_to_json(annotation)).hexdigest()[:_HASH_LENGTH]
        self._write(f"{_NOTES}/{_format_stamp(at)}-{digest}.json", _to_json(annotation))

    @cached_property
    def _records(self) -> list[tuple[Path, dict[str, Any]]]:
        """Every record in the order of time; for equal times, in the order of recording."""
        if not self.folder.is_dir():
            problem = f"{self.folder}: there is no folder; record an evaluation first."
            raise UsageError(problem, code="no-history")
        records = [(path, _read_json(path)) for path in sorted(self.folder.glob("*.json"))]
        return sorted(
            records, key=lambda record: (str(record[1]["evaluated_at"]), record[1].get("earlier", 0))
        )

    def points(
        self, metric: str | None, system: str | None, slice_name: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of evaluation."""
        return merge_evaluations(self._points(metric, system, slice_name, since))

    def _points(
        self, metric: str | None, system: str | None, slice_name: str, since: datetime | None
    ) -> Iterator[Point]:
        for number, (path, record) in enumerate(self._records):
            evaluated_at = datetime.fromisoformat(record["evaluated_at"])
            if since is not None and evaluated_at < since:
                continue
            record_fields = {name: record[name] for name in (*RECORD_FIELDS, "sha256")}
            for value in record["values"]:
                if (
                    metric in (None, value["metric"])
                    and system in (None, value["system"])
                    and slice_name == value["slice"]
                ):
                    table = path.with_suffix(".parquet")
                    yield Point(
                        **record_fields,
                        **value,
                        record=number,
                        evaluated_at=evaluated_at,
                        per_query=table.name if table.exists() else None,
                        run_sha256=record["inputs"].get("runs", {}).get(value["system"], ""),
                    )

    def annotations(
        self,
        metric: str | None,  # noqa: ARG002 - as of all places
        since: datetime | None,
    ) -> list[Annotation]:
        """The annotations of the folder, which apply to all metrics."""
        matches = []
        for number, path in enumerate(sorted((self.folder / _NOTES).glob("*.json"))):
            fields = _read_json(path)
            happened_at = datetime.fromisoformat(fields["at"])
            if since is None or happened_at >= since:
                matches.append(
                    Annotation(
                        number,
                        path.stem,
                        happened_at,
                        fields["kind"],
                        fields["text"],
                        None,
                        fields["revision"],
                        happened_at,
                        None,
                        "",
                    )
                )
        return matches

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of the record of a point."""
        if point.per_query is None:
            return None
        return self._table(point.per_query)

    def details(self, point: Point) -> dict[str, Any]:
        """The ``inputs`` of a point's record, and its ``convention`` with the axes."""
        inputs = dict(self._records[point.record][1]["inputs"])
        return {"inputs": inputs, "convention": inputs.get("convention")}

    def run(self, sha256: str) -> Run | None:
        """The saved run with a hash, or None."""
        table = self._input(sha256)
        if table is None:
            return None
        return Run(sha256[:_HASH_LENGTH], lambda: iter([table]), place=Origin(self.name))

    def qrels(self, sha256: str) -> Qrels | None:
        """The saved judgments with a hash, or None."""
        table = self._input(sha256)
        return None if table is None else Qrels(table, sha256[:_HASH_LENGTH])

    def _input(self, sha256: str) -> pl.DataFrame | None:
        name = f"{_INPUTS}/{sha256}.parquet"
        return self._table(name) if (self.folder / name).exists() else None

    def _table(self, name: str) -> pl.DataFrame:
        path = self.folder / name
        return from_parquet(path.read_bytes(), str(path))

    def close(self) -> None:
        """Do nothing, because a folder needs no closing."""

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        with new_folder(path.parent, shared=True):
            save_file(path, content)


def _format_stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H%M%SZ")


def _to_json(values: JsonObject) -> bytes:
    return (json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        content = None
    values: dict[str, Any] = content if isinstance(content, dict) else {}
    try:
        if path.parent.name != _NOTES:
            NewRecord.from_dict(values, None, str(path))
            return values
        is_note = fits(values, dict[str, str]) and values.keys() >= {"at", "kind", "text", "revision"}
        if is_note and datetime.fromisoformat(values["at"]):
            return values
    except (ValueError, InputError) as error:
        if getattr(error, "code", "") == "unknown-version":
            raise
    problem = "this is not a record of rankgate, or it is damaged; remove it from the folder."
    raise InputError(problem, source=str(path), code="invalid-record")
