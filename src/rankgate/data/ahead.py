"""Reading one piece ahead, in a thread of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


def ahead(pieces: Iterator[T]) -> Iterator[T]:
    """The same pieces; the next one is made while the caller works on this one.

    An error of the maker reaches the caller at the piece that it belongs to.
    """
    with ThreadPoolExecutor(1, "rankgate-read") as maker:
        coming = maker.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = maker.submit(next, pieces, None)
            yield piece
