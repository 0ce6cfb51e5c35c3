"""Interleaved lists of runs: the result of ``mix``."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode
from rankgate.core.present.document import Document, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import make_printable
from rankgate.core.present.result import Notice, Result
from rankgate.online.interleaving.assignment import Assignment


@dataclass(frozen=True)
class MixedLists(Result):
    """Interleaved lists of the queries of runs.

    Attributes:
        method: how lists were mixed.
        systems: names of the runs.
        queries: that all runs have.
        left_out: queries that a run does not have.
        lists: that were drawn.
        slots: of all lists.
        competitive: the share of slots whose document the runs rank differently.
        seed: of the draws.
        output: the file of the assignments; None if there is none.
        assignments: the lists; empty in a result that was read from JSON.
    """

    kind: ClassVar[str] = "mixed_lists"
    label: ClassVar[str] = "Interleaved lists"
    document_from: ClassVar[str] = "rankgate.online.interleaving.mixed_lists:document"
    order: ClassVar[int] = 64

    method: str
    systems: tuple[str, ...]
    queries: int
    left_out: int
    lists: int
    slots: int
    competitive: float
    seed: int
    output: str | None = None
    assignments: tuple[Assignment, ...] = field(default=(), compare=False, repr=False)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Queries that are not interleaved, and runs that hardly differ."""
        notices = []
        if self.left_out:
            text = f"{self.left_out:,} queries are not in every run and have no list"
            notices.append(Notice("queries-left-out", text))
        if self.competitive == 0:
            text = "the runs rank all shown documents alike: clicks cannot tell them apart"
            notices.append(Notice("same-lists", text))
        return tuple(notices)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the lists."""
        encoded_fields = {
            attribute.name: encode(getattr(self, attribute.name)) for attribute in fields(self)[:-1]
        }
        return {**self.head(), **encoded_fields}


def document(result: MixedLists) -> Document:
    """The number of lists, and how much the runs differ on them."""
    return made(
        f"{result.lists:,} lists of {result.queries:,} queries, mixed by {result.method}",
        f"The runs {', '.join(map(make_printable, result.systems))} rank "
        f"{result.competitive:.1%} of "
        f"{result.slots:,} slots differently; only clicks on these tell them apart.",
        Warnings(tuple(notice.text for notice in result.notices)),
        f"Written to {make_printable(result.output)}." if result.output else "",
    )
