"""Values of a request, checked as its route declares them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.workspace.web.asked import Upload
from rankgate.workspace.web.replies import RequestRefused

if TYPE_CHECKING:
    from rankgate.workspace.web.route import Field

_TRUE_TEXTS = {"1", "true", "on", "yes"}


def check_values(
    fields: tuple[Field, ...], raw_values: Mapping[str, Any], *, strict: bool
) -> dict[str, Any]:
    """The value of each field; None where it was not sent.

    Args:
        fields: of the route.
        raw_values: texts and files of a form or an address, or values of JSON.
        strict: True if names that are not fields are refused.

    Raises:
        Refused: a value that is missing, too long, or of another kind.
    """
    names = {field.name for field in fields}
    if strict and (unknown_names := sorted(set(raw_values) - names)):
        allowed_names = ", ".join(sorted(names)) or "nothing"
        raise invalid_value(unknown_names[0][:50], f"is not expected; there are: {allowed_names}")
    values = {}
    for field in fields:
        try:
            values[field.name] = _check_value(field, raw_values.get(field.name))
        except RequestRefused as refused:
            refused.field = field.name
            raise
    return values


def invalid_value(name: str, problem: str) -> RequestRefused:
    """The refusal of an invalid value."""
    return RequestRefused(400, "invalid-value", f"{name}: {problem}.", field=name)


def _check_value(field: Field, value: Any) -> Any:
    name = field.label or field.name
    if field.kind in _READERS:
        return _READERS[field.kind](field, value)
    if field.kind == "flag":
        return is_true(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        if field.required:
            raise invalid_value(name, "is missing")
        return None
    if field.kind in {"number", "whole"}:
        return _read_number(field, value)
    if not isinstance(value, str):
        raise invalid_value(name, "is not a text")
    if "\0" in value or len(value) > field.most:
        raise invalid_value(
            name, f"has more than {field.most} characters, or some that are not allowed"
        )
    if field.kind == "choice" and value not in {choice for choice, _ in field.choices}:
        raise invalid_value(
            name, "choose one of " + ", ".join(choice for choice, _ in field.choices)
        )
    return _read_moment(name, value) if field.kind == "moment" else value.replace("\r\n", "\n")


def is_true(value: Any) -> bool:
    """True if a form, an address or JSON sets a flag."""
    return value is True or (isinstance(value, str) and value.lower() in _TRUE_TEXTS)


def _read_rows(field: Field, value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise invalid_value(field.name, "is not an array of objects")
    if not 0 < len(value) <= field.most:
        raise invalid_value(field.name, f"has no rows, or more than {field.most}")
    return [check_values(field.columns, row, strict=True) for row in value]


def _read_json(field: Field, value: Any) -> Any:
    """Read an object or an array of JSON; its contents are checked later, by their reader."""
    name = field.label or field.name
    if value in (None, "") or (field.required and value == []):
        if field.required:
            raise invalid_value(name, "is missing")
        return None
    kind = field.schema["type"]
    if not isinstance(value, dict if kind == "object" else list):
        raise invalid_value(name, f"is not an {kind} of JSON")
    texts = field.schema.get("items") == {"type": "string"}
    if texts and not all(isinstance(text, str) for text in value):
        raise invalid_value(name, "is not an array of texts")
    if _has_nul(value):
        raise invalid_value(name, "has characters that are not allowed")
    return value


def _has_nul(value: Any) -> bool:
    """True if a text in a value of JSON has the character that no database takes."""
    if isinstance(value, dict):
        return any(_has_nul(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(map(_has_nul, value))
    return isinstance(value, str) and "\0" in value


def _read_file(field: Field, value: Any) -> Upload | None:
    if isinstance(value, Upload) and (value.content or value.name):
        return value
    if field.required:
        raise invalid_value(field.label or field.name, "choose a file")
    return None


def _read_number(field: Field, value: Any) -> float | int:
    name = field.label or field.name
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise invalid_value(name, "is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise invalid_value(name, "is not a number") from None
    if not math.isfinite(number) or abs(number) > 2**53:
        raise invalid_value(name, "is not a number that can be")
    if field.least is not None and number < field.least:
        raise invalid_value(name, f"is less than {field.least:g}")
    if field.largest is not None and number > field.largest:
        raise invalid_value(name, f"is more than {field.largest:g}")
    if field.kind == "whole":
        if not number.is_integer():
            raise invalid_value(name, "is not a whole number")
        return int(number)
    return number


def _read_moment(name: str, value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise invalid_value(name, "is not a time such as 2026-11-30T12:00") from None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        raise invalid_value(name, "is not a time that can be") from None


_READERS: Mapping[str, Callable[[Field, Any], Any]] = {
    "file": _read_file,
    "json": _read_json,
    "rows": _read_rows,
}
"""Readers of the values of fields that are not text, by kind."""
