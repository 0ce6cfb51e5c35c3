"""Declared objects with parameters, and registries that find them by name."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rankgate.core.declare.plugins import PluginObjects, find_plugin_objects
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.declare.parameter import Parameter


@dataclass(frozen=True)
class Declared:
    """Something with a name and parameters: a metric, a kind of rule.

    Attributes:
        name: the one canonical name.
        title: what it is, in a sentence.
        source: the paper or tool that defines it.
        aliases: other names it is known by.
    """

    name: str
    title: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters by name."""
        return MappingProxyType({})

    @property
    def accepted(self) -> Mapping[str, Parameter]:
        """The parameters that `read` takes."""
        return self.parameters

    def read(self, name: str, value: object, *, words: bool = False) -> Any:
        """Return the value of one parameter as it is stored.

        Args:
            name: the parameter.
            value: its value.
            words: whether the value is a word of the command line or of a file.

        Raises:
            UsageError: There is no such parameter, or it does not take the value.
        """
        accepted = self.accepted
        if name not in accepted:
            matches = get_close_matches(name, accepted, n=1)
            parameter_hint = f"it takes {', '.join(accepted)}" if accepted else "it takes none"
            hint = f"did you mean {matches[0]}?" if matches else f"{parameter_hint}."
            raise UsageError(
                f"{self.name}: no parameter {name!r}; {hint}", code="unknown-parameter"
            )
        try:
            return accepted[name].parse(value) if words else accepted[name].read(value)
        except ValueError as error:
            raise UsageError(
                f"{self.name}: {name}={value!r} {error}", code="invalid-parameter"
            ) from None


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


D = TypeVar("D", bound=Declared)
N = TypeVar("N", bound=_HasName)


class Registry(Mapping[str, D], Generic[D]):
    """Declared objects by name: those of a package, then those of installed plug-ins.

    Args:
        kind: the class of the objects.
        noun: what one is called in errors, such as *rule*.
        declared: the objects, or a function that finds them when they are first needed.
        group: the entry points under which installed packages declare more.
    """

    def __init__(
        self,
        kind: type[D],
        noun: str,
        declared: Iterable[D] | Callable[[], Iterable[D]],
        group: str = "",
    ) -> None:
        self._kind = kind
        self._noun = noun
        self._declared = declared
        self._group = group

    @cached_property
    def _own(self) -> Mapping[str, D]:
        objects = self._declared() if callable(self._declared) else self._declared
        return {declared.name: declared for declared in objects}

    @property
    def added(self) -> PluginObjects[D]:
        """Objects that plug-ins add; loaded only when a name is unknown, as it takes long."""
        return (
            find_plugin_objects(self._group, self._kind, self._own)
            if self._group
            else PluginObjects({})
        )

    @property
    def aliases(self) -> Mapping[str, str]:
        """The canonical name of each alias in the package."""
        return {
            alias: declared.name for declared in self._own.values() for alias in declared.aliases
        }

    @property
    def every(self) -> tuple[D, ...]:
        """All objects: those of the package, then those of plug-ins."""
        return (*self._own.values(), *self.added.by_name.values())

    def __getitem__(self, name: str) -> D:
        return self._own[name] if name in self._own else self.added.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    def named(self, name: str) -> D:
        """Return the object of a name, or of one of its aliases.

        Raises:
            UsageError: No object has the name; the message gives the nearest.
        """
        if name in self._own:
            return self._own[name]
        if name in self.aliases:
            return self._own[self.aliases[name]]
        additions = self.added
        if name in additions.by_name:
            return additions.by_name[name]
        by_alias = {
            alias: declared for declared in additions.by_name.values() for alias in declared.aliases
        }
        if name in by_alias:
            return by_alias[name]
        names = [*self._own, *additions.by_name]
        matches = get_close_matches(name, names, 1)
        hint = (
            f"did you mean {matches[0]}?"
            if matches
            else f"the {self._noun}s are {', '.join(names)}."
        )
        raise additions.unknown(
            f"no {self._noun} is called {name!r}; {hint}",
            f"unknown-{self._noun.replace(' ', '-')}",
        )


def find_declared(package: str, kind: type[N]) -> tuple[N, ...]:
    """Return the objects of one class that the modules of a package define, by name."""
    path = import_module(package).__path__
    modules = [
        import_module(f"{package}.{module_info.name}") for module_info in pkgutil.iter_modules(path)
    ]
    objects = {
        value.name: value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, kind)
    }
    return tuple(objects[name] for name in sorted(objects))
