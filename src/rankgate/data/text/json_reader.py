"""Read untrusted JSON documents step by step; errors name the path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.data.text.json_text import identifier, kind, member

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

TOP = "the document"
"""What errors call the outermost value."""


def whole_object(value: Any, source: InputFile) -> dict[str, Any]:
    """A document that must be an object.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(value, dict):
        raise InputError(
            f"{kind(value)}, where an object is needed.", source=source.label, code="wrong-type"
        )
    return value


def each(values: Any, where: str, label: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its place.

    Args:
        values: what should be the list.
        where: its place, such as ``queries``; empty for the document itself.
        label: the file.

    Raises:
        InputError: no list, or something in it that is not an object.
    """
    if not isinstance(values, list):
        shown = f"'{where}'" if where else TOP
        raise InputError(
            f"{shown} is {kind(values)}, where a list is needed.", source=label, code="wrong-type"
        )
    for index, value in enumerate(values):
        place = f"{where}[{index}]"
        if not isinstance(value, dict):
            problem = f"{place} is {kind(value)}, where an object is needed."
            raise InputError(problem, source=label, code="wrong-type")
        yield place, value


def inside(
    table: Mapping[str, Any], key: str, where: str, label: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list under a key, which must be there; as `each`."""
    if key not in table:
        raise InputError(f"{where or TOP} has no '{key}'.", source=label, code="missing-key")
    yield from each(table[key], f"{where}.{key}" if where else key, label)


def an_id(table: Mapping[str, Any], key: str, where: str, label: str) -> str:
    """The id under a key, which must be there.

    Raises:
        InputError: there is none.
    """
    if key not in table:
        raise InputError(f"{where or TOP} has no '{key}'.", source=label, code="missing-key")
    return identifier(table[key], f"'{key}' of {where or TOP}", label)


def a_text(table: Mapping[str, Any], key: str, where: str, label: str) -> str | None:
    """The string under a key, or None if there is none or null.

    Raises:
        InputError: something else is there.
    """
    if table.get(key) is None:
        return None
    text: str = member(table, key, str, where or TOP, label)
    return text


def an_object(table: Mapping[str, Any], key: str, where: str, label: str) -> dict[str, Any]:
    """The object under a key, empty if there is none or null.

    Raises:
        InputError: something else is there.
    """
    if table.get(key) is None:
        return {}
    found: dict[str, Any] = member(table, key, dict, where or TOP, label)
    return found
