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


def _quick(given: type | None = None, /, **options: bool) -> Any:  # noqa: ANN401
    """As ``dataclasses.dataclass``."""

    def made(cls: type) -> type:
        derived = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
        if issubclass(cls, ByContent):
            options["eq"] = False
        if derived or not options.get("frozen") or not _SHARED.issuperset(options):
            return dataclasses.dataclass(**options)(cls)
        return _with_shared(cls, **options)

    return made if given is None else made(given)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _quick


def _with_shared(cls: Any, **options: bool) -> type:  # noqa: ANN401
    """A frozen dataclass; methods that it has already stay."""
    methods: dict[str, Any] = {"__setattr__": _set, "__delattr__": _delete}
    equal = options.get("eq", True)
    if options.get("repr", True):
        methods["__repr__"] = _shown
    if equal:
        methods |= {"__eq__": _equal, "__hash__": _hash}
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:  # a class with __eq__ has None as __hash__
            setattr(cls, name, method)
    compiled: Any = options | {"frozen": False, "eq": False, "repr": False}
    made: Any = dataclasses.dataclass(**compiled)(cls)
    made.__dataclass_params__.frozen, made.__dataclass_params__.eq = True, equal
    return made  # type: ignore[no-any-return]


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
    values = _compared(self.__class__)
    return values(self) == values(other)


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(_compared(self.__class__)(self))


class ByContent:
    """A base of frozen classes whose objects are equal where tables and arrays in them are."""

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return same_content(self, other)

    def __hash__(self) -> int:
        return _content_hash(self)


def same_content(one: Any, other: Any) -> bool:  # noqa: ANN401 - anything that a field holds
    """True if two values hold the same; undefined numbers are the same.

    >>> same_content({"a": (float("nan"), [1])}, {"a": (float("nan"), [1])})
    True
    """
    left, right = _items(one), _items(other)
    if left and right:
        return left[0] == right[0] and all(map(same_content, left[1], right[1]))
    if _is_table(one) or _is_table(other):
        return _same_tables(one, other)
    return bool(one == other) or bool(one != one and other != other)  # noqa: PLR0124 - NaN


def _items(value: Any) -> tuple[Any, list[Any]] | None:  # noqa: ANN401
    """The kind and the items of what holds several values; None for any other."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.compare]
        return value.__class__, [getattr(value, name) for name in names]
    if isinstance(value, Mapping):
        keys = sorted(value, key=repr)
        return tuple(keys), [value[key] for key in keys]
    return (len(value), list(value)) if isinstance(value, tuple | list) else None


def _is_table(value: object) -> bool:
    """True of frames, columns and arrays, whose == compares item by item."""
    return hasattr(value, "equals") or hasattr(value, "__array__")


def _same_tables(one: Any, other: Any) -> bool:  # noqa: ANN401
    if type(one) is not type(other):
        return False
    if hasattr(one, "equals"):
        return bool(one.equals(other))
    import numpy as np

    return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")


def _content_hash(value: Any) -> int:  # noqa: ANN401
    """A hash that equal contents have in common; of tables only their shape counts."""
    if items := _items(value):
        return hash((items[0], *map(_content_hash, items[1])))
    if _is_table(value):
        return hash(value.shape)
    try:
        return hash(value) if value == value else 0  # noqa: PLR0124 - NaN
    except TypeError:  # a set, or a user's own value
        return 0


@recursive_repr()
def _shown(self: Any) -> str:  # noqa: ANN401
    names = [each.name for each in dataclasses.fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


@cache
def _compared(cls: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """What gives the fields of an object that are compared."""
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()
