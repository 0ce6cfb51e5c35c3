"""Read and write in threads ahead of use, while the parser and NumPy let others run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_WORKERS = 2  # a piece is parsed by one core; more pieces at a time would only take memory


def ahead(pieces: Iterator[T]) -> Iterator[T]:
    """The same pieces; the next one is made while the caller works on this one.

    An error of the maker reaches the caller at the piece that it belongs to.
    """
    with ThreadPoolExecutor(1, "rankgate-read") as maker:
        coming = maker.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = maker.submit(next, pieces, None)
            yield piece


def in_order(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """What some tasks return, in their order, a few of them at work at a time.

    An error of a task reaches the caller in its turn.
    """
    with ThreadPoolExecutor(_WORKERS, "rankgate-parse") as makers:
        coming: deque[Future[T]] = deque()
        for task in tasks:
            coming.append(makers.submit(task))
            if len(coming) > _WORKERS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
