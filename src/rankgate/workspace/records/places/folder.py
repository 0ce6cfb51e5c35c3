"""Records as files of a folder, such as ``history/`` of a repository: merges never conflict.

Each record is a file of JSON named by its date and the hash of its content; its values per query
are in a file of Parquet of the same name. Nothing is ever changed, so two branches only add files.
A record says how many of its second there were before it: of one moment, the later one counts.
Annotations are files too; judgments and runs that are kept are in ``inputs/`` by their hash.
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
from rankgate.core.target import replacing
from rankgate.data.place import Place as Origin
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.store.kept.parquet import packed, unpacked
from rankgate.store.records.annotations import Annotation
from rankgate.store.records.series import Point
from rankgate.store.tables.records import ANNOTATIONS

if TYPE_CHECKING:
    import polars as pl

    from rankgate.store.records.new_record import NewRecord

_LETTERS = 12
_NOTES, _INPUTS = "annotations", "inputs"
_FACTS = ("kind", "name", "revision", "branch", "labels", "qrels_sha256", "queries_sha256",
          "convention", "convention_hash", "verdict", "sha256")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Folder:
    """A folder as a place of records.

    Attributes:
        folder: where.
    """

    folder: Path

    @classmethod
    def at(cls, folder: str | Path) -> Self:
        """The folder of a name.

        Raises:
            UsageError: there is a file of the name.
        """
        place = Path(folder)
        if place.exists() and not place.is_dir():
            problem = f"{place}: a file, where a folder of records is needed."
            raise UsageError(problem, code="not-a-folder")
        return cls(place)

    @property
    def name(self) -> str:
        """The folder."""
        return str(self.folder)

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Write the files of an evaluation: their name, and whether they are new."""
        known = sorted(self.folder.glob(f"*-{record.sha256[:_LETTERS]}.json"))
        if known:
            return known[0].stem, False
        stamp = _stamp(record.evaluated_at)
        earlier = len(list(self.folder.glob(f"{stamp}-*.json")))
        stem = f"{stamp}-{record.sha256[:_LETTERS]}"
        if record.per_query is not None:
            self._write(f"{stem}.parquet", packed(record.per_query))
        self._write(f"{stem}.json", _json({**record.to_dict(), "earlier": earlier}))
        return stem, True

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Write judgments and runs by their hash, unless they are there."""
        found: list[Qrels | Run] = [*runs, *([] if qrels is None else [qrels])]
        for each in found:
            name = f"{_INPUTS}/{each.sha256}.parquet"
            if not (self.folder / name).exists():
                self._write(name, packed(each.table))

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write the file of an annotation.

        Raises:
            UsageError: no such kind.
        """
        if kind not in ANNOTATIONS:
            problem = f"no kind of annotation {kind!r}; choose {', '.join(ANNOTATIONS)}."
            raise UsageError(problem, code="unknown-kind")
        found = {"at": at.astimezone(UTC).isoformat(), "kind": kind, "text": text,
                 "revision": revision}  # fmt: skip
        digest = hashlib.sha256(_json(found)).hexdigest()[:_LETTERS]
        self._write(f"{_NOTES}/{_stamp(at)}-{digest}.json", _json(found))

    @cached_property
    def _records(self) -> list[tuple[Path, dict[str, Any]]]:
        """Every record by its moment; those of one moment as they were recorded."""
        if not self.folder.is_dir():
            problem = f"{self.folder}: there is no folder; record an evaluation first."
            raise UsageError(problem, code="no-history")
        found = [(path, _read(path)) for path in sorted(self.folder.glob("*.json"))]
        return sorted(
            found, key=lambda each: (str(each[1]["evaluated_at"]), each[1].get("earlier", 0))
        )

    def points(
        self, metric: str | None, system: str | None, part: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of their evaluation."""
        return list(self._points(metric, system, part, since))

    def _points(
        self, metric: str | None, system: str | None, part: str, since: datetime | None
    ) -> Iterator[Point]:
        for number, (path, facts) in enumerate(self._records):
            at = datetime.fromisoformat(facts["evaluated_at"])
            if since is not None and at < since:
                continue
            mine = {name: facts[name] for name in _FACTS}
            for value in facts["values"]:
                if (
                    metric in (None, value["metric"])
                    and system in (None, value["system"])
                    and part == value["slice"]
                ):
                    table = path.with_suffix(".parquet")
                    yield Point(
                        **mine, **value, record=number, evaluated_at=at,
                        per_query=table.name if table.exists() else None,
                    )  # fmt: skip

    def annotations(
        self,
        metric: str | None,  # noqa: ARG002 - as of all places
        since: datetime | None,
    ) -> list[Annotation]:
        """What happened; a folder's annotations are about all metrics."""
        found = []
        for number, path in enumerate(sorted((self.folder / _NOTES).glob("*.json"))):
            given = _read(path)
            at = datetime.fromisoformat(given["at"])
            if since is None or at >= since:
                found.append(
                    Annotation(number, path.stem, at, given["kind"], given["text"], None,
                               given["revision"], at, None, "")
                )  # fmt: skip
        return found

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of a point's record."""
        if point.per_query is None:
            return None
        return self._table(point.per_query)

    def details(self, point: Point) -> dict[str, Any]:
        """``inputs`` and the ``convention`` with its axes of a point's record."""
        inputs = dict(self._records[point.record][1]["inputs"])
        return {"inputs": inputs, "convention": inputs.get("convention")}

    def run(self, sha256: str) -> Run | None:
        """A run that is kept."""
        table = self._input(sha256)
        if table is None:
            return None
        return Run(sha256[:_LETTERS], lambda: iter([table]), place=Origin(self.name))

    def qrels(self, sha256: str) -> Qrels | None:
        """Judgments that are kept."""
        table = self._input(sha256)
        return None if table is None else Qrels(table, sha256[:_LETTERS])

    def _input(self, sha256: str) -> pl.DataFrame | None:
        name = f"{_INPUTS}/{sha256}.parquet"
        return self._table(name) if (self.folder / name).exists() else None

    def _table(self, name: str) -> pl.DataFrame:
        path = self.folder / name
        return unpacked(path.read_bytes(), str(path))

    def close(self) -> None:
        """There is nothing to close."""

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{path.parent}: cannot be made: {error.strerror}."
            raise UsageError(problem, code="cannot-write") from None
        with replacing(path) as stream:
            stream.write(content)


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H%M%SZ")


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        found = None
    needed = {"at", "kind"} if path.parent.name == _NOTES else {"evaluated_at", "values"}
    if not isinstance(found, dict) or not needed <= found.keys():
        problem = "this is no record of rankgate; remove it from the folder."
        raise InputError(problem, source=str(path), code="invalid-record")
    return found
