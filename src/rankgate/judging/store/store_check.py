"""The check of a store as a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.store.check import check as found_in
from rankgate.store.check import delete_unused_blobs

if TYPE_CHECKING:
    from rankgate.store.store import Store


@dataclass(frozen=True)
class StoreFinding:
    """A problem of a store: a code, its row or blob, and a sentence."""

    code: str
    subject: str
    problem: str


@dataclass(frozen=True)
class StoreCheck(Result):
    """What is wrong with a store.

    Attributes:
        store: its address, without a password.
        findings: empty if nothing is wrong.
    """

    kind: ClassVar[str] = "store_check"
    document_from: ClassVar[str] = "rankgate.judging.store.document:checked"

    store: str
    findings: tuple[StoreFinding, ...]

    def _table(self) -> pl.DataFrame:
        names = dict.fromkeys(("code", "subject", "problem"), pl.String)
        return pl.DataFrame([vars(finding) for finding in self.findings], names)


def check_store(store: Store) -> StoreCheck:
    """Check the database, the blobs, and whether tasks agree with the ratings.

    Raises:
        UsageError: the database cannot be reached.
    """
    findings = (StoreFinding(**vars(finding)) for finding in found_in(store))
    return StoreCheck(store.name, tuple(findings))


def clean_store(store: Store) -> str:
    """Delete the blobs that nothing refers to; report it in one line.

    Raises:
        UsageError: the database cannot be reached.
    """
    count, size = delete_unused_blobs(store)
    noun = "blob" if count == 1 else "blobs"
    return f"deleted {count:,} {noun} that nothing refers to, {size:,} bytes"
