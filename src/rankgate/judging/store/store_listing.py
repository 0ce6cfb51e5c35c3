"""Users, tokens or projects of a store as a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result


@dataclass(frozen=True)
class StoreListing(Result):
    """Users, tokens or projects of a store.

    Attributes:
        store: its address, without a password.
        what: what is listed, such as ``users``.
        rows: by column.
    """

    kind: ClassVar[str] = "store_listing"
    document_from: ClassVar[str] = "rankgate.judging.store.document:listed"

    store: str
    what: str
    rows: tuple[Mapping[str, Any], ...]

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame(list(self.rows))
