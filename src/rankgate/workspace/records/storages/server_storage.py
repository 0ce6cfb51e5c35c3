"""Records in a project of a server, over its REST API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation as Origin
from rankgate.store.blobs.blob_folders import to_parquet
from rankgate.store.client.client import Client
from rankgate.store.records.record_notes import Annotation
from rankgate.store.records.series import Point

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import Json, JsonObject
    from rankgate.store.records.records import NewRecord


_NOT_FOUND_CODE = "not-found"


@dataclass(frozen=True, eq=False)
class ServerStorage:
    """A project of a server as a storage of records.

    Attributes:
        client: the client of the REST API.
        name: the server and the project.
    """

    client: Client
    name: str

    @classmethod
    def at(cls, url: str, project: str) -> Self:
        """Connect to a server with the token in ``RANKGATE_TOKEN``.

        Raises:
            UsageError: there is no token.
        """
        return cls(Client(url, project), f"{url.rstrip('/')} project {project}")

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Send an evaluation; return its number, and True if it is new."""
        content = json.dumps(record.to_dict(), ensure_ascii=False, allow_nan=False).encode()
        files: dict[str, Json] = {"record": ("record.json", content)}
        if record.per_query is not None:
            files["per_query"] = ("per_query.parquet", to_parquet(record.per_query))
        answer = self.client.send("records", files)
        return str(answer["record"]), bool(answer["new"])

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Send judgments and runs."""
        inputs: list[tuple[str, Qrels | Run]] = [("run", run) for run in runs]
        inputs += [] if qrels is None else [("judgments", qrels)]
        for kind, kept_input in inputs:
            self.client.send(
                "records/inputs",
                {
                    "kind": kind,
                    "name": kept_input.name,
                    "table": ("table.parquet", to_parquet(kept_input.table)),
                },
            )

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write an annotation of a moment."""
        self.client.post("annotations", at=at.isoformat(), kind=kind, text=text, revision=revision)

    def points(
        self, metric: str | None, system: str | None, slice_name: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of evaluation."""
        parameters = {
            "metric": metric,
            "system": system,
            "slice": slice_name or None,
            "since": None if since is None else since.isoformat(),
        }
        rows = self.client.get("recorded/points", **_without_none(parameters))["points"]
        return [Point(**{**row, "evaluated_at": datetime.fromisoformat(row["evaluated_at"])}) for row in rows]

    def annotations(self, metric: str | None, since: datetime | None) -> list[Annotation]:
        """The annotations of a metric, and those that apply to all metrics."""
        parameters = {"metric": metric, "since": None if since is None else since.isoformat()}
        moments = ("at", "recorded_at")
        return [
            Annotation(**{**row, **{name: datetime.fromisoformat(row[name]) for name in moments}})
            for row in self.client.get("recorded/annotations", **_without_none(parameters))["annotations"]
        ]

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of the record of a point."""
        if point.per_query is None:
            return None
        return self.client.table(f"recorded/{point.record}/file")

    def details(self, point: Point) -> dict[str, Any]:
        """The ``inputs`` of a point's record, and its ``convention`` with the axes."""
        inputs = dict(self.client.get(f"recorded/{point.record}")["record"]["inputs"])
        return {"inputs": inputs, "convention": inputs.get("convention")}

    def run(self, sha256: str) -> Run | None:
        """The saved run with a hash, or None."""
        table = self._input("run", sha256)
        if table is None:
            return None
        return Run(sha256[:12], lambda: iter([table]), place=Origin(self.name))

    def qrels(self, sha256: str) -> Qrels | None:
        """The saved judgments with a hash, or None."""
        table = self._input("judgments", sha256)
        return None if table is None else Qrels(table, sha256[:12])

    def _input(self, kind: str, sha256: str) -> pl.DataFrame | None:
        try:
            return self.client.table(f"recorded/inputs/{kind}/{sha256}")
        except UsageError as error:
            if error.code == _NOT_FOUND_CODE:
                return None
            raise

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def _without_none(values: JsonObject) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}
