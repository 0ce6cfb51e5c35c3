"""Frozen dataclasses that are quick to define.

The standard library writes and compiles six methods for each frozen dataclass, which takes half a
millisecond, and a command loads a hundred of them. Here only ``__init__`` is compiled for each; the
other methods are functions that all classes share. Classes behave as those of `dataclasses`: its
functions take them, and its classes may be derived from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["ByContent", "dataclass", "same_content"]

_SHARED = {"frozen", "eq", "repr", "init", "kw_only"}  # other options, as slots, have own methods


def _dataclass(decorated_class: type | None = None, /, **options: bool) -> Any:  # noqa: ANN401
    """Make a dataclass; takes the arguments of ``dataclasses.dataclass``."""

    def decorate(cls: type) -> type:
        is_derived = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
        if issubclass(cls, ByContent):
            options["eq"] = False
        if is_derived or not options.get("frozen") or not _SHARED.issuperset(options):
            return dataclasses.dataclass(**options)(cls)
        return _with_shared_methods(cls, **options)

    return decorate if decorated_class is None else decorate(decorated_class)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _with_shared_methods(cls: Any, **options: bool) -> type:  # noqa: ANN401
    """Make a frozen dataclass; methods that the class defines itself are kept."""
    methods: dict[str, Any] = {"__setattr__": _set, "__delattr__": _delete}
    has_eq = options.get("eq", True)
    if options.get("repr", True):
        methods["__repr__"] = _repr
    if has_eq:
        methods |= {"__eq__": _equal, "__hash__": _hash}
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:  # a class with __eq__ has None as __hash__
            setattr(cls, name, method)
    init_options: Any = options | {"frozen": False, "eq": False, "repr": False}
    result_class: Any = dataclasses.dataclass(**init_options)(cls)
    result_class.__dataclass_params__.frozen, result_class.__dataclass_params__.eq = True, has_eq
    return result_class  # type: ignore[no-any-return]


def _set(self: Any, name: str, value: object) -> None:  # noqa: ANN401
    """Set a field for the first time, as ``__init__`` does."""
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    self.__dict__[name] = value


def _delete(_: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: Any, other: Any) -> Any:  # noqa: ANN401
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _compared_values(self.__class__)
    return values(self) == values(other)


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(_compared_values(self.__class__)(self))


class ByContent:
    """A base of frozen classes that compares tables and arrays by their contents."""

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return same_content(self, other)

    def __hash__(self) -> int:
        return _content_hash(self)


def same_content(first: Any, second: Any) -> bool:  # noqa: ANN401 - anything that a field holds
    """True if two values have equal contents; undefined numbers are equal to each other.

    >>> same_content({"a": (float("nan"), [1])}, {"a": (float("nan"), [1])})
    True
    """
    first_parts, second_parts = _members(first), _members(second)
    if first_parts and second_parts:
        return first_parts[0] == second_parts[0] and all(map(same_content, first_parts[1], second_parts[1]))
    if _is_table(first) or _is_table(second):
        return _same_tables(first, second)
    return bool(first == second) or bool(first != first and second != second)  # noqa: PLR0124 - NaN


def _members(value: Any) -> tuple[Any, list[Any]] | None:  # noqa: ANN401
    """The kind and the members of a dataclass, mapping or sequence; None for other values."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.compare]
        return value.__class__, [getattr(value, name) for name in names]
    if isinstance(value, Mapping):
        keys = sorted(value, key=repr)
        return tuple(keys), [value[key] for key in keys]
    return (len(value), list(value)) if isinstance(value, tuple | list) else None


def _is_table(value: object) -> bool:
    """True for frames, columns and arrays, where == compares item by item."""
    return hasattr(value, "equals") or hasattr(value, "__array__")


def _same_tables(first: Any, second: Any) -> bool:  # noqa: ANN401
    if type(first) is not type(second):
        return False
    if hasattr(first, "equals"):
        return bool(first.equals(second))
    import numpy as np

    return np.array_equal(first, second, equal_nan=first.dtype.kind == second.dtype.kind == "f")


def _content_hash(value: Any) -> int:  # noqa: ANN401
    """A hash that is the same for equal contents; for tables it uses only the shape."""
    if parts := _members(value):
        return hash((parts[0], *map(_content_hash, parts[1])))
    if _is_table(value):
        return hash(value.shape)
    try:
        return hash(value) if value == value else 0  # noqa: PLR0124 - NaN
    except TypeError:  # a set, or an object of a user's class
        return 0


@recursive_repr()
def _repr(self: Any) -> str:  # noqa: ANN401
    names = [field.name for field in dataclasses.fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


@cache
def _compared_values(cls: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """A function that returns the compared fields of an object."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    return attrgetter(*names) if names else lambda _: ()
