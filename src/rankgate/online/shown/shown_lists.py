"""Lists that users were shown: the result of ``lists``."""

from __future__ import annotations

from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode
from rankgate.core.present.result import Notice, Result
from rankgate.data import Run

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ShownLists(Result):
    """A run of the lists that users were shown.

    Attributes:
        name: the name of the run.
        choose: which list of a query with several counts.
        variant: of the searches; empty is all.
        searches: with words and a list.
        queries: of the run.
        documents: rows of the run.
        several: queries with more than one list.
        faults: codes of what the log doctor found that makes lists wrong.
        output: the file of the run; None if there is none.
        run: the run; None in a result that was read from JSON.
    """

    kind: ClassVar[str] = "shown_lists"
    label: ClassVar[str] = "Lists that users were shown"
    document_from: ClassVar[str] = "rankgate.online.shown.document:document"
    order: ClassVar[int] = 63

    name: str
    choose: str
    variant: str
    searches: int
    queries: int
    documents: int
    several: int
    faults: tuple[str, ...] = ()
    output: str | None = None
    run: Run | None = field(default=None, compare=False, repr=False)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings where the lists differ from those that users saw."""
        notices = []
        if self.faults:
            notices.append(
                Notice(
                    "spoiled-lists",
                    f"the log doctor found {', '.join(self.faults)}, which makes lists wrong: see "
                    "rankgate online doctor",
                )
            )
        if self.several:
            notices.append(
                Notice(
                    "several-lists",
                    f"{self.several:,} of {self.queries:,} queries had more than one list; the "
                    f"run has the {self.choose} one",
                )
            )
        return tuple(notices)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the rows of the run."""
        encoded_fields = {
            attribute.name: encode(getattr(self, attribute.name)) for attribute in fields(self)[:-1]
        }
        return {**self.head(), **encoded_fields}

    def _table(self) -> pl.DataFrame:
        assert self.run is not None
        return self.run.table
