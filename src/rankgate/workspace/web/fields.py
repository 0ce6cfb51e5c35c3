"""Values of a request, checked as its route declares them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.workspace.web.asked import Upload
from rankgate.workspace.web.replies import Refused

if TYPE_CHECKING:
    from rankgate.workspace.web.route import Field

_TRUE = {"1", "true", "on", "yes"}


def checked(fields: tuple[Field, ...], sent: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """The value of each field; None where it was not sent.

    Args:
        fields: of the route.
        sent: texts and files of a form or an address, or values of JSON.
        strict: whether names that are no fields are refused.

    Raises:
        Refused: a value that is missing, too long, or of another kind.
    """
    names = {each.name for each in fields}
    if strict and (other := sorted(set(sent) - names)):
        known = ", ".join(sorted(names)) or "nothing"
        raise wrong(other[0][:50], f"is not expected; there are: {known}")
    values = {}
    for field in fields:
        try:
            values[field.name] = _one(field, sent.get(field.name))
        except Refused as refused:
            refused.field = field.name
            raise
    return values


def wrong(name: str, problem: str) -> Refused:
    """A value that cannot be."""
    return Refused(400, "invalid-value", f"{name}: {problem}.", field=name)


def _one(field: Field, value: Any) -> Any:
    name = field.label or field.name
    if field.kind == "file":
        return _file(field, value)
    if field.kind == "rows":
        return _rows(field, value)
    if field.kind == "flag":
        return is_true(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        if field.required:
            raise wrong(name, "is missing")
        return None
    if field.kind in {"number", "whole"}:
        return _number(field, value)
    if not isinstance(value, str):
        raise wrong(name, "is not a text")
    if "\0" in value or len(value) > field.most:
        raise wrong(name, f"has more than {field.most} characters, or some that are not allowed")
    if field.kind == "choice" and value not in {each for each, _ in field.choices}:
        raise wrong(name, "choose one of " + ", ".join(each for each, _ in field.choices))
    return _moment(name, value) if field.kind == "moment" else value.replace("\r\n", "\n")


def is_true(value: Any) -> bool:
    """True for what a flag of a form, an address or JSON says where it is set."""
    return value is True or (isinstance(value, str) and value.lower() in _TRUE)


def _rows(field: Field, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise wrong(field.name, "is not an array of objects")
    if not 0 < len(value) <= field.most:
        raise wrong(field.name, f"has no rows, or more than {field.most}")
    return [checked(field.columns, each, strict=True) for each in value]


def _file(field: Field, value: Any) -> Upload | None:
    if isinstance(value, Upload) and (value.content or value.name):
        return value
    if field.required:
        raise wrong(field.label or field.name, "choose a file")
    return None


def _number(field: Field, value: Any) -> float | int:
    name = field.label or field.name
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise wrong(name, "is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise wrong(name, "is not a number") from None
    if not math.isfinite(number) or abs(number) > 2**53:
        raise wrong(name, "is not a number that can be")
    if field.least is not None and number < field.least:
        raise wrong(name, f"is less than {field.least:g}")
    if field.largest is not None and number > field.largest:
        raise wrong(name, f"is more than {field.largest:g}")
    if field.kind == "whole":
        if not number.is_integer():
            raise wrong(name, "is not a whole number")
        return int(number)
    return number


def _moment(name: str, value: str) -> datetime:
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise wrong(name, "is not a time such as 2026-11-30T12:00") from None
    try:
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        raise wrong(name, "is not a time that can be") from None
