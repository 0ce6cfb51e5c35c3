"""The class of the results of a kind; the table of all kinds is filled from above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.resolve import load_name, load_upper

if TYPE_CHECKING:
    from rankgate.core.present.result import Result


def result_class(kind: str) -> type[Result]:
    """The class of the results of a kind.

    Raises:
        UsageError: there is no such kind.
    """
    classes = load_upper("kinds_of_results")
    if kind not in classes:
        raise UsageError(f"no result is of kind {kind!r}.", code="unknown-kind")
    result: type[Result] = load_name(f"rankgate.{classes[kind]}")
    return result
