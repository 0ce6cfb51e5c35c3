"""A project of a server, with the same methods as a project of a store."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankgate.data.qrels import Qrels, Ratings, Scale
from rankgate.data.run import Run
from rankgate.data.streams.journal import Closing
from rankgate.data.table_rows import RowLocation
from rankgate.store.client.client import Client
from rankgate.store.project_collection import project_collection, unknown_in_project

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject
    from rankgate.data.collection import Collection

ALL = "all"
"""The name for the ratings of all batches and of no batch."""


class RemoteProject(Closing):
    """A project of a server: tables by name, results kept by name.

    Args:
        url: the address of the server.
        project: its name.
        token: the token; by default the value of ``RANKGATE_TOKEN``.

    Raises:
        UsageError: there is no token; the server refuses, with its code.
        MissingExtraError: urllib3 is not installed.
    """

    def __init__(self, url: str, project: str, *, token: str | None = None) -> None:
        self.client = Client(url, project, token=token)
        self.name, self.place = project, f"{url.rstrip('/')} project {project}"

    @cached_property
    def _contents(self) -> dict[str, Any]:
        return self.client.get("contents")

    @property
    def policy(self) -> str:
        """The policy of the project's gates, as TOML; empty if the default policy counts."""
        return str(self.client.get("policy")["policy"])

    def run(self, name: str) -> Run:
        """A run with its rankings, read when they are needed.

        Raises:
            UsageError: no run has this name; the error lists the names of all runs.
        """
        run_row = self._named_rows("run", self._contents["runs"], name)

        def pieces() -> Iterator[pl.DataFrame]:
            yield self._table("run", name)

        states = self._table("states", name) if run_row["states"] else None
        return Run(
            name,
            pieces,
            tag=run_row["tag"],
            queries=states,
            place=RowLocation(name),
            ordered=run_row["ordered"],
        )

    def judgments(self, name: str) -> Qrels:
        """Resolved judgments.

        Raises:
            UsageError: no such judgments; the message lists the names.
        """
        judgments_row = self._named_rows("judgments", self._contents["judgments"], name)
        made_by = judgments_row["made_by"] or None
        return Qrels(
            self._table("judgments", name),
            name,
            _scale(judgments_row["scale"]),
            tuple(judgments_row["unjudged"]),
            made_by,
            RowLocation(name),
        )

    def rated_order(self, judgments: str) -> pl.DataFrame:
        """The pairs that people rated, and if one rated it before these judgments were stored."""
        return self._table("order", judgments)

    def rows(self, table: str) -> pl.DataFrame | None:
        """The queries or the documents as a table of texts; None if there are none."""
        rows = self._table(table)
        return rows if len(rows) else None

    def collection(self, stated: str | Collection, *, files: bool = False) -> Collection:
        """A collection of the project, as that of ``StoredProject``.

        Raises:
            UsageError: a name that the project does not have.
        """
        return project_collection(self, stated, files=files)

    def ratings(self, batch: str = ALL) -> Ratings:
        """The ratings of single raters, of one batch or of all.

        Raises:
            UsageError: the batch does not exist, or has no ratings.
        """
        return self._ratings(batch)

    def counted(self, batch: str = ALL, models: str = "fill") -> Ratings:
        """The ratings that judgments are made of: people's, and those of admitted models.

        Raises:
            UsageError: the batch does not exist, or has no ratings.
        """
        return self._ratings(batch, counted=models)

    def _ratings(self, batch: str, **how: str) -> Ratings:
        if batch != ALL:
            self.batch(batch)
        query = {} if batch == ALL else {"name": batch}
        table = self._table("ratings", **query, **how)
        return Ratings(table, self.name, _scale(self._contents["scale"]), RowLocation(self.name))

    def batch(self, name: str) -> int:
        """The number of a batch.

        Raises:
            UsageError: no batch has this name; the error lists the names of all batches.
        """
        return int(self._named_rows("batch", self._contents["batches"], name)["id"])

    def judged(self, name: str) -> Qrels | Ratings:
        """Judgments by name, or else the ratings of a batch, for tools that score by ratings.

        Raises:
            UsageError: there are neither.
        """
        names = {judgments_row["name"] for judgments_row in self._contents["judgments"]}
        if name in names or name not in {
            ALL,
            *(batch_row["name"] for batch_row in self._contents["batches"]),
        }:
            return self.judgments(name)
        return self.counted(name)

    def _named_rows(self, kind: str, rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
        for row in rows:
            if row["name"] == name:
                return row
        raise unknown_in_project(self.name, kind, name, [row["name"] for row in rows])

    def _table(self, kind: str, name: str = "", **query: str) -> pl.DataFrame:
        name_query = {"name": name} if name else {}
        return self.client.table(f"tables/{kind}/file", **name_query, **query)

    def add_batch(self, pairs: pl.DataFrame, name: str, strategy: str = "1") -> int:
        """Make a batch of pairs to be rated; return their number.

        Raises:
            UsageError: the name is taken.
        """
        rows = pairs.rename({"query_id": "query", "doc_id": "document"})
        fields = {"name": name, "strategy": strategy, "pool": ("pool.csv", rows.write_csv().encode())}
        return int(self.client.send("batches", fields)["tasks"])

    def add_judgments(self, qrels: Qrels, name: str) -> None:
        """Keep judgments, with their origin.

        Raises:
            UsageError: the name is that of other judgments.
        """
        out, scale = io.BytesIO(), qrels.scale
        qrels.table.write_parquet(out)
        details = {
            "scale": None
            if scale is None
            else {
                "lowest": scale.lowest,
                "highest": scale.highest,
                "labels": [list(label) for label in scale.labels],
            },
            "unjudged": list(qrels.unjudged),
            "made_by": dict(qrels.made_by or {}),
        }
        self.client.send(
            "tables/judgments",
            {"name": name, "about": json.dumps(details), "table": ("table.parquet", out.getvalue())},
        )

    def add_result(self, result: Result, name: str = "", summary: JsonObject | None = None) -> int:
        """Keep a result; return its number."""
        json_bytes = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False).encode()
        fields = {
            "name": name,
            "about": json.dumps(dict(summary or {})),
            "result": ("result.json", json_bytes),
        }
        return int(self.client.send("results", fields)["result"])

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def _scale(fields: Mapping[str, Any] | None) -> Scale | None:
    if not fields:
        return None
    labels = tuple((grade, str(label)) for grade, label in fields["labels"])
    return Scale(fields["lowest"], fields["highest"], labels)
