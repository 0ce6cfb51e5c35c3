"""Progress of long work: verbs report their steps to the reporter of the context.

``with progress():`` shows the last step in one line, in notebooks and terminals.

>>> with progress(print):
...     step("scoring bm25")
scoring bm25
>>> step("scoring bm25")

A verb that calls another verb and reports for it makes the call inside ``progress(None)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

_reporter: ContextVar[Callable[[str], object] | None] = ContextVar("reporter", default=None)


class ProgressLine:
    """The last step in one line: below the cell of a notebook, or on standard error."""

    def __init__(self) -> None:
        self.display = _notebook_display()
        self.width = 0

    def __call__(self, text: str) -> None:
        """Replace the line."""
        if self.display is not None:
            self.display.update({"text/plain": text}, raw=True)
        else:
            sys.stderr.write(f"\r{text:<{self.width}}")
            sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        """Clear the line for the next output."""
        if self.width:
            self("")
            if self.display is None:
                sys.stderr.write("\r")
                sys.stderr.flush()


def _notebook_display() -> Any:  # noqa: ANN401 - a handle of IPython
    """An output of a notebook's cell that can be replaced; None outside notebooks."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from importlib import import_module

    display = import_module("IPython.display").display
    return display({"text/plain": ""}, raw=True, display_id=True)


@contextmanager
def progress(reporter: Callable[[str], object] | Literal["line"] | None = "line") -> Iterator[None]:
    """Report the steps of all work inside the context.

    ``with rankgate.progress(): rankgate.compare(qrels, old, new)`` shows what is being done, and
    ``progress(print)`` prints all steps.
    Contexts can be nested: the innermost one gets the steps, and the outer one those after it. A
    thread or process that is started inside reports nothing, unless it runs in a copy of the
    context (`contextvars.copy_context`).

    Args:
        reporter: a function that is called with the text of each step; "line" shows the last one
            in a line that disappears at the end; None reports nothing.
    """
    line = ProgressLine() if reporter == "line" else None
    token = _reporter.set(line or (None if reporter == "line" else reporter))
    try:
        yield
    finally:
        _reporter.reset(token)
        if line is not None:
            line.clear()


def step(name: str) -> None:
    """Report that a step begins, such as ``scoring bm25``; without a reporter do nothing."""
    if reporter := _reporter.get():
        reporter(name)
