"""Read untrusted JSON documents step by step; errors name the path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.data.text.json_text import describe_type, identifier, member

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

TOP = "the document"
"""The name of the outermost value in errors."""


def require_object(value: Any, source: InputFile) -> dict[str, Any]:
    """A document that must be an object.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(value, dict):
        raise InputError(
            f"{describe_type(value)}, where an object is needed.",
            source=source.label,
            code="wrong-type",
        )
    return value


def list_objects(values: Any, list_path: str, label: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its JSON path.

    Args:
        values: what should be the list.
        list_path: its JSON path, such as ``queries``; empty for the document itself.
        label: the file.

    Raises:
        InputError: no list, or something in it that is not an object.
    """
    if not isinstance(values, list):
        list_name = f"'{list_path}'" if list_path else TOP
        raise InputError(
            f"{list_name} is {describe_type(values)}, where a list is needed.",
            source=label,
            code="wrong-type",
        )
    for index, value in enumerate(values):
        object_path = f"{list_path}[{index}]"
        if not isinstance(value, dict):
            problem = f"{object_path} is {describe_type(value)}, where an object is needed."
            raise InputError(problem, source=label, code="wrong-type")
        yield object_path, value


def objects_under_key(
    table: Mapping[str, Any], key: str, path: str, label: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of the list under a required key; as `list_objects`."""
    if key not in table:
        raise InputError(f"{path or TOP} has no '{key}'.", source=label, code="missing-key")
    yield from list_objects(table[key], f"{path}.{key}" if path else key, label)


def read_id(table: Mapping[str, Any], key: str, path: str, label: str) -> str:
    """The id under a required key.

    Raises:
        InputError: there is none.
    """
    if key not in table:
        raise InputError(f"{path or TOP} has no '{key}'.", source=label, code="missing-key")
    return identifier(table[key], f"'{key}' of {path or TOP}", label)


def read_text(table: Mapping[str, Any], key: str, path: str, label: str) -> str | None:
    """The string under a key, or None if there is none or null.

    Raises:
        InputError: something else is there.
    """
    if table.get(key) is None:
        return None
    text: str = member(table, key, str, path or TOP, label)
    return text


def read_object(table: Mapping[str, Any], key: str, path: str, label: str) -> dict[str, Any]:
    """The object under a key, empty if there is none or null.

    Raises:
        InputError: something else is there.
    """
    if table.get(key) is None:
        return {}
    value: dict[str, Any] = member(table, key, dict, path or TOP, label)
    return value
