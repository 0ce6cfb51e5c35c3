"""How every command prints its result: the form that was asked for, on a terminal or in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.console.places import deliver
from rankgate.console.terminal import styled, width
from rankgate.present.write import rendered

if TYPE_CHECKING:
    from rankgate.present.result import Result


def print_result(result: Result, form: str, output: str | None = None, **options: Any) -> None:
    """Print a result, or write it to a file in one step.

    Args:
        result: what the verb returned.
        form: one of ``present.write.FORMS``.
        output: a file; None and ``-`` are standard output.
        options: as the result's ``document`` takes them (``to_dict`` for JSON).

    Raises:
        UsageError: the file cannot be written.
    """
    text = rendered(result, form, width(output), **options)
    deliver(styled(text, form, output), output)
