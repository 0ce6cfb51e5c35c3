"""The kinds of engines: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rankgate.core.declare import Declared, Parameter, Registry, fields_of
from rankgate.core.declare.signature import documented
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.engines.engine import Engine


@dataclass(frozen=True)
class EngineKind(Declared):
    """A kind of engine.

    Attributes:
        declaration: the class whose fields are the keys of ``[engine]``.
    """

    declaration: type[Engine]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The keys of ``[engine]``."""
        from rankgate.engines.engine import Engine

        shared = documented(Engine.__doc__ or "", "Attributes")
        own = {
            name: each if each.help else replace(each, help=shared.get(name, ""))
            for name, each in fields_of(self.declaration).items()
        }
        order = sorted(own, key=lambda name: (not own[name].required, name in shared))
        return {name: own[name] for name in order}


def _kinds() -> Iterator[EngineKind]:
    import pkgutil
    from importlib import import_module

    from rankgate.engines import kinds
    from rankgate.engines.engine import Engine

    for each in pkgutil.iter_modules(kinds.__path__):
        module = import_module(f"{kinds.__name__}.{each.name}")
        for value in vars(module).values():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and issubclass(value, Engine):
                found = cast("type[Engine]", value)
                yield EngineKind(
                    found.engine_kind,
                    found,
                    title=found.title,
                    source=found.source,
                    aliases=found.aliases,
                )


ENGINES: Registry[EngineKind] = Registry(EngineKind, "kind of engine", _kinds, "rankgate.engines")
"""Every kind of engine by name."""
