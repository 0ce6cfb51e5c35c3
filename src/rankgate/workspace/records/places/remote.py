"""Records in a project of a server, over its REST API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.place import Place as Origin
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.store.client.client import Client
from rankgate.store.kept.parquet import packed
from rankgate.store.records.annotations import Annotation
from rankgate.store.records.series import Point

if TYPE_CHECKING:
    import polars as pl

    from rankgate.store.records.new_record import NewRecord

_MISSING = "not-found"


@dataclass(frozen=True, eq=False)
class Remote:
    """A project of a server as a place of records.

    Attributes:
        client: of the REST API.
        name: the server and the project.
    """

    client: Client
    name: str

    @classmethod
    def at(cls, url: str, project: str) -> Self:
        """Connect to a server with the token that ``RANKGATE_TOKEN`` holds.

        Raises:
            UsageError: there is no token.
        """
        return cls(Client(url, project), f"{url.rstrip('/')} project {project}")

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Send an evaluation: its number, and whether it is new."""
        words = json.dumps(record.to_dict(), ensure_ascii=False, allow_nan=False).encode()
        sent: dict[str, Any] = {"record": ("record.json", words)}
        if record.per_query is not None:
            sent["per_query"] = ("per_query.parquet", packed(record.per_query))
        done = self.client.send("records", sent)
        return str(done["record"]), bool(done["new"])

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Send judgments and runs."""
        found: list[tuple[str, Qrels | Run]] = [("run", each) for each in runs]
        found += [] if qrels is None else [("judgments", qrels)]
        for kind, each in found:
            self.client.send(
                "records/inputs",
                {"kind": kind, "name": each.name,
                 "table": ("table.parquet", packed(each.table))},
            )  # fmt: skip

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write down what happened at a moment."""
        self.client.post("annotations", at=at.isoformat(), kind=kind, text=text, revision=revision)

    def points(
        self, metric: str | None, system: str | None, part: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of their evaluation."""
        given = {"metric": metric, "system": system, "slice": part or None,
                 "since": None if since is None else since.isoformat()}  # fmt: skip
        found = self.client.get("recorded/points", **_given(given))["points"]
        return [Point(**{**each, "evaluated_at": datetime.fromisoformat(each["evaluated_at"])})
                for each in found]  # fmt: skip

    def annotations(self, metric: str | None, since: datetime | None) -> list[Annotation]:
        """What happened."""
        given = {"metric": metric, "since": None if since is None else since.isoformat()}
        moments = ("at", "recorded_at")
        return [
            Annotation(**{**each, **{name: datetime.fromisoformat(each[name]) for name in moments}})
            for each in self.client.get("recorded/annotations", **_given(given))["annotations"]
        ]

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of a point's record."""
        if point.per_query is None:
            return None
        return self.client.table(f"recorded/{point.record}/file")

    def details(self, point: Point) -> dict[str, Any]:
        """``inputs`` and the ``convention`` with its axes of a point's record."""
        inputs = dict(self.client.get(f"recorded/{point.record}")["record"]["inputs"])
        return {"inputs": inputs, "convention": inputs.get("convention")}

    def run(self, sha256: str) -> Run | None:
        """A run that is kept."""
        table = self._input("run", sha256)
        if table is None:
            return None
        return Run(sha256[:12], lambda: iter([table]), place=Origin(self.name))

    def qrels(self, sha256: str) -> Qrels | None:
        """Judgments that are kept."""
        table = self._input("judgments", sha256)
        return None if table is None else Qrels(table, sha256[:12])

    def _input(self, kind: str, sha256: str) -> pl.DataFrame | None:
        try:
            return self.client.table(f"recorded/inputs/{kind}/{sha256}")
        except UsageError as error:
            if error.code == _MISSING:
                return None
            raise

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
