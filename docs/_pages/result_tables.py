"""The page of the tables of results: the unit of a row, and the meaning of every column."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import polars as pl

from rankgate.core.present.base_result import result_class
from rankgate.core.present.codec import _AnnotationNames
from rankgate.data.logs.interactions import Interactions
from rankgate.data.qrels import Qrels, Ratings
from rankgate.data.run import Run
from rankgate.interface.kinds_of_results import CLASSES

INPUTS = (Interactions, Qrels, Ratings, Run)
"""Tables that people give, which may have further columns."""

_PAGE = """# Tables of results

The columns of each table in a result: in its JSON, where a table is a list of rows, and in Python, where it
is a Polars frame. The [schemas](results.md) have the same descriptions. Undefined values are null.
"""


class _Unimported:
    """A type that a module imports only for type checkers, and that holds no table."""

    def __class_getitem__(cls, key: object) -> type:
        return cls


class _Names(_AnnotationNames):
    def __missing__(self, name: str) -> Any:  # noqa: ANN401 - a type, or what stands for one
        try:
            return super().__missing__(name)
        except KeyError:
            return _Unimported


def pages() -> Iterator[tuple[str, str]]:
    """The page by its place below ``reference``."""
    sections = []
    for kind in sorted(CLASSES):
        tables = [
            f"### {kind}: {path}{field}\n\n{columns.documentation()}"
            for path, cls in nested_classes(result_class(kind))
            for field, columns in getattr(cls, "SCHEMAS", {}).items()
        ]
        if tables:
            sections.append("\n\n".join([f"## {kind}", *tables]))
    yield "result-tables.md", "\n\n".join([_PAGE.rstrip(), *sections]) + "\n"


def nested_classes(cls: type, path: str = "") -> Iterator[tuple[str, type]]:
    """The path and the class of a dataclass and of those that its stored fields hold."""
    yield path, cls
    for name, hint in stored_hints(cls).items():
        for member in _members(hint):
            is_nested = isinstance(member, type) and is_dataclass(member)
            if is_nested and not issubclass(member, (*INPUTS, cls)):
                yield from nested_classes(member, f"{path}{name}.")


def stored_hints(cls: type) -> Mapping[str, object]:
    """The types of the fields that are in the JSON of a dataclass."""
    modules = [builtins, *(sys.modules[base.__module__] for base in reversed(cls.__mro__))]
    names = _Names({name: value for module in modules for name, value in vars(module).items()})
    hints = get_type_hints(cls, localns=names)
    stored = [attribute for attribute in fields(cls) if attribute.metadata.get("stored", True)]
    return {attribute.name: hints[attribute.name] for attribute in stored}


def frame_fields(cls: type) -> set[str]:
    """The stored fields of a dataclass that hold a table."""
    return {name for name, hint in stored_hints(cls).items() if pl.DataFrame in (hint, *get_args(hint))}


def _members(hint: object) -> Iterator[object]:
    """A type and the types inside it."""
    yield hint
    for inner in get_args(hint):
        yield from _members(inner)
