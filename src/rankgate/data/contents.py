"""The contents of a file: judgments, runs, ratings, queries, documents and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.notes import Loss

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.notes import Note
    from rankgate.data.qrels import Qrels
    from rankgate.data.ratings import Ratings
    from rankgate.data.run import Run

PARTS = ("qrels", "runs", "ratings", "queries", "documents", "values", "extra")
"""The parts of contents, in the order in which a format that holds one of them chooses."""

WORDS = {
    "qrels": "judgments",
    "runs": "runs",
    "ratings": "ratings",
    "queries": "queries with their texts",
    "documents": "documents with their fields",
    "values": "metric values",
}
"""The parts in words, as losses call them."""


@dataclass(frozen=True)
class FileContents:
    """Everything a file holds; what it does not hold is None or empty.

    Attributes:
        qrels: judgments.
        runs: rankings, lazy where the file is read row by row.
        ratings: the grades of single raters.
        queries: ``query_id`` and ``text``, then anything else that is known of a query, as strings:
            ``information_need``, ``notes``, tags.
        documents: ``doc_id`` and the document's fields as strings; with a ``query_id`` before
            them where fields differ by query.
        values: values of metrics: ``run``, ``query_id``, ``metric``, ``value``, ``at``.
        extra: what only one format knows (templates, index names), by the format's name, so that
            a file comes back as it was.
        notes: what the reader did or saw.
    """

    qrels: Qrels | None = None
    runs: tuple[Run, ...] = ()
    ratings: Ratings | None = None
    queries: pl.DataFrame | None = None
    documents: pl.DataFrame | None = None
    values: pl.DataFrame | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts that hold something."""
        return tuple(name for name in PARTS if _full(getattr(self, name)))

    def only(self, *parts: str) -> FileContents:
        """The same without the parts that are not named; notes stay."""
        empty = FileContents()
        left = {
            each.name: getattr(empty, each.name)
            for each in fields(self)
            if each.name not in {*parts, "notes"}
        }
        return replace(self, **left)

    def losses(self, *kept: str, runs: int | None = None) -> tuple[Loss, ...]:
        """What is lost where only some parts are written.

        Args:
            kept: the parts that are written whole.
            runs: how many runs are written, the first ones; all of them if not given.
        """
        lost: list[Loss] = []
        for name in self.parts:
            if name == "runs":
                begin = 0 if name not in kept else len(self.runs) if runs is None else runs
                lost += Loss.of("runs", [run.name for run in self.runs[begin:]])
            elif name == "extra" and name not in kept:
                for owner, value in self.extra.items():
                    keys = list(value) if isinstance(value, Mapping) else [owner]
                    lost += Loss.of(f"fields that only {owner} knows", keys)
            elif name not in kept:
                lost += self._lost(name)
        if self.qrels and self.qrels.made_by and "qrels" in kept:
            rule = str(self.qrels.made_by.get("rule", ""))
            lost.append(Loss("record of how judgments were made", 1, (rule,)))
        return tuple(lost)

    def _lost(self, name: str) -> tuple[Loss, ...]:
        part = getattr(self, name)
        table: pl.DataFrame = getattr(part, "table", part)
        if name == "qrels" and table.is_empty():
            return Loss.of("queries without judgments", part.unjudged)
        ids = [c for c in ("query_id", "doc_id", "metric") if c in table.columns]
        examples = tuple(" ".join(map(str, row)) for row in table.select(ids).head(3).rows())
        return (Loss(WORDS[name], len(table), examples),)

    def judgments(self, label: str) -> Qrels:
        """The judgments.

        Raises:
            InputError: there are none.
        """
        if self.qrels is None:
            raise InputError(self._lacks("judgments"), source=label, code="no-judgments")
        return self.qrels

    def ranking(self, label: str) -> Run:
        """The only run.

        Raises:
            InputError: there is none, or there are several.
        """
        if not self.runs:
            raise InputError(self._lacks("rankings"), source=label, code="no-rankings")
        if len(self.runs) > 1:
            names = ", ".join(run.name for run in self.runs[:5])
            problem = f"{len(self.runs)} runs ({names}), where one is needed; convert one of them."
            raise InputError(problem, source=label, code="several-candidates")
        return self.runs[0]

    def _lacks(self, wanted: str) -> str:
        content = [WORDS.get(name, name) for name in self.parts if name != "extra"]
        hint = "; resolve them into judgments first" if content[:1] == ["ratings"] else ""
        return f"no {wanted} in it, but {' and '.join(content) or 'nothing'}{hint}."


def _full(part: Any) -> bool:
    if part is None:
        return False
    if isinstance(part, tuple | Mapping):
        return bool(part)
    return True
