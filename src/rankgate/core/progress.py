"""Progress of long work: verbs report their steps to the reporter of the context.

>>> with progress(print):
...     step("scoring bm25")
scoring bm25
>>> step("scoring bm25")

A verb that calls another one and reports for it calls it inside ``progress(None)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_reporter: ContextVar[Callable[[str], object] | None] = ContextVar("reporter", default=None)


@contextmanager
def progress(reporter: Callable[[str], object] | None) -> Iterator[None]:
    """Report the steps of all work inside the context.

    ``with rankgate.progress(print): rankgate.compare(qrels, old, new)`` prints what is being done.
    Contexts can be nested: the innermost one gets the steps, and the outer one those after it. A
    thread or process that is started inside reports nothing, unless it runs in a copy of the
    context (`contextvars.copy_context`).

    Args:
        reporter: a function that is called with the text of each step; None reports nothing.
    """
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def step(name: str) -> None:
    """Report that a step begins, such as ``scoring bm25``; without a reporter do nothing."""
    if reporter := _reporter.get():
        reporter(name)
