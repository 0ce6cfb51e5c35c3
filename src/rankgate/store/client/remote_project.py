"""One project of a server, as commands use a project of a store."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.errors import UsageError
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, Scale
from rankgate.data.ratings import Ratings
from rankgate.data.run import Run
from rankgate.data.streams.closing import Closing
from rankgate.store.client.client import Client

if TYPE_CHECKING:
    import polars as pl

ALL = "all"
"""The name of the ratings of all batches, and of no batch."""


class Kept(Protocol):
    """A result, as all verbs return it."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        ...


class RemoteProject(Closing):
    """A project of a server: tables by name, results kept by name.

    Args:
        url: where the server is.
        project: its name.
        token: by default what ``RANKGATE_TOKEN`` holds.

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

    def run(self, name: str) -> Run:
        """A run with its rankings, read when they are needed.

        Raises:
            UsageError: no run has this name; the error lists the names of all runs.
        """
        found = self._named("run", self._contents["runs"], name)

        def pieces() -> Iterator[pl.DataFrame]:
            yield self._table("run", name)

        states = self._table("states", name) if found["states"] else None
        return Run(name, pieces, tag=found["tag"], queries=states, place=Place(name),
                   ordered=found["ordered"])  # fmt: skip

    def judgments(self, name: str) -> Qrels:
        """Resolved judgments.

        Raises:
            UsageError: there are none; the names of those that there are.
        """
        found = self._named("judgments", self._contents["judgments"], name)
        made_by = found["made_by"] or None
        return Qrels(self._table("judgments", name), name, _scale(found["scale"]),
                     tuple(found["unjudged"]), made_by, Place(name))  # fmt: skip

    def ratings(self, batch: str = ALL) -> Ratings:
        """The ratings of single raters, of one batch or of all.

        Raises:
            UsageError: there is no such batch; there are none.
        """
        return self._ratings(batch)

    def counted(self, batch: str = ALL, models: str = "fill") -> Ratings:
        """The ratings that judgments are made of: people's, and those of admitted models.

        Raises:
            UsageError: there is no such batch; there are none.
        """
        return self._ratings(batch, counted=models)

    def _ratings(self, batch: str, **how: str) -> Ratings:
        if batch != ALL:
            self.batch(batch)
        given = {} if batch == ALL else {"name": batch}
        table = self._table("ratings", **given, **how)
        return Ratings(table, self.name, _scale(self._contents["scale"]), Place(self.name))

    def batch(self, name: str) -> int:
        """The number of a batch.

        Raises:
            UsageError: no batch has this name; the error lists the names of all batches.
        """
        return int(self._named("batch", self._contents["batches"], name)["id"])

    def judged(self, name: str) -> Qrels | Ratings:
        """Judgments by name, or else the ratings of a batch, for tools that score by ratings.

        Raises:
            UsageError: there are neither.
        """
        known = {each["name"] for each in self._contents["judgments"]}
        if name in known or name not in {
            ALL, *(each["name"] for each in self._contents["batches"])
        }:  # fmt: skip
            return self.judgments(name)
        return self.counted(name)

    def _named(self, what: str, found: list[dict[str, Any]], name: str) -> dict[str, Any]:
        for each in found:
            if each["name"] == name:
                return each
        raise self._unknown(what, name, [each["name"] for each in found])

    def _unknown(self, what: str, name: str, known: list[str]) -> UsageError:
        listed = f"; there are {', '.join(known[:10])}" if known else ""
        return UsageError(
            f"the project {self.name} has no {what} {name!r}{listed}.", code=f"unknown-{what}"
        )

    def _table(self, kind: str, name: str = "", **query: str) -> pl.DataFrame:
        given = {"name": name} if name else {}
        return self.client.table(f"tables/{kind}/file", **given, **query)

    def add_batch(self, pairs: pl.DataFrame, name: str, strategy: str = "1") -> int:
        """Make a batch of pairs to be rated; how many there are.

        Raises:
            UsageError: the name is taken.
        """
        rows = pairs.rename({"query_id": "query", "doc_id": "document"})
        sent = {"name": name, "strategy": strategy, "pool": ("pool.csv", rows.write_csv().encode())}
        return int(self.client.send("batches", sent)["tasks"])

    def add_judgments(self, qrels: Qrels, name: str) -> None:
        """Keep judgments, with how they were made.

        Raises:
            UsageError: the name is that of other judgments.
        """
        out, scale = io.BytesIO(), qrels.scale
        qrels.table.write_parquet(out)
        about = {
            "scale": None if scale is None else {
                "lowest": scale.lowest, "highest": scale.highest,
                "labels": [list(each) for each in scale.labels]},
            "unjudged": list(qrels.unjudged),
            "made_by": dict(qrels.made_by or {}),
        }  # fmt: skip
        self.client.send("tables/judgments", {
            "name": name, "about": json.dumps(about), "table": ("table.parquet", out.getvalue())
        })  # fmt: skip

    def add_result(
        self, result: Kept, name: str = "", summary: Mapping[str, Any] | None = None
    ) -> int:
        """Keep a result; its number."""
        words = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False).encode()
        sent = {"name": name, "about": json.dumps(dict(summary or {})),
                "result": ("result.json", words)}  # fmt: skip
        return int(self.client.send("results", sent)["result"])

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def _scale(found: Mapping[str, Any] | None) -> Scale | None:
    if not found:
        return None
    labels = tuple((grade, str(label)) for grade, label in found["labels"])
    return Scale(found["lowest"], found["highest"], labels)
