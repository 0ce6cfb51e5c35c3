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


def read_ahead(chunks: Iterator[T]) -> Iterator[T]:
    """The same pieces; the next one is made while the caller works on this one.

    An error of the maker reaches the caller at the piece that it belongs to.
    """
    with ThreadPoolExecutor(1, "rankgate-read") as maker:
        next_chunk = maker.submit(next, chunks, None)
        while (chunk := next_chunk.result()) is not None:
            next_chunk = maker.submit(next, chunks, None)
            yield chunk


def run_in_order(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of some tasks, in their order, with a few tasks at work at a time.

    An error of a task reaches the caller when its result is due.
    """
    with ThreadPoolExecutor(_WORKERS, "rankgate-parse") as makers:
        futures: deque[Future[T]] = deque()
        for task in tasks:
            futures.append(makers.submit(task))
            if len(futures) > _WORKERS:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
