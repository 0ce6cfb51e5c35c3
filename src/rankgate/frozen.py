"""Frozen dataclasses that are quick to define.

The standard library writes and compiles six methods for each frozen dataclass, which takes half a
millisecond, and a command loads a hundred of them. Here only ``__init__`` is compiled for each; the
other methods are functions that all classes share. Classes behave as those of `dataclasses`: its
functions take them, and its classes may be derived from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

_SHARED = {"frozen", "eq", "repr", "init", "kw_only"}  # other options, as slots, have own methods


def _quick(given: type | None = None, /, **options: bool) -> Any:  # noqa: ANN401
    """As ``dataclasses.dataclass``."""

    def made(cls: type) -> type:
        derived = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
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


@recursive_repr()
def _shown(self: Any) -> str:  # noqa: ANN401
    names = [each.name for each in dataclasses.fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


@cache
def _compared(cls: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    """What gives the fields of an object that are compared."""
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()
